/*
 * find - list the paths of a node that match a pattern.  A pattern with a slash must match the
 * whole path.  Any other pattern must match the name.
 */
#include <string.h>

#include "core/own.h"
#include "core/text.h"
#include "ops/refview.h"
#include "ops/requests.h"
#include "query/walk.h"

static const struct param params[] = {
	PARAM(find_request, ref, TEXT, PARAM_REQUIRED | PARAM_POSITIONAL,
		"the node: an id, a tag, HEAD, HEAD~2, a time"),
	PARAM(find_request, pattern, TEXT, PARAM_REQUIRED | PARAM_POSITIONAL,
		"a pattern for names, or for paths where it has a slash"),
	{ 0 },
};

struct name_search {
	struct op_context *ctx;
	struct str pattern;
	bool whole;
};

static enum env_access access_for(const void *request)
{
	return refview_is_work(((const struct find_request *)request)->ref) ? ENV_LOOK : ENV_READ;
}

static int emit_match(void *arg, struct str path, const struct entry *entry, struct err *err)
{
	struct name_search *search = arg;
	struct find_row row = { path, entry };

	if (!text_glob(search->pattern, search->whole ? path : entry->name))
		return 0;
	return op_emit(search->ctx, &row, err);
}

static int do_find(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct find_request *req = request;
	struct find_result *result = out;
	const char *pattern = req->pattern + strspn(req->pattern, "/");
	struct name_search search = {
		.ctx = ctx,
		.pattern = str_of(pattern),
		.whole = strchr(req->pattern, '/') != NULL,
	};
	struct str base;
	owned(view_closep) struct view *view =
		refview_open(ctx, req->ref, &base, &result->ref, err);

	return view ? walk_tree(view, base, emit_match, &search, err) : -(int)err->code;
}

static void row_json(struct json *out, const void *row)
{
	const struct find_row *find = row;

	json_str(out, "path", find->path);
	json_str(out, "name", find->entry->name);
	json_text(out, "type", entry_type_name(find->entry->type));
	json_uint(out, "size", find->entry->size);
}

static void result_json(struct json *out, const void *result)
{
	json_text(out, "ref", ((const struct find_result *)result)->ref);
}

const struct op op_find = {
	.name = "find",
	.summary = "find paths of a node by pattern",
	.access = ENV_READ,
	.access_for = access_for,
	.params = params,
	.request_size = sizeof(struct find_request),
	.result_size = sizeof(struct find_result),
	.rows = "matches",
	.row = "{path:text name:text type:text size:int}",
	.result = "ref:text",
	.run = do_find,
	.row_json = row_json,
	.result_json = result_json,
};
