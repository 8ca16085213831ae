#include "ops/op.h"

#include <errno.h>
#include <string.h>

#include "ops/table.h"

static bool not_writable(const struct err *err)
{
	return err->code == ERR_DENIED ||
	       (err->code == ERR_SYSTEM &&
		       (err->errno_value == EACCES || err->errno_value == EROFS ||
			       err->errno_value == EPERM));
}

int op_run(const struct op *op, struct op_context *ctx, const void *request, void *result,
	struct err *err)
{
	enum env_access access = op->access;
	struct env env;
	int r = op->check ? op->check(request, err) : 0;

	if (r < 0)
		return r;
	if (op->flags & OP_NO_ENV)
		return op->run(ctx, request, result, err);
	if (op->access_for)
		access = op->access_for(request);
	r = env_open(&env, ctx->root, ctx->workspace, access, op->name, ctx->report, err);
	if (r < 0 && op->flags & OP_ELSE_READ && access != ENV_READ && not_writable(err))
		r = env_open(&env, ctx->root, ctx->workspace, ENV_READ, op->name, ctx->report, err);
	if (r < 0)
		return r;
	ctx->env = &env;
	r = op->run(ctx, request, result, err);
	ctx->env = NULL;
	env_close(&env);
	return r;
}
