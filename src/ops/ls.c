/* ls - list a directory of a node, or of the live tree. */

#include "core/own.h"
#include "ops/refview.h"
#include "ops/requests.h"
#include "query/walk.h"

static const struct param params[] = {
	PARAM(ls_request, where, TEXT, PARAM_POSITIONAL, "REF[:PATH]; HEAD unless given"),
	PARAM(ls_request, recursive, FLAG, 0, "everything below, too", .letter = 'r'),
	{ 0 },
};

struct listing {
	struct op_context *ctx;
	size_t skip; /* length of the listed directory's path, which is left out of each row */
};

static int list_entry(void *arg, struct str path, const struct entry *entry, struct err *err)
{
	struct listing *listing = arg;
	struct ls_row row = { .path = path, .entry = entry };

	if (path.len > listing->skip) {
		row.path.ptr += listing->skip;
		row.path.len -= listing->skip;
	}
	return op_emit(listing->ctx, &row, err);
}

static enum env_access access_for(const void *request)
{
	return refview_is_work(((const struct ls_request *)request)->where) ? ENV_LOOK : ENV_READ;
}

static int do_ls(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct ls_request *req = request;
	struct ls_result *result = out;
	struct listing listing = { .ctx = ctx };
	owned(view_closep) struct view *view =
		refview_open(ctx, req->where, &result->path, &result->ref, err);

	if (!view)
		return -(int)err->code;
	listing.skip = result->path.len ? result->path.len + 1 : 0;
	return (req->recursive ? walk_tree : walk_dir)(
		view, result->path, list_entry, &listing, err);
}

static void row_json(struct json *out, const void *row)
{
	const struct ls_row *ls = row;
	const struct entry *entry = ls->entry;
	char hex[HASH_HEX];

	json_str(out, "name", ls->path);
	json_text(out, "type", entry_type_name(entry->type));
	json_uint(out, "mode", entry->mode);
	json_uint(out, "uid", entry->uid);
	json_uint(out, "gid", entry->gid);
	json_uint(out, "size", entry->size);
	json_int(out, "mtime", entry->mtime_sec);
	json_uint(out, "mtime_nsec", entry->mtime_nsec);
	if (entry->type == ENTRY_LINK)
		json_str(out, "target", entry->target);
	if (entry->content == ENTRY_BLOB)
		json_text(out, "sha256", hash_hex(&entry->hash, hex));
	if (entry->content == ENTRY_UNREAD)
		json_bool(out, "unread", true);
}

static void result_json(struct json *out, const void *result)
{
	const struct ls_result *res = result;

	json_text(out, "ref", res->ref);
	json_str(out, "path", res->path);
}

const struct op op_ls = {
	.name = "ls",
	.summary = "list a directory of a node or of the live tree",
	.advice = "'where' is REF:PATH, as in HEAD:src.",
	.access = ENV_READ,
	.access_for = access_for,
	.params = params,
	.request_size = sizeof(struct ls_request),
	.result_size = sizeof(struct ls_result),
	.rows = "entries",
	.row = "{name:text type:text mode:int uid:int gid:int size:int "
	       "mtime:int mtime_nsec:int target?:text sha256?:text "
	       "unread?:bool}",
	.result = "ref:text path:text",
	.run = do_ls,
	.row_json = row_json,
	.result_json = result_json,
};
