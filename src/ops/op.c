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

/* A result that is being written as a document. */
struct answering {
	const struct op *op;
	const struct op_context *face;
	struct json *out;
};

static int check_size(const struct json *out, struct err *err)
{
	return out->out.overflowed
		       ? err_set(err, ERR_LIMIT, "the answer has more than %zu bytes", out->out.max)
		       : 0;
}

static int answer_row(void *arg, const void *row, struct err *err)
{
	const struct answering *answering = arg;

	op_json_row(answering->op, answering->out, row);
	return check_size(answering->out, err);
}

static void answer_progress(void *arg, const char *stage, uint64_t done, uint64_t total)
{
	const struct op_context *face = ((const struct answering *)arg)->face;

	face->progress(face->arg, stage, done, total);
}

static void answer_notice(void *arg, const char *lines)
{
	const struct op_context *face = ((const struct answering *)arg)->face;

	face->notice(face->arg, lines);
}

int op_answer(const struct op *op, const struct op_context *ctx, const void *request,
	struct json *out, struct err *err)
{
	struct answering answering = { op, ctx, out };
	struct op_context own = {
		.root = ctx->root,
		.workspace = ctx->workspace,
		.arena = ctx->arena,
		.report = ctx->report,
		.row = answer_row,
		.progress = ctx->progress ? answer_progress : NULL,
		.notice = ctx->notice ? answer_notice : NULL,
		.in_order = true,
		.arg = &answering,
	};
	void *result = arena_alloc(ctx->arena, op->result_size + 1);

	op_json_begin(op, out);
	int r = op_run(op, &own, request, result, err);
	if (r < 0)
		return r;
	op_json_end(op, out, result);
	return check_size(out, err);
}

int op_send(void *arg, const void *bytes, uint64_t len, struct err *err)
{
	struct op_context *ctx = arg;

	return ctx->data(ctx->arg, bytes, len, err);
}
