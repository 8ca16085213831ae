/* cat - read a file of a node, or of the live tree. */
#include "core/own.h"
#include "ops/refview.h"
#include "ops/requests.h"
#include "query/walk.h"

static const struct param params[] = {
	PARAM(cat_request, where, TEXT, PARAM_REQUIRED | PARAM_POSITIONAL, "REF:PATH of a file"),
	{ 0 },
};

static enum env_access access_for(const void *request)
{
	return refview_is_work(((const struct cat_request *)request)->where) ? ENV_LOOK : ENV_READ;
}

static int load_content(struct view *view, const struct entry *entry, struct op_context *ctx,
	struct cat_result *result, struct err *err)
{
	owned(buf_release) struct buf content = BUF_INIT;
	int r = view->ops->read(
		view, entry, result->path, 0, CAT_RESULT_MAX, content_append, &content, err);

	result->content = arena_str(ctx->arena, (struct str){ content.data, content.len });
	result->truncated = entry->size > CAT_RESULT_MAX;
	return r;
}

static int do_cat(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct cat_request *req = request;
	struct cat_result *result = out;
	struct entry entry;
	owned(view_closep) struct view *view =
		refview_open(ctx, req->where, &result->path, &result->ref, err);

	if (!view)
		return -(int)err->code;
	int r = walk_stat(view, result->path, ctx->arena, &entry, err);
	if (r < 0)
		return r;
	if (entry.type == ENTRY_DIR) {
		err_set(err, ERR_INVALID, "'%s' is a directory", req->where);
		return err_hint(err, "list it with 'strata ls'");
	}
	if (entry.type != ENTRY_FILE)
		return err_set(err, ERR_INVALID, "'%s' is a %s, not a regular file", req->where,
			entry_type_name(entry.type));
	result->size = entry.size;
	if (!ctx->data)
		return load_content(view, &entry, ctx, result, err);
	return view->ops->read(view, &entry, result->path, 0, UINT64_MAX, op_send, ctx, err);
}

static void result_json(struct json *out, const void *result)
{
	const struct cat_result *res = result;

	json_text(out, "ref", res->ref);
	json_str(out, "path", res->path);
	json_uint(out, "size", res->size);
	shape_content(out, res->content);
	json_bool(out, "truncated", res->truncated);
}

const struct op op_cat = {
	.name = "cat",
	.summary = "print a file as it was in a node",
	.advice = "'where' is REF:PATH, as in HEAD~2:etc/hosts. 'work:PATH' is the live "
		  "tree.",
	.access = ENV_READ,
	.access_for = access_for,
	.params = params,
	.request_size = sizeof(struct cat_request),
	.result_size = sizeof(struct cat_result),
	.result = "ref:text path:text size:int " SHAPE_CONTENT "truncated:bool",
	.run = do_cat,
	.result_json = result_json,
};
