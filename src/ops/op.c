#include "ops/op.h"

#include <errno.h>

#include "ops/recovery.h"
#include "ops/reserve.h"

static bool not_writable(const struct err *err)
{
	return err->code == ERR_DENIED ||
	       (err->code == ERR_SYSTEM &&
		       (err->errno_value == EACCES || err->errno_value == EROFS ||
			       err->errno_value == EPERM));
}

static int open_env(const struct op *op, struct op_context *ctx, enum env_access access,
	struct env *env, struct err *err)
{
	int r = env_open(env, ctx->root, ctx->workspace, access, op->name, ctx->report, err);

	if (r < 0)
		return r;
	r = recovery_run(env, ctx->report, err);
	if (r < 0)
		env_close(env);
	return r;
}

/*
 * Open the environment for an operation that frees disk space.  This must work even on a full disk.
 */
static int open_full_env(const struct op *op, struct op_context *ctx, enum env_access access,
	struct env *env, struct err *err)
{
	struct err first = { 0 };
	int r = open_env(op, ctx, access, env, &first);

	if (r >= 0)
		return r;
	if (err_is_full(&first) && reserve_release(ctx->root))
		return open_env(op, ctx, access, env, err);
	*err = first;
	return r;
}

int op_run(const struct op *op, struct op_context *ctx, const void *request, void *result,
	struct err *err)
{
	enum env_access access = op->access;
	bool frees = op->frees && op->frees(request);
	struct env env;
	int r = op->check ? op->check(request, err) : 0;

	if (r < 0)
		return r;
	if (op->flags & OP_NO_ENV)
		return op->run(ctx, request, result, err);
	if (op->access_for)
		access = op->access_for(request);
	r = frees ? open_full_env(op, ctx, access, &env, err)
		  : open_env(op, ctx, access, &env, err);
	if (r < 0 && op->flags & OP_ELSE_READ && access != ENV_READ && not_writable(err))
		r = open_env(op, ctx, ENV_READ, &env, err);
	if (r < 0)
		return r;
	ctx->env = &env;
	r = op->run(ctx, request, result, err);
	ctx->env = NULL;
	if (frees)
		reserve_make(env.rootfd);
	env_close(&env);
	return r;
}

void op_json_begin(const struct op *op, struct json *out)
{
	if (op->rows)
		json_open(out, op->rows, '[');
}

void op_json_row(const struct op *op, struct json *out, const void *row)
{
	bool is_object = op->row[0] == '{';

	if (is_object)
		json_open(out, NULL, '{');
	op->row_json(out, row);
	if (is_object)
		json_close(out);
}

void op_json_end(const struct op *op, struct json *out, const void *result)
{
	if (op->rows)
		json_close(out);
	if (op->result_json)
		op->result_json(out, result);
}

int op_send(void *arg, const void *bytes, uint64_t len, struct err *err)
{
	struct op_context *ctx = arg;

	return ctx->data(ctx->arg, bytes, len, err);
}
