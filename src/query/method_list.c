/* method_list - methods that list datasets, snapshots and directories, and read files. */
#include <stdlib.h>

#include "core/mem.h"
#include "core/own.h"
#include "core/text.h"
#include "query/method_priv.h"
#include "query/walk.h"

/* ---------------------------------------------------------------- agent_info */

static void write_families(struct registry *registry, struct json *out)
{
	const struct registry_family *at;
	bool all = true;

	json_open(out, "providers", '[');
	for (size_t i = 0; (at = registry_family_at(registry, i)); i++) {
		if (at->usable)
			json_text(out, NULL, at->family->ops->name);
		all &= at->usable;
	}
	json_close(out);
	if (all)
		return;
	json_open(out, "unusable", '[');
	for (size_t i = 0; (at = registry_family_at(registry, i)); i++) {
		if (at->usable)
			continue;
		json_open(out, NULL, '{');
		json_text(out, "provider", at->family->ops->name);
		json_text(out, "reason", at->why.text);
		json_close(out);
	}
	json_close(out);
}

static int run_agent_info(
	struct method_context *ctx, const void *request, struct json *out, struct err *err)
{
	json_text(out, "agent_version", STRATA_VERSION);
	json_text(out, "protocol_version", METHOD_PROTOCOL);
	json_open(out, "methods", '[');
	for (size_t i = 0; i < methods_count; i++)
		json_text(out, NULL, methods[i]->name);
	json_close(out);
	json_open(out, "limits", '{');
	json_uint(out, "request_bytes", JSONREAD_SIZE_MAX);
	json_int(out, "request_depth", JSONREAD_DEPTH_MAX);
	json_uint(out, "reply_bytes", METHOD_REPLY_MAX);
	json_int(out, "seconds", METHOD_SECONDS_MAX);
	json_close(out);
	write_families(ctx->registry, out);
	return 0;
}

const struct op method_agent_info = {
	.name = "agent_info",
	.summary = "the version, the limits and the methods of this agent",
	.result = "agent_version:text protocol_version:text methods:[text] "
		  "limits:{request_bytes:int request_depth:int reply_bytes:int "
		  "seconds:int} providers:[text] "
		  "unusable?:[{provider:text reason:text}]",
	.answer = run_agent_info,
};

/* ------------------------------------------------------------- list_datasets */

struct list_datasets {
	int64_t cursor;
};

static const struct param list_datasets_params[] = {
	METHOD_CURSOR(list_datasets),
	{ 0 },
};

static int dataset_row(void *arg, const struct provider_dataset *dataset, struct err *err)
{
	struct method_list *list = arg;
	int r = timed_pass(list->ctx->limit, err);

	if (r < 0)
		return r;
	if (!method_list_row(list))
		return list->truncated;
	json_text(list->out, "name", dataset->name);
	json_text(list->out, "type", dataset->type);
	json_text(list->out, "mountpoint", dataset->mountpoint);
	json_number(list->out, "used", dataset->used >= 0, dataset->used);
	json_number(list->out, "avail", dataset->avail >= 0, dataset->avail);
	return method_list_row_end(list);
}

static int run_list_datasets(
	struct method_context *ctx, const void *request, struct json *out, struct err *err)
{
	const struct list_datasets *req = request;
	struct method_list list;
	uint64_t left_out = 0;

	method_list_open(&list, ctx, out, "datasets", req->cursor, 0);
	int r = registry_datasets(ctx->registry, dataset_row, &list, &left_out, err);
	r = method_list_finish(&list, r, false);
	if (r >= 0 && left_out)
		json_uint(out, "left_out", left_out);
	return r;
}

METHOD(list_datasets, list_datasets, "the datasets that can be asked about",
	"datasets:[{name:text type:text mountpoint:text? used:int? "
	"avail:int?}] " METHOD_MORE_SHAPE " left_out?:int");

/* ------------------------------------------------------------ list_snapshots */

struct list_snapshots {
	struct method_dataset dataset;
	int64_t after, before;
	int64_t max_results; /* 0: all */
	int64_t cursor;
};

static const struct param list_snapshots_params[] = {
	METHOD_DATASET(list_snapshots, 0),
	METHOD_WINDOW(list_snapshots),
	PARAM(list_snapshots, max_results, INT, 0, "rows of one reply", .cap = 10000),
	METHOD_CURSOR(list_snapshots),
	{ 0 },
};

struct snapshot_rows {
	struct method_list list;
	const struct list_snapshots *req;
	struct provider *provider; /* provider of the current dataset */
	uint64_t left_out;
};

static int snapshot_row(void *arg, const struct provider_snapshot *snapshot, struct err *err)
{
	struct snapshot_rows *rows = arg;
	if (!method_in_window(snapshot->creation, rows->req->after, rows->req->before))
		return 0;
	if (!method_list_row(&rows->list))
		return rows->list.truncated;
	method_snapshot_members(rows->list.out, rows->provider, snapshot);
	return method_list_row_end(&rows->list);
}

static int dataset_snapshots(void *arg, struct provider *provider, struct err *err)
{
	struct snapshot_rows *rows = arg;

	rows->provider = provider;
	int r = provider->ops->snapshots(provider, snapshot_row, rows, err);
	rows->left_out += provider->left_out;
	return r < 0 ? r : rows->list.truncated;
}

static int run_list_snapshots(
	struct method_context *ctx, const void *request, struct json *out, struct err *err)
{
	const struct list_snapshots *req = request;
	struct snapshot_rows rows = { .req = req };

	method_list_open(&rows.list, ctx, out, "snapshots", req->cursor, req->max_results);
	int r = method_each_dataset(ctx, &req->dataset, dataset_snapshots, &rows, err);
	r = method_list_finish(&rows.list, r, req->max_results > 0);
	if (r >= 0 && rows.left_out)
		json_uint(out, "left_out", rows.left_out);
	return r;
}

METHOD(list_snapshots, list_snapshots, "the snapshots of a dataset or of all, the oldest first",
	"snapshots:[" METHOD_SNAPSHOT_SHAPE "] " METHOD_MORE_SHAPE " left_out?:int");

/* ------------------------------------------------------------------ list_dir */

/* The request of several methods: a path in a snapshot, and the number of rows to return. */
struct place {
	struct method_snapshot snapshot;
	struct param_path path;
	struct str pattern;
	int64_t max;
	int64_t offset;
	int64_t cursor;
};

#define PLACE_PARAMS METHOD_SNAPSHOT(place), METHOD_PATH(place, PARAM_REQUIRED)

static void echo_place(const struct place *req, struct json *out)
{
	json_text(out, "snapshot", req->snapshot.full);
	json_str(out, "path", req->path.given);
}

static const struct param list_dir_params[] = {
	PLACE_PARAMS,
	PARAM_AS("max_entries", place, max, INT, 0, "rows of one reply", .fallback = 1000,
		.cap = 10000),
	METHOD_CURSOR(place),
	{ 0 },
};

static int dir_row(void *arg, struct str path, const struct entry *entry, struct err *err)
{
	struct method_list *list = arg;
	struct json *out = list->out;

	if (!method_list_row(list))
		return list->truncated;
	json_str(out, "name", entry->name);
	json_text(out, "type", method_type_name(entry->type));
	if (entry->type == ENTRY_LINK)
		json_str(out, "target", entry->target);
	if (entry->type == ENTRY_LINK)
		json_uint(out, "size", entry->target.len);
	if (entry->type == ENTRY_FILE)
		json_uint(out, "size", entry->size);
	if (entry->type == ENTRY_FILE || entry->type == ENTRY_DIR || entry->type == ENTRY_LINK)
		json_int(out, "mtime", entry->mtime_sec);
	if (entry->type && entry->type != ENTRY_DIR && entry->type != ENTRY_LINK)
		json_uint(out, "mode", entry->mode);
	if (entry->content == ENTRY_UNREAD)
		json_bool(out, "unread", true);
	return method_list_row_end(list);
}

static int run_list_dir(
	struct method_context *ctx, const void *request, struct json *out, struct err *err)
{
	const struct place *req = request;
	struct entry dir;
	owned(view_closep) struct view *view =
		method_open_path(ctx, &req->snapshot, req->path.path, ENTRY_DIR, &dir, err);
	struct method_list list;

	if (!view)
		return -(int)err->code;
	echo_place(req, out);
	method_list_open(&list, ctx, out, "entries", req->cursor, req->max);
	view->need = VIEW_NO_HASH;
	int r = walk_dir(view, req->path.path, dir_row, &list, err);
	return method_list_finish(&list, r, true);
}

METHOD(list_dir, place, "the entries of a directory in a snapshot",
	"snapshot:text path:text entries:[{name:text type:text "
	"target?:text size?:int mtime?:int mode?:int unread?:bool}] "
	"truncated:bool cursor?:text");

/* ---------------------------------------------------------------- find_files */

static const struct param find_files_params[] = {
	METHOD_SNAPSHOT(place),
	PARAM(place, pattern, STRING, PARAM_REQUIRED, "a pattern for the last name of a path"),
	METHOD_PATH(place, 0),
	PARAM_AS("max_results", place, max, INT, 0, "rows of one reply", .fallback = 100,
		.cap = 1000),
	METHOD_CURSOR(place),
	{ 0 },
};

struct name_search {
	struct method_list list;
	struct str pattern;
};

static int try_name(void *arg, struct str path, const struct entry *entry, struct err *err)
{
	struct name_search *search = arg;
	struct json *out = search->list.out;

	if (!text_fnmatch(search->pattern, entry->name))
		return 0;
	if (!method_list_row(&search->list))
		return search->list.truncated;
	json_str(out, "path", path);
	json_str(out, "name", entry->name);
	json_text(out, "type", method_type_name(entry->type));
	return method_list_row_end(&search->list);
}

static int run_find_files(
	struct method_context *ctx, const void *request, struct json *out, struct err *err)
{
	const struct place *req = request;
	struct entry dir;
	owned(view_closep) struct view *view =
		method_open_path(ctx, &req->snapshot, req->path.path, ENTRY_DIR, &dir, err);
	struct name_search search = { .pattern = req->pattern };

	if (!view)
		return -(int)err->code;
	json_text(out, "snapshot", req->snapshot.full);
	json_str(out, "pattern", req->pattern);
	json_str(out, "base", req->path.given);
	method_list_open(&search.list, ctx, out, "matches", req->cursor, req->max);
	view->need = VIEW_NAMES;
	int r = walk_tree(view, req->path.path, try_name, &search, err);
	r = method_list_finish(&search.list, r, true);
	if (r >= 0)
		method_unread(out, view->unread);
	return r;
}

METHOD(find_files, place, "paths of a snapshot whose name matches a pattern",
	"snapshot:text pattern:text base:text matches:[{path:text "
	"name:text type:text}] truncated:bool cursor?:text " METHOD_UNREAD_SHAPE);

/* ----------------------------------------------------------------- read_file */

static const struct param read_file_params[] = {
	PLACE_PARAMS,
	METHOD_MAX_BYTES(place, max),
	PARAM(place, offset, INT, PARAM_FROM_ZERO, "the byte to begin at", .cap = INT64_MAX),
	{ 0 },
};

/*
 * If 'text' ends in the middle of a character, and the bytes before this character are valid UTF-8,
 * returns these bytes.  Otherwise returns the whole text.
 */
static struct str whole_characters(struct str text)
{
	for (size_t cut = 1; cut < 4 && cut < text.len; cut++) {
		struct str shorter = { text.ptr, text.len - cut };

		if ((text.ptr[shorter.len] & 0xc0) == 0xc0)
			return text_is_utf8(shorter) ? shorter : text;
	}
	return text;
}

static void write_content(struct method_context *ctx, struct json *out, struct str content)
{
	owned(buf_release) struct buf coded = BUF_INIT;
	bool text = text_is_utf8(content) && method_fits(ctx, out, content);

	if (!text)
		text_base64(&coded, content);
	json_uint(out, "bytes_returned", content.len);
	json_text(out, "encoding", text ? "utf-8" : "base64");
	json_str(out, "content", text ? content : (struct str){ coded.data, coded.len });
}

static int run_read_file(
	struct method_context *ctx, const void *request, struct json *out, struct err *err)
{
	const struct place *req = request;
	struct entry entry;
	owned(view_closep) struct view *view =
		method_open_path(ctx, &req->snapshot, req->path.path, ENTRY_FILE, &entry, err);
	owned(buf_release) struct buf bytes = BUF_INIT;
	uint64_t offset = (uint64_t)req->offset, max = (uint64_t)req->max;

	if (!view)
		return -(int)err->code;
	echo_place(req, out);
	json_uint(out, "size", entry.size);
	/* Limit the content to the bytes that fit in base64, the longest encoding. */
	if (max > method_room(ctx, out) / 4 * 3)
		max = method_room(ctx, out) / 4 * 3;
	int r = view->ops->read(
		view, &entry, req->path.path, offset, max, content_append, &bytes, err);
	if (r < 0)
		return r;
	struct str content = { bytes.data, bytes.len };
	bool truncated = offset < entry.size && entry.size - offset > content.len;
	if (truncated && !text_is_utf8(content))
		content = whole_characters(content);
	write_content(ctx, out, content);
	json_bool(out, "truncated", truncated);
	return 0;
}

METHOD(read_file, place, "the content of a file in a snapshot",
	"snapshot:text path:text size:int bytes_returned:int "
	"encoding:text content:text truncated:bool");

/* ------------------------------------------------------------- checksum_file */

static const struct param checksum_file_params[] = {
	PLACE_PARAMS,
	{ 0 },
};

static int run_checksum_file(
	struct method_context *ctx, const void *request, struct json *out, struct err *err)
{
	const struct place *req = request;
	struct entry entry;
	owned(view_closep) struct view *view =
		method_open_path(ctx, &req->snapshot, req->path.path, ENTRY_FILE, &entry, err);
	struct hash hash;
	char hex[HASH_HEX];

	if (!view)
		return -(int)err->code;
	int r = method_sha256(view, &entry, req->path.path, UINT64_MAX, &hash, err);
	if (r < 0)
		return r;
	echo_place(req, out);
	json_uint(out, "size", entry.size);
	json_text(out, "sha256", hash_hex(&hash, hex));
	return 0;
}

METHOD(checksum_file, place, "size and SHA-256 of a file in a snapshot",
	"snapshot:text path:text size:int sha256:text");
