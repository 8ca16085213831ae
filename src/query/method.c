#include "query/method.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/mem.h"
#include "core/own.h"
#include "core/text.h"
#include "history/node.h"
#include "query/method_priv.h"
#include "query/samecontent.h"
#include "query/snapname.h"
#include "query/timed.h"
#include "query/walk.h"

/* bytes kept free for the members after the rows: flags, counts, the cursor */
#define TAIL_ROOM 4096
#define SHOWN 80 /* bytes of a name that a message repeats */

/* The table must stay sorted by name. */
const struct op *const methods[] = {
	&method_agent_info,
	&method_bisect_change,
	&method_blame_path,
	&method_checksum_file,
	&method_content_grep,
	&method_dataset_properties,
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
	&method_list_pools,
	&method_list_snapshots,
	&method_pool_status,
	&method_read_file,
	&method_restore_dir,
	&method_restore_file,
	&method_size_breakdown,
	&method_size_delta,
	&method_snapshot_cadence,
	&method_snapshots_containing,
	&method_stale_snapshots,
	&method_top_consumers,
	&method_versions_of,
};

const size_t methods_count = sizeof(methods) / sizeof(methods[0]);

static int compare_method(const void *name, const void *method)
{
	return strcmp(name, (*(const struct op *const *)method)->name);
}

const struct op *method_find(const char *name)
{
	const struct op *const *found =
		bsearch(name, methods, methods_count, sizeof(methods[0]), compare_method);

	return found ? *found : NULL;
}

int method_seconds(const char *name)
{
	return strcmp(name, "diff_snapshots") ? METHOD_SECONDS_MAX : METHOD_DIFF_SECONDS_MAX;
}

/* -------------------------------------- parameters that only a query method has */

/* Returns a provider that stops at the time limit of the call. */
static struct provider *limit_provider(struct method_context *ctx, struct provider *provider)
{
	struct timed *timed = arena_alloc(ctx->arena, sizeof(*timed));

	timed_init(timed, provider, ctx->limit);
	return &timed->provider;
}

static int find_dataset(
	struct method_context *ctx, struct str name, struct method_dataset *slot, struct err *err)
{
	struct provider *provider = registry_find(ctx->registry, name, err);

	if (!provider)
		return -(int)err->code;
	*slot = (struct method_dataset){ name, limit_provider(ctx, provider) };
	return 0;
}

/* DATASET@NAME, or NAME alone. */
struct snapshot_name {
	bool has_dataset;
	struct str dataset, name;
};

static struct snapshot_name split_name(struct str text)
{
	const char *at = text.len ? memrchr(text.ptr, '@', text.len) : NULL;
	size_t len = at ? (size_t)(at - text.ptr) : 0;

	if (!at)
		return (struct snapshot_name){ .name = text };
	return (struct snapshot_name){ true, { text.ptr, len }, { at + 1, text.len - len - 1 } };
}

/* Check the form of a snapshot's name.  find_places looks the snapshot up. */
static int check_snapshot(struct method_context *ctx, const char *key, struct str text,
	struct method_snapshot *slot, struct err *err)
{
	struct snapshot_name name = split_name(text);
	int r = name.has_dataset ? registry_check(ctx->registry, name.dataset, err) : 0;

	if (r < 0)
		return r;
	if (!snapname_is_snapshot(name.name))
		return err_set(
			err, ERR_INVALID, "'%s' must be a snapshot's name: DATASET@NAME", key);
	slot->full = arena_str(ctx->arena, text).ptr;
	return 0;
}

static int resolve_param(
	void *arg, const struct param *param, struct str text, void *slot, struct err *err)
{
	struct method_context *ctx = arg;

	if (param->type == PARAM_SNAPSHOT)
		return check_snapshot(ctx, param->name, text, slot, err);
	if (param->type == PARAM_REGEX) {
		struct method_regex *pattern = slot;

		*pattern = (struct method_regex){ text, linesearch_new(text, 0, err) };
		return pattern->lines ? 0 : -(int)err->code;
	}
	((struct method_dataset *)slot)->name = text;
	return registry_check(ctx->registry, text, err);
}

static int find_provider(
	struct method_context *ctx, struct method_snapshot *snapshot, struct err *err)
{
	struct snapshot_name name = split_name(str_of(snapshot->full));
	struct provider *provider = name.has_dataset
					    ? registry_find(ctx->registry, name.dataset, err)
					    : registry_default(ctx->registry, err);

	if (!provider)
		return -(int)err->code;
	snapshot->provider = limit_provider(ctx, provider);
	return 0;
}

static int find_snapshot(
	struct method_context *ctx, struct method_snapshot *snapshot, struct err *err)
{
	struct provider *provider = snapshot->provider;
	struct snapshot_name name = split_name(str_of(snapshot->full));
	int r = provider->ops->resolve(provider, name.name.ptr, ctx->arena, &snapshot->is, err);

	if (r >= 0)
		snapshot->full = method_full_name(ctx, provider, snapshot->is.name);
	return r;
}

/*
 * Look up the datasets and snapshots of a request.  The caller must have checked the form of all
 * names.  All datasets are looked up before the first snapshot, so that the order of the parameters
 * does not decide which error is reported.
 */
static int find_places(
	struct method_context *ctx, const struct op *method, char *request, struct err *err)
{
	const struct param *params = method->params;
	int r = 0;

	for (const struct param *param = params; r >= 0 && param && param->name; param++) {
		void *slot = request + param->offset;
		struct method_dataset *dataset = slot;
		struct method_snapshot *snapshot = slot;

		if (param->type == PARAM_DATASET && dataset->name.ptr)
			r = find_dataset(ctx, dataset->name, dataset, err);
		else if (param->type == PARAM_SNAPSHOT && snapshot->full)
			r = find_provider(ctx, snapshot, err);
	}
	for (const struct param *param = params; r >= 0 && param && param->name; param++) {
		struct method_snapshot *snapshot = (void *)(request + param->offset);

		if (param->type == PARAM_SNAPSHOT && snapshot->full)
			r = find_snapshot(ctx, snapshot, err);
	}
	return r;
}

static void release_request(char *request, const struct op *method)
{
	for (const struct param *param = method->params; param && param->name; param++)
		if (param->type == PARAM_REGEX)
			linesearch_free(
				((struct method_regex *)(void *)(request + param->offset))->lines);
}

/* ---------------------------------------------------------- calling a method */

int method_call(struct method_context *ctx, const char *name, const struct jsonread *params,
	struct json *out, struct err *err)
{
	const struct op *method = method_find(name);
	struct method_context call = *ctx;
	struct timed_limit limit;
	struct json_mark mark = json_mark(out);
	int r;

	if (!method)
		return err_set(err, ERR_USAGE, "no method '%.*s'", SHOWN, name);
	if (params && jsonread_type(params) != JSONREAD_OBJECT)
		return err_set(err, ERR_INVALID, "the parameters must be an object");
	timed_limit_init(&limit, ctx->time_max ?: method_seconds(method->name) * WHEN_SECOND,
		ctx->cancelled, ctx->arg);
	call.limit = &limit;
	call.reply_max = ctx->reply_max ?: METHOD_REPLY_MAX;
	call.start = mark;
	char *request = arena_alloc(ctx->arena, method->request_size + 1);
	struct param_reader reader = {
		.name = method->name,
		.params = method->params,
		.arena = ctx->arena,
		.request = request,
		.lenient = true,
		.resolve = resolve_param,
		.arg = &call,
	};
	registry_begin(ctx->registry, &limit);
	r = param_read(&reader, params, err);
	if (r >= 0)
		r = find_places(&call, method, request, err);
	if (r >= 0)
		r = method->answer(&call, request, out, err);
	release_request(request, method);
	registry_end(ctx->registry);
	if (r < 0) {
		json_rewind(out, mark);
		return r;
	}
	return 0;
}

/* ----------------------------------------------------------------- snapshots */

const char *method_full_name(
	struct method_context *ctx, const struct provider *provider, const char *snapshot)
{
	return arena_printf(ctx->arena, "%s@%s", provider->dataset, snapshot);
}

struct dataset_names {
	struct method_context *ctx;
	const char **list;
	size_t n, cap;
};

static int note_name(void *arg, const struct provider_dataset *dataset, struct err *err)
{
	struct dataset_names *names = arg;

	mem_grow(&names->list, &names->cap, names->n);
	names->list[names->n++] = arena_strdup(names->ctx->arena, dataset->name);
	return timed_pass(names->ctx->limit, err);
}

int method_each_dataset(struct method_context *ctx, const struct method_dataset *dataset,
	int (*visit)(void *arg, struct provider *provider, struct err *err), void *arg,
	struct err *err)
{
	struct dataset_names names = { .ctx = ctx };
	struct method_dataset one = { 0 };
	int r;

	if (dataset->provider)
		return visit(arg, dataset->provider, err);
	r = registry_datasets(ctx->registry, note_name, &names, NULL, err);
	if (r >= 0 && names.n > 1)
		r = registry_gather(ctx->registry, err);
	for (size_t i = 0; r == 0 && i < names.n; i++) {
		r = find_dataset(ctx, str_of(names.list[i]), &one, err);
		if (r >= 0)
			r = visit(arg, one.provider, err);
	}
	free(names.list);
	return r;
}

struct view *method_open(const struct method_snapshot *snapshot, struct err *err)
{
	return snapshot->provider->ops->open(snapshot->provider, snapshot->is.name, err);
}

struct view *method_open_listed(
	struct provider *provider, const char *snapshot, bool *gone, struct err *err)
{
	struct view *view = provider->ops->open(provider, snapshot, err);

	*gone = !view && err->code == ERR_NOT_FOUND;
	if (*gone)
		*err = (struct err){ 0 };
	return view;
}

bool method_in_window(int64_t creation, int64_t after, int64_t before)
{
	int64_t second = when_seconds(creation);

	return second >= when_seconds(after) && second <= when_seconds(before);
}

void method_moment(
	struct json *out, const struct provider *provider, const char *snapshot, int64_t creation)
{
	owned(buf_release) struct buf full = BUF_INIT;

	buf_adds(&full, provider->dataset);
	buf_addc(&full, '@');
	buf_adds(&full, snapshot);
	json_str(out, "snapshot", (struct str){ full.data, full.len });
	json_int(out, "creation", when_seconds(creation));
}

/* Returns the size of all files of a snapshot, or -1 if the size is not known without a walk. */
static int64_t snapshot_size(
	struct provider *provider, const struct provider_snapshot *snapshot, struct err *err)
{
	owned(view_closep) struct view *view = provider->ops->open(provider, snapshot->name, err);
	owned(arena_release) struct arena arena = { 0 };
	struct entry root;

	if (!view || !view->sums || view->ops->stat(view, STR(""), &arena, &root, err) <= 0)
		return -1;
	return (int64_t)root.size;
}

void method_snapshot_members(
	struct json *out, struct provider *provider, const struct provider_snapshot *snapshot)
{
	owned(buf_release) struct buf full = BUF_INIT;
	struct err ignored = { 0 };
	int64_t size = snapshot->refer;

	buf_addf(&full, "%s@%s", provider->dataset, snapshot->name);
	json_str(out, "name", (struct str){ full.data, full.len });
	json_text(out, "dataset", provider->dataset);
	json_text(out, "snap", snapshot->name);
	json_int(out, "creation", when_seconds(snapshot->creation));
	json_number(out, "used", snapshot->used >= 0, snapshot->used);
	/* A damaged snapshot is listed, too, without its size. */
	if (size < 0)
		size = snapshot_size(provider, snapshot, &ignored);
	json_number(out, "refer", size >= 0, size);
	method_cause(out, snapshot);
}

void method_moments_add(struct method_context *ctx, struct method_moments *moments,
	const struct provider_snapshot *snapshot)
{
	mem_grow(&moments->list, &moments->cap, moments->n);
	struct method_moment *moment = &moments->list[moments->n++];

	moment->snapshot = arena_strdup(ctx->arena, snapshot->name);
	moment->creation = snapshot->creation;
}

void method_moment_json(struct json *out, const char *key, const struct provider *provider,
	const struct method_moment *moment)
{
	json_open(out, key, '{');
	method_moment(out, provider, moment->snapshot, moment->creation);
	json_close(out);
}

void method_cause(struct json *out, const struct provider_snapshot *snapshot)
{
	const struct node *node = snapshot->node;

	if (snapshot->kind)
		json_text(out, "kind", snapshot->kind);
	if (snapshot->message)
		json_text(out, "message", snapshot->message);
	if (snapshot->cleanup)
		json_text(out, "cleanup", snapshot->cleanup);
	if (!node)
		return;
	json_text(out, "kind", node_kind_name(node->kind));
	json_str(out, "message", node->message);
	if (node->n_command)
		json_strs(out, "command", node->command, node->n_command);
	if (node->has_status)
		json_int(out, "exit_status", node->exit_status);
}

struct provider *method_mainline(
	struct method_context *ctx, struct provider *provider, struct err *err)
{
	return provider->ops->mainline ? provider->ops->mainline(provider, ctx->arena, err)
				       : provider;
}

/* --------------------------------------------------------------------- paths */

const char *method_type_name(enum entry_type type)
{
	switch (type) {
	case ENTRY_FILE:
	case ENTRY_DIR:
	case ENTRY_LINK:
		return entry_type_name(type);
	case ENTRY_FIFO:
	case ENTRY_SOCKET:
	case ENTRY_CHAR:
	case ENTRY_BLOCK:
		return "other";
	default:
		return "unknown"; /* type 0: the attributes could not be read (dirview.h) */
	}
}

int method_stat(struct view *view, struct str path, struct arena *arena, enum entry_type type,
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

struct view *method_open_path(struct method_context *ctx, const struct method_snapshot *snapshot,
	struct str path, enum entry_type type, struct entry *entry, struct err *err)
{
	owned(view_closep) struct view *view = method_open(snapshot, err);

	if (!view || method_stat(view, path, ctx->arena, type, entry, err) < 0)
		return NULL;
	return take_ptr(&view);
}

int method_load(struct view *view, const struct entry *file, struct str path, uint64_t max,
	struct buf *out, struct err *err)
{
	return view->ops->read(view, file, path, 0, max, content_append, out, err);
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
	return samecontent_hash(view, file, path, max, hash, err);
}

void method_unread(struct json *out, uint64_t unread)
{
	if (unread)
		json_uint(out, "unreadable", unread);
}

/* --------------------------------------------------------------------- lists */

size_t method_room(const struct method_context *ctx, const struct json *out)
{
	size_t used = json_since(out, ctx->start).len + TAIL_ROOM;

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
	list->mark = json_mark(list->out);
	json_open(list->out, NULL, '{');
	return true;
}

int method_list_row_end(struct method_list *list)
{
	struct json *out = list->out;

	json_close(out);
	if (method_room(list->ctx, out)) {
		list->seen++;
		list->given++;
		return 0;
	}
	json_rewind(out, list->mark);
	list->truncated = true;
	/*
	 * A row that is too large even for an empty reply counts as seen.  The next call then
	 * begins after this row.
	 */
	if (!list->given)
		list->seen++;
	return 1;
}

void method_list_close(struct method_list *list)
{
	json_close(list->out);
}

int method_list_finish(struct method_list *list, int r, bool always)
{
	char cursor[24];

	if (r < 0)
		return r;
	method_list_close(list);
	if (always || list->truncated)
		json_bool(list->out, "truncated", list->truncated);
	if (list->truncated) {
		snprintf(cursor, sizeof(cursor), "%lld", (long long)list->seen);
		json_text(list->out, "cursor", cursor);
	}
	return 0;
}
