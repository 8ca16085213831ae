/* cat - the content of a file of a node, or of the live tree. */
#include "core/own.h"
#include "ops/requests.h"
#include "query/walk.h"

static const struct op_param params[] = {
	{ "where", 0, OP_TEXT, OP_REQUIRED | OP_POSITIONAL, offsetof(struct cat_request, where) },
	{ NULL, 0, 0, 0, 0 },
};

static bool looks(const void *request)
{
	return common_is_work(((const struct cat_request *)request)->where);
}

static int pass_on(void *arg, const void *bytes, uint64_t len, struct err *err)
{
	struct op_context *ctx = arg;

	return ctx->data ? ctx->data(ctx->arg, bytes, len, err) : 0;
}

static int run(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct cat_request *req = request;
	struct entry entry;
	struct str path;
	owned(view_closep) struct view *view = common_view(ctx, req->where, &path, NULL, err);
	int r;

	if (!view)
		return -(int)err->code;
	r = walk_stat(view, path, ctx->arena, &entry, err);
	if (r < 0)
		return r;
	if (entry.type == ENTRY_DIR) {
		err_set(err, ERR_INVALID, "'%s' is a directory", req->where);
		return err_hint(err, "list it with 'strata ls'");
	}
	if (entry.type != ENTRY_FILE)
		return err_set(err, ERR_INVALID, "'%s' is a %s, not a regular file", req->where,
			entry_type_name(entry.type));
	return view->ops->read(view, &entry, path, 0, UINT64_MAX, pass_on, ctx, err);
}

const struct op op_cat = {
	.name = "cat",
	.access = ENV_READ,
	.looks = looks,
	.params = params,
	.request_size = sizeof(struct cat_request),
	.run = run,
};
