#include "query/method.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/own.h"
#include "core/text.h"
#include "history/node.h"
#include "query/method_priv.h"
#include "query/timed.h"
#include "query/walk.h"

#define TAIL_ROOM 4096 /* for what follows the rows: flags, counts, the cursor */
#define SHOWN 80       /* bytes of a name that a message repeats */

/* Keep sorted by name. */
const struct method *const methods[] = {
	&method_agent_info,
	&method_bisect_change,
	&method_blame_path,
	&method_checksum_file,
	&method_content_grep,
	&method_diff_snapshots,
	&method_file_diff,
	&method_file_history,
	&method_find_deleted,
	&method_find_files,
	&method_first_appearance,
	&method_grep_history,
	&method_last_appearance,
	&method_list_datasets,
	&method_list_dir,
	&method_list_snapshots,
	&method_read_file,
	&method_size_breakdown,
	&method_size_delta,
	&method_snapshots_containing,
	&method_top_consumers,
	&method_versions_of,
};

const size_t methods_count = sizeof(methods) / sizeof(methods[0]);

static int by_name(const void *name, const void *method)
{
	return strcmp(name, (*(const struct method *const *)method)->name);
}

const struct method *method_find(const char *name)
{
	const struct method *const *found =
		bsearch(name, methods, methods_count, sizeof(methods[0]), by_name);

	return found ? *found : NULL;
}

const struct method_param *method_param(const struct method *method, const char *name)
{
	for (const struct method_param *param = method->params; param->name; param++)
		if (!strcmp(param->name, name))
			return param;
	return NULL;
}

bool method_is_text(const struct method_param *param)
{
	return param->type != METHOD_INT && param->type != METHOD_BOOL &&
	       param->type != METHOD_OBJECT;
}

int method_error_code(const struct err *err)
{
	switch (err->code) {
	case ERR_USAGE:
		return -32601;
	case ERR_INVALID:
	case ERR_LIMIT:
		return -32602;
	case ERR_NOT_FOUND:
	case ERR_DENIED:
		return -32002;
	case ERR_SYSTEM:
		if (err->errno_value == ETIMEDOUT || err->errno_value == ECANCELED)
			return -32003;
		return -32001;
	case ERR_CORRUPT:
	case ERR_BUSY:
	case ERR_UNSUPPORTED:
		return -32001;
	}
	return -32603;
}

/* ------------------------------------------------------------------- reading */

struct reader {
	struct method_context *ctx;
	const struct jsonread *params; /* an object, or NULL */
	char *request;
	struct err *err;
};

static int must_be(struct reader *reader, const struct method_param *param, const char *what)
{
	return err_set(reader->err, ERR_INVALID, "'%s' must be %s", param->name, what);
}

static const struct jsonread *given(const struct reader *reader, const struct method_param *param)
{
	const struct jsonread *value =
		reader->params ? jsonread_member(reader->params, param->name) : NULL;

	return value && jsonread_type(value) != JSONREAD_NULL ? value : NULL;
}

/* The text of a parameter whose JSON type was checked; ptr NULL when not given. */
static struct str text_of(const struct reader *reader, const struct method_param *param)
{
	const struct jsonread *value = given(reader, param);

	return value ? jsonread_str(value) : (struct str){ NULL, 0 };
}

static int check_json_type(struct reader *reader, const struct method_param *param)
{
	static const struct {
		enum jsonread_type type;
		const char *what;
	} expected[METHOD_TYPES] = {
		[METHOD_BOOL] = { JSONREAD_BOOL, "true or false" },
		[METHOD_OBJECT] = { JSONREAD_OBJECT, "an object" },
		[METHOD_INT] = { JSONREAD_INT, "an integer" },
	};
	const struct jsonread *value = given(reader, param);
	enum jsonread_type type =
		method_is_text(param) ? JSONREAD_STRING : expected[param->type].type;
	const char *what = method_is_text(param) ? "a string" : expected[param->type].what;

	if (!value && param->flags & METHOD_REQUIRED)
		return err_set(reader->err, ERR_INVALID, "'%s' is missing: %s", param->name, what);
	return value && jsonread_type(value) != type ? must_be(reader, param, what) : 0;
}

static int read_int(struct reader *reader, const struct method_param *param, int64_t *slot)
{
	const struct jsonread *value = given(reader, param);
	int64_t least = param->flags & METHOD_FROM_ZERO ? 0 : 1;

	*slot = value ? jsonread_int(value) : param->fallback;
	if (value && *slot < least)
		return must_be(reader, param, least ? "positive" : "0 or more");
	if (value && *slot > param->cap)
		*slot = param->cap;
	return 0;
}

static int read_cursor(struct reader *reader, const struct method_param *param, int64_t *slot)
{
	struct str text = text_of(reader, param);

	*slot = 0;
	if (text.ptr && (!text.len || text.len > 18))
		return must_be(reader, param, "what an earlier reply gave");
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] < '0' || text.ptr[i] > '9')
			return must_be(reader, param, "what an earlier reply gave");
		*slot = *slot * 10 + (text.ptr[i] - '0');
	}
	return 0;
}

static int read_time(struct reader *reader, const struct method_param *param, int64_t *slot)
{
	struct str text = text_of(reader, param);

	*slot = param->fallback;
	if (!text.ptr)
		return 0;
	if (memchr(text.ptr, '\0', text.len))
		return must_be(reader, param, "a time");
	int r = when_parse(text.ptr, when_now(), slot, reader->err);
	return r < 0 ? err_context(reader->err, "'%s'", param->name) : 0;
}

static int read_regex(
	struct reader *reader, const struct method_param *param, struct method_regex *slot)
{
	slot->text = text_of(reader, param);
	if (!slot->text.ptr)
		return 0;
	slot->regex = regex_new(slot->text, 0, reader->err);
	return slot->regex ? 0 : -(int)reader->err->code;
}

static int read_path(
	struct reader *reader, const struct method_param *param, struct method_path *slot)
{
	struct str text = text_of(reader, param);
	char *path = arena_alloc(reader->ctx->arena, text.len + 1);
	size_t len = 0;

	if (text.len > METHOD_PATH_MAX)
		return err_set(reader->err, ERR_LIMIT, "'%s' is longer than %d bytes", param->name,
			METHOD_PATH_MAX);
	if (text.len && memchr(text.ptr, '\0', text.len))
		return err_set(reader->err, ERR_DENIED, "'%s' has a NUL", param->name);
	slot->given = text.ptr ? text : STR("");
	for (struct str name; (name = str_take_name(&text)).len;) {
		if (str_eq(name, STR("..")))
			return err_set(reader->err, ERR_DENIED, "'%s' has a '..'", param->name);
		if (str_eq(name, STR(".")))
			continue;
		if (len)
			path[len++] = '/';
		memcpy(path + len, name.ptr, name.len);
		len += name.len;
	}
	slot->path = (struct str){ path, len };
	return 0;
}

/* [A-Za-z0-9_][A-Za-z0-9_.: -]*, with '/' for a dataset, and no space at the end. */
static bool is_name(struct str name, bool dataset)
{
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];
		bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			    (c >= '0' && c <= '9') || c == '_';

		if (!word && (!i || !c || !strchr(dataset ? ".:/ -" : ".: -", c)))
			return false;
	}
	return name.len && name.ptr[name.len - 1] != ' ';
}

static int check_dataset(struct reader *reader, struct str name)
{
	owned(buf_release) struct buf shown = BUF_INIT;

	if (str_eq(name, str_of(reader->ctx->dataset)))
		return 0;
	text_quote(&shown, name);
	return is_name(name, true)
		       ? err_set(reader->err, ERR_NOT_FOUND, "no dataset '%.*s'", SHOWN, shown.data)
		       : err_set(reader->err, ERR_INVALID, "'%.*s' is not a dataset's name", SHOWN,
				 shown.data ?: "");
}

static int read_dataset(struct reader *reader, const struct method_param *param, struct str *slot)
{
	*slot = text_of(reader, param);
	return slot->ptr ? check_dataset(reader, *slot) : 0;
}

/* DATASET@NAME, or the name alone. */
static int read_snapshot(
	struct reader *reader, const struct method_param *param, struct method_snapshot *slot)
{
	struct method_context *ctx = reader->ctx;
	struct str text = text_of(reader, param);
	const char *at = text.len ? memrchr(text.ptr, '@', text.len) : NULL;
	int r = at ? check_dataset(reader, (struct str){ text.ptr, (size_t)(at - text.ptr) }) : 0;

	if (r < 0)
		return r;
	if (at)
		text = (struct str){ at + 1, (size_t)(text.ptr + text.len - at - 1) };
	if (!is_name(text, false))
		return must_be(reader, param, "a snapshot's name: DATASET@NAME");
	r = ctx->provider->ops->resolve(
		ctx->provider, arena_str(ctx->arena, text).ptr, ctx->arena, &slot->is, reader->err);
	if (r >= 0)
		slot->full = method_full_name(ctx, slot->is.name);
	return r;
}

static int read_param(struct reader *reader, const struct method_param *param)
{
	void *slot = reader->request + param->offset;
	const struct jsonread *value = given(reader, param);

	switch ((enum method_type)param->type) {
	case METHOD_STRING:
		*(struct str *)slot = text_of(reader, param);
		return 0;
	case METHOD_BOOL:
		*(bool *)slot = value && jsonread_bool(value);
		return 0;
	case METHOD_OBJECT:
		*(const struct jsonread **)slot = value;
		return 0;
	case METHOD_CURSOR:
		return read_cursor(reader, param, slot);
	case METHOD_INT:
		return read_int(reader, param, slot);
	case METHOD_TIME:
		return read_time(reader, param, slot);
	case METHOD_REGEX:
		return read_regex(reader, param, slot);
	case METHOD_PATH:
		return read_path(reader, param, slot);
	case METHOD_DATASET:
		return read_dataset(reader, param, slot);
	case METHOD_SNAPSHOT:
		return read_snapshot(reader, param, slot);
	case METHOD_TYPES:
		break;
	}
	return 0;
}

/* The order of the types is that of the checks; integers come behind all that are not. */
static int read_request(struct reader *reader, const struct method *method)
{
	int r = 0;

	for (int integers = 0; integers < 2; integers++)
		for (const struct method_param *param = method->params; param->name; param++)
			if ((param->type == METHOD_INT) == integers &&
				(r = check_json_type(reader, param)) < 0)
				return r;
	for (int type = 0; type < METHOD_TYPES; type++)
		for (const struct method_param *param = method->params; param->name; param++)
			if (param->type == type && (r = read_param(reader, param)) < 0)
				return r;
	return 0;
}

static void release_request(char *request, const struct method *method)
{
	for (const struct method_param *param = method->params; param->name; param++)
		if (param->type == METHOD_REGEX)
			regex_free(((struct method_regex *)(request + param->offset))->regex);
}

/* ------------------------------------------------------------------- calling */

int method_call(struct method_context *ctx, const char *name, const struct jsonread *params,
	struct json *out, struct err *err)
{
	const struct method *method = method_find(name);
	struct method_context call = *ctx;
	struct timed timed;
	int depth = out->depth;
	bool comma = out->comma[depth];
	int r;

	if (!method)
		return err_set(err, ERR_USAGE, "no method '%.*s'", SHOWN, name);
	if (params && jsonread_type(params) != JSONREAD_OBJECT)
		return err_set(err, ERR_INVALID, "the parameters must be an object");
	timed_init(&timed, ctx->provider, ctx->time_max ?: METHOD_SECONDS_MAX * WHEN_SECOND,
		ctx->cancelled, ctx->arg);
	call.provider = &timed.provider;
	call.reply_max = ctx->reply_max ?: METHOD_REPLY_MAX;
	call.start = out->out.len;
	char *request = arena_alloc(ctx->arena, method->request_size + 1);
	struct reader reader = { &call, params, request, err };
	r = read_request(&reader, method);
	if (r >= 0)
		r = method->run(&call, request, out, err);
	release_request(request, method);
	if (r < 0) {
		buf_truncate(&out->out, call.start);
		out->depth = depth;
		out->comma[depth] = comma;
		return r;
	}
	return 0;
}

/* ----------------------------------------------------------------- snapshots */

const char *method_full_name(struct method_context *ctx, const char *snapshot)
{
	return arena_printf(ctx->arena, "%s@%s", ctx->dataset, snapshot);
}

int64_t method_seconds(int64_t ns)
{
	return ns / WHEN_SECOND - (ns % WHEN_SECOND < 0);
}

bool method_in_window(int64_t creation, int64_t after, int64_t before)
{
	int64_t second = method_seconds(creation);

	return second >= method_seconds(after) && second <= method_seconds(before);
}

void method_moment(
	struct method_context *ctx, struct json *out, const char *snapshot, int64_t creation)
{
	owned(buf_release) struct buf full = BUF_INIT;

	buf_addf(&full, "%s@%s", ctx->dataset, snapshot);
	json_str(out, "snapshot", (struct str){ full.data, full.len });
	json_int(out, "creation", method_seconds(creation));
}

void method_cause(struct json *out, const struct provider_snapshot *snapshot)
{
	const struct node *node = snapshot->node;

	if (!node)
		return;
	json_text(out, "kind", node_kind_name(node->kind));
	json_str(out, "message", node->message);
	if (node->n_command) {
		json_open(out, "command", '[');
		for (size_t i = 0; i < node->n_command; i++)
			json_str(out, NULL, node->command[i]);
		json_close(out);
	}
	if (node->has_status)
		json_int(out, "exit_status", node->exit_status);
}

struct provider *method_mainline(struct method_context *ctx, struct err *err)
{
	struct provider *all = ctx->provider;

	return all->ops->mainline ? all->ops->mainline(all, ctx->arena, err) : all;
}

int method_diff(struct method_context *ctx, const char *a, const char *b,
	const struct treediff_options *options, provider_change_visit visit, void *arg,
	struct err *err)
{
	struct provider *provider = ctx->provider;

	if (!provider->ops->diff)
		return err_set(
			err, ERR_UNSUPPORTED, "%s cannot compare snapshots", provider->ops->name);
	return provider->ops->diff(provider, a, b, options, visit, arg, err);
}

/* --------------------------------------------------------------------- paths */

const char *method_type_name(enum entry_type type)
{
	switch (type) {
	case ENTRY_FILE:
	case ENTRY_DIR:
	case ENTRY_LINK:
		return entry_type_name(type);
	default:
		return "other";
	}
}

static int stat_as(struct view *view, struct str path, struct arena *arena, enum entry_type type,
	struct entry *entry, struct err *err)
{
	int r = walk_stat(view, path, arena, entry, err);

	if (r >= 0 && entry->type != type) {
		owned(buf_release) struct buf shown = BUF_INIT;

		text_quote(&shown, path);
		return err_set(err, ERR_DENIED, "'%.*s' is a %s, not a %s", SHOWN, shown.data ?: "",
			entry_type_name(entry->type),
			type == ENTRY_DIR ? "directory" : "regular file");
	}
	return r;
}

int method_stat_dir(struct view *view, struct str path, struct arena *arena, struct entry *entry,
	struct err *err)
{
	return stat_as(view, path, arena, ENTRY_DIR, entry, err);
}

int method_stat_file(struct view *view, struct str path, struct arena *arena, struct entry *entry,
	struct err *err)
{
	return stat_as(view, path, arena, ENTRY_FILE, entry, err);
}

int method_load(struct view *view, const struct entry *file, struct str path, uint64_t max,
	struct buf *out, struct err *err)
{
	return view->ops->read(view, file, path, 0, max, content_append, out, err);
}

static int hash_piece(void *arg, const void *bytes, uint64_t len, struct err *err)
{
	static const char zeros[65536];

	while (len) {
		size_t n = bytes || len < sizeof(zeros) ? (size_t)len : sizeof(zeros);

		hash_stream_add(arg, bytes ? bytes : zeros, n);
		len -= n;
	}
	return 0;
}

int method_sha256(struct view *view, const struct entry *file, struct str path, uint64_t max,
	struct hash *hash, struct err *err)
{
	if (file->size > METHOD_HASH_MAX && max > METHOD_HASH_MAX)
		return err_set(err, ERR_LIMIT, "the file is larger than %llu MiB",
			(unsigned long long)(METHOD_HASH_MAX >> 20));
	if (view->identified && file->content == ENTRY_BLOB && file->size <= max) {
		*hash = file->hash;
		return 0;
	}
	struct hash_stream *stream = hash_stream_new();
	struct hash sum;
	int r = view->ops->read(view, file, path, 0, max, hash_piece, stream, err);

	hash_stream_finish(stream, &sum);
	if (r >= 0)
		*hash = sum;
	return r;
}

/* --------------------------------------------------------------------- lists */

size_t method_room(const struct method_context *ctx, const struct json *out)
{
	size_t used = out->out.len - ctx->start + TAIL_ROOM;

	return used < ctx->reply_max ? ctx->reply_max - used : 0;
}

bool method_fits(const struct method_context *ctx, const struct json *out, struct str text)
{
	struct buf quoted = { .max = method_room(ctx, out) };
	bool fits;

	if (text.len > quoted.max)
		return false;
	json_quote(&quoted, text);
	fits = !quoted.overflowed;
	buf_release(&quoted);
	return fits;
}

void method_list_open(struct method_list *list, struct method_context *ctx, struct json *out,
	const char *key, int64_t cursor, int64_t max)
{
	*list = (struct method_list){ .ctx = ctx, .out = out, .skip = cursor, .max = max };
	json_open(out, key, '[');
}

bool method_list_row(struct method_list *list)
{
	if (list->truncated)
		return false;
	if (list->seen < list->skip) {
		list->seen++;
		return false;
	}
	if (list->max && list->given >= list->max) {
		list->truncated = true;
		return false;
	}
	list->mark = list->out->out.len;
	list->comma = list->out->comma[list->out->depth];
	return true;
}

int method_list_row_end(struct method_list *list)
{
	struct json *out = list->out;

	if (method_room(list->ctx, out)) {
		list->seen++;
		list->given++;
		return 0;
	}
	buf_truncate(&out->out, list->mark);
	out->comma[out->depth] = list->comma;
	list->truncated = true;
	/* A row that alone is too large must not be what the next call begins with. */
	if (!list->given)
		list->seen++;
	return 1;
}

void method_list_close(struct method_list *list)
{
	json_close(list->out);
}

void method_list_tail(struct method_list *list, bool always)
{
	char cursor[24];

	if (always || list->truncated)
		json_bool(list->out, "truncated", list->truncated);
	if (list->truncated) {
		snprintf(cursor, sizeof(cursor), "%lld", (long long)list->seen);
		json_text(list->out, "cursor", cursor);
	}
}
