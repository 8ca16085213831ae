/* cat_bundle - read a file as it was before or after a command. */
#include <string.h>

#include "core/own.h"
#include "ops/bundles.h"
#include "ops/requests.h"
#include "ops/shape.h"
#include "ops/tracedir.h"
#include "trace/bundle/bundle_content.h"

static const struct param params[] = {
	TRACEDIR_PARAM(cat_bundle_request),
	PARAM(cat_bundle_request, side, TEXT, PARAM_REQUIRED | PARAM_POSITIONAL, "before or after"),
	PARAM(cat_bundle_request, path, TEXT, PARAM_REQUIRED | PARAM_POSITIONAL,
		"the file; relative to where the command ran"),
	{ 0 },
};

static int read_side(const char *text, enum bundle_side *side, struct err *err)
{
	if (!strcmp(text, "before"))
		*side = BUNDLE_BEFORE;
	else if (!strcmp(text, "after"))
		*side = BUNDLE_AFTER;
	else
		return err_set(err, ERR_USAGE, "trace cat: before or after, not '%.100s'", text);
	return 0;
}

static int keep_beginning(void *arg, const void *bytes, size_t len, struct err *err)
{
	struct cat_bundle_result *result = arg;
	size_t room = (size_t)CAT_RESULT_MAX - result->content.len;

	buf_add(&result->content, bytes, len < room ? len : room);
	result->size += len;
	return 0;
}

static int do_cat_bundle(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct cat_bundle_request *req = request;
	struct cat_bundle_result *result = out;
	enum bundle_side side = BUNDLE_BEFORE;
	int r = read_side(req->side, &side, err);

	if (r < 0)
		return r;
	owned(bundle_closep) struct bundle *bundle = tracedir_open(req->dir, err);
	if (!bundle)
		return -(int)err->code;
	result->path = tracedir_path(bundle, req->path, ctx->arena);
	result->content.max = BUF_MAX;
	const struct bundle_file *file = bundle_find(bundle, result->path);
	if (!file)
		return err_set(err, ERR_NOT_FOUND,
			"no record of '%s': the command did not touch it", result->path.ptr);
	r = ctx->data ? bundle_content(bundle, file, side, op_send, ctx, err)
		      : bundle_content(bundle, file, side, keep_beginning, result, err);
	return r < 0 ? err_context(err, "'%s'", result->path.ptr) : 0;
}

static void result_json(struct json *out, const void *result)
{
	const struct cat_bundle_result *res = result;
	owned(buf_release) struct buf content = res->content;

	json_str(out, "path", res->path);
	json_uint(out, "size", res->size);
	shape_content(out, (struct str){ content.data ?: "", content.len });
	json_bool(out, "truncated", res->size > CAT_RESULT_MAX);
}

const struct op op_cat_bundle = {
	.name = "trace cat",
	.summary = "print a file as it was before or after",
	.flags = OP_NO_ENV | OP_ANYWHERE | OP_LOCAL,
	.params = params,
	.request_size = sizeof(struct cat_bundle_request),
	.result_size = sizeof(struct cat_bundle_result),
	.result = "path:text size:int " SHAPE_CONTENT "truncated:bool",
	.run = do_cat_bundle,
	.result_json = result_json,
};
