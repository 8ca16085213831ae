/*
 * method_change - methods that find when a path or a condition changed, and which paths were
 * deleted.
 */
#include <stdlib.h>

#include "core/mem.h"
#include "core/own.h"
#include "query/lineage.h"
#include "query/method_priv.h"
#include "query/viewdiff.h"

/*
 * The request of all methods in this file: a window of time, and a dataset or a path in a dataset.
 */
struct changed {
	struct method_dataset dataset;
	struct param_path path;
	int64_t after, before;
	int64_t max_bytes;
	int64_t max_results;
	int64_t cursor;
	const struct jsonread *predicate;
	bool lines;
};

#define CHANGED_PARAMS METHOD_DATASET(changed, PARAM_REQUIRED), METHOD_PATH(changed, PARAM_REQUIRED)

static void echo_path(const struct changed *req, struct json *out)
{
	json_str(out, "dataset", req->dataset.name);
	json_str(out, "path", req->path.given);
}

/* ---------------------------------------------------------------- blame_path */

static const struct param blame_path_params[] = {
	CHANGED_PARAMS,
	PARAM(changed, lines, FLAG, 0, "also which snapshot each line comes from"),
	{ 0 },
};

struct blaming {
	struct method_context *ctx;
	struct provider *provider;
	struct provider_snapshot last; /* the last change; name NULL: the path never existed */
	bool present;
	char op;
};

static int note_change(void *arg, const struct lineage_version *version, struct err *err)
{
	struct blaming *blaming = arg;

	blaming->op = !version->present ? '-' : version->previous ? 'M' : '+';
	blaming->present = version->present;
	blaming->last.name = arena_strdup(blaming->ctx->arena, version->snapshot->name);
	return 0;
}

struct blamed_lines {
	struct method_list list;
	struct provider *provider;
};

static int line_row(void *arg, const struct lineage_line *line, struct err *err)
{
	struct blamed_lines *lines = arg;
	struct method_list *list = &lines->list;

	if (!method_list_row(list))
		return list->truncated;
	json_uint(list->out, "line", line->line);
	method_moment(list->out, lines->provider, line->snapshot, line->creation);
	json_str(list->out, "text", line->text);
	return method_list_row_end(list);
}

static void last_json(const struct blaming *blaming, struct json *out)
{
	if (!blaming->last.name) {
		json_none(out, "last");
		return;
	}
	json_open(out, "last", '{');
	method_moment(out, blaming->provider, blaming->last.name, blaming->last.creation);
	json_str(out, "op", (struct str){ &blaming->op, 1 });
	method_cause(out, &blaming->last);
	json_close(out);
}

static int run_blame_path(
	struct method_context *ctx, const void *request, struct json *out, struct err *err)
{
	const struct changed *req = request;
	struct provider *line = method_mainline(ctx, req->dataset.provider, err);
	struct blaming blaming = { .ctx = ctx, .provider = line };
	struct blamed_lines lines = { .provider = line };

	if (!line)
		return -(int)err->code;
	int r = lineage_run(line, req->path.path, note_change, &blaming, err);
	if (r >= 0 && blaming.last.name)
		r = line->ops->resolve(line, blaming.last.name, ctx->arena, &blaming.last, err);
	if (r < 0)
		return r;
	echo_path(req, out);
	json_bool(out, "present", blaming.present);
	last_json(&blaming, out);
	if (!req->lines)
		return 0;
	method_list_open(&lines.list, ctx, out, "lines", 0, 0);
	if (blaming.present)
		r = lineage_blame(line, req->path.path, line_row, &lines, err);
	if (r < 0)
		return r;
	method_list_close(&lines.list);
	json_bool(out, "truncated", lines.list.truncated);
	return 0;
}

METHOD(blame_path, changed, "the snapshot that last changed a path, and each of its lines",
	"dataset:text path:text present:bool last:{snapshot:text "
	"creation:int op:text " METHOD_CAUSE_SHAPE
	"}? lines?:[{line:int snapshot:text creation:int text:text}] "
	"truncated?:bool");

/* ------------------------------------------------------------- bisect_change */

static const struct param bisect_change_params[] = {
	CHANGED_PARAMS,
	PARAM(changed, predicate, OBJECT, PARAM_REQUIRED,
		"what to look for: an object with kind and its value"),
	METHOD_MAX_BYTES(changed, max_bytes),
	{ 0 },
};

enum predicate_kind { EXISTS, CONTAINS, SHA256_EQUALS, SIZE_AT_LEAST };

struct predicate {
	enum predicate_kind kind;
	struct str needle;
	struct hash hash;
	int64_t size;
};

static const char *const predicate_names[] = {
	[EXISTS] = "exists",
	[CONTAINS] = "contains",
	[SHA256_EQUALS] = "sha256_equals",
	[SIZE_AT_LEAST] = "size_at_least",
};

static int read_hash(struct str text, struct hash *hash, struct err *err)
{
	char digits[HASH_HEX] = "";

	/* Upper-case digits are accepted, too. */
	if (text.len == HASH_HEX - 1)
		for (size_t i = 0; i < text.len; i++)
			digits[i] =
				(char)(text.ptr[i] >= 'A' && text.ptr[i] <= 'F' ? text.ptr[i] | 0x20
										: text.ptr[i]);
	return hash_parse(digits, hash)
		       ? 0
		       : err_set(err, ERR_INVALID, "'hash' must be 64 hexadecimal digits");
}

static int read_predicate(const struct jsonread *from, struct predicate *to, struct err *err)
{
	struct str kind = STR(""), text;
	size_t at = 0;

	(void)jsonread_get_str(from, "kind", &kind);
	while (at < sizeof(predicate_names) / sizeof(predicate_names[0]) &&
		!str_eq(kind, str_of(predicate_names[at])))
		at++;
	to->kind = (enum predicate_kind)at;
	switch (to->kind) {
	case EXISTS:
		return 0;
	case CONTAINS:
		if (jsonread_get_str(from, "needle", &to->needle) != JSONREAD_FOUND)
			return err_set(err, ERR_INVALID, "contains needs a string 'needle'");
		return 0;
	case SHA256_EQUALS:
		if (jsonread_get_str(from, "hash", &text) != JSONREAD_FOUND)
			return err_set(err, ERR_INVALID, "sha256_equals needs a string 'hash'");
		return read_hash(text, &to->hash, err);
	case SIZE_AT_LEAST:
		if (jsonread_get_int(from, "size", &to->size) != JSONREAD_FOUND || to->size <= 0)
			return err_set(
				err, ERR_INVALID, "size_at_least needs a positive integer 'size'");
		return 0;
	}
	return err_set(err, ERR_INVALID,
		"the predicate's 'kind' must be exists, contains, sha256_equals or size_at_least");
}

static void predicate_json(struct json *out, const struct predicate *predicate)
{
	char hex[HASH_HEX];

	json_open(out, "predicate", '{');
	json_text(out, "kind", predicate_names[predicate->kind]);
	if (predicate->kind == CONTAINS)
		json_str(out, "needle", predicate->needle);
	if (predicate->kind == SHA256_EQUALS)
		json_text(out, "hash", hash_hex(&predicate->hash, hex));
	if (predicate->kind == SIZE_AT_LEAST)
		json_int(out, "size", predicate->size);
	json_close(out);
}

struct bisection {
	struct method_context *ctx;
	const struct changed *req;
	struct provider *line;
	struct predicate predicate;
	struct method_moments moments;
	int64_t evaluated;
};

static int holds_for(
	struct bisection *bisection, struct view *view, const struct entry *file, struct err *err)
{
	const struct predicate *predicate = &bisection->predicate;
	struct str path = bisection->req->path.path;
	owned(buf_release) struct buf content = BUF_INIT;
	struct hash hash;
	int r = 0;

	switch (predicate->kind) {
	case EXISTS:
		return 1;
	case SIZE_AT_LEAST:
		return file->type == ENTRY_FILE && file->size >= (uint64_t)predicate->size;
	case CONTAINS:
		if (file->type == ENTRY_FILE && file->content != ENTRY_UNREAD)
			r = method_load(view, file, path, (uint64_t)bisection->req->max_bytes,
				&content, err);
		return r < 0 ? r
			     : memmem(content.data ?: "", content.len, predicate->needle.ptr,
				       predicate->needle.len) != NULL;
	case SHA256_EQUALS:
		if (file->type != ENTRY_FILE || file->content == ENTRY_UNREAD)
			return 0;
		r = method_sha256(view, file, path, UINT64_MAX, &hash, err);
		return r < 0 ? r : hash_eq(&hash, &predicate->hash);
	}
	return 0;
}

#define GONE 2 /* result of evaluate for a snapshot that was deleted after it was listed */

static void drop_moment(struct method_moments *moments, size_t index)
{
	memmove(&moments->list[index], &moments->list[index + 1],
		(--moments->n - index) * sizeof(*moments->list));
}

/*
 * Evaluate the predicate in the snapshot with this index.  Returns 1 if the predicate is true, 0 if
 * not, or a negative error.  If the snapshot was deleted meanwhile, removes it from the list and
 * returns GONE.  The next snapshot then has this index.
 */
static int evaluate(struct bisection *bisection, size_t index, struct err *err)
{
	bool gone;
	owned(view_closep) struct view *view = method_open_listed(
		bisection->line, bisection->moments.list[index].snapshot, &gone, err);
	owned(arena_release) struct arena arena = { 0 };
	struct entry entry;

	if (gone)
		drop_moment(&bisection->moments, index);
	if (!view)
		return gone ? GONE : -(int)err->code;
	bisection->evaluated++;
	int r = view->ops->stat(view, bisection->req->path.path, &arena, &entry, err);
	return r <= 0 ? r : holds_for(bisection, view, &entry, err);
}

static int collect_moment(void *arg, const struct provider_snapshot *snapshot, struct err *err)
{
	struct bisection *bisection = arg;

	method_moments_add(bisection->ctx, &bisection->moments, snapshot);
	return 0;
}

static void transition_json(
	struct bisection *bisection, size_t to, bool from_value, struct json *out)
{
	const struct method_moment *a = &bisection->moments.list[to - 1];
	const struct method_moment *b = &bisection->moments.list[to];

	json_open(out, "transition", '{');
	json_text(out, "from_snapshot",
		method_full_name(bisection->ctx, bisection->line, a->snapshot));
	json_int(out, "from_creation", when_seconds(a->creation));
	json_bool(out, "from_value", from_value);
	json_text(
		out, "to_snapshot", method_full_name(bisection->ctx, bisection->line, b->snapshot));
	json_int(out, "to_creation", when_seconds(b->creation));
	json_bool(out, "to_value", !from_value);
	json_int(out, "transition_seconds", when_seconds(b->creation) - when_seconds(a->creation));
	json_close(out);
}

/*
 * Set *to to the index of a snapshot whose value differs from the value of the snapshot before it.
 * The first snapshot must have the value 'earliest', and the last snapshot must have the other
 * value.
 */
static int find_transition(struct bisection *bisection, int earliest, size_t *to, struct err *err)
{
	size_t low = 0, high = bisection->moments.n - 1;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		int r = evaluate(bisection, middle, err);

		if (r < 0)
			return r;
		if (r == earliest)
			low = middle;
		else if (r == GONE)
			high--;
		else
			high = middle;
	}
	*to = high;
	return 0;
}

/* Evaluate the predicate in the first and in the last snapshot that still exist. */
static int evaluate_ends(struct bisection *bisection, int *earliest, int *latest, struct err *err)
{
	const struct method_moments *moments = &bisection->moments;

	*earliest = GONE;
	while (moments->n && *earliest == GONE)
		*earliest = evaluate(bisection, 0, err);
	*latest = GONE;
	while (moments->n > 1 && *earliest >= 0 && *latest == GONE)
		*latest = evaluate(bisection, moments->n - 1, err);
	if (*latest == GONE)
		*latest = *earliest;
	return *earliest < 0 || *latest < 0 ? -(int)err->code : 0;
}

static int write_bisection(struct bisection *bisection, struct json *out, struct err *err)
{
	size_t to = 0;
	int earliest, latest;
	int r = evaluate_ends(bisection, &earliest, &latest, err);

	if (r >= 0 && earliest != latest)
		r = find_transition(bisection, earliest, &to, err);
	if (r < 0)
		return r;
	size_t n = bisection->moments.n;
	if (to)
		transition_json(bisection, to, earliest, out);
	else
		json_none(out, "transition");
	json_int(out, "evaluated_snapshots", bisection->evaluated);
	json_uint(out, "total_snapshots", n);
	if (n) {
		json_bool(out, "earliest_value", earliest);
		json_bool(out, "latest_value", latest);
	}
	if (!to)
		json_text(out, "reason",
			n ? "the first and the last snapshot have the same value"
			  : "there are no snapshots");
	return 0;
}

static int run_bisect_change(
	struct method_context *ctx, const void *request, struct json *out, struct err *err)
{
	const struct changed *req = request;
	struct bisection bisection = { .ctx = ctx, .req = req };
	int r = read_predicate(req->predicate, &bisection.predicate, err);

	if (r < 0)
		return r;
	bisection.line = method_mainline(ctx, req->dataset.provider, err);
	if (!bisection.line)
		return -(int)err->code;
	r = bisection.line->ops->snapshots(bisection.line, collect_moment, &bisection, err);
	if (r >= 0) {
		echo_path(req, out);
		predicate_json(out, &bisection.predicate);
		r = write_bisection(&bisection, out, err);
	}
	free(bisection.moments.list);
	return r;
}

METHOD(bisect_change, changed, "the two snapshots between which a condition changed",
	"dataset:text path:text predicate:{kind:text needle?:text "
	"hash?:text size?:int} transition:{from_snapshot:text "
	"from_creation:int from_value:bool to_snapshot:text "
	"to_creation:int to_value:bool transition_seconds:int}? "
	"evaluated_snapshots:int total_snapshots:int "
	"earliest_value?:bool latest_value?:bool reason?:text");

/* -------------------------------------------------------------- find_deleted */

static const struct param find_deleted_params[] = {
	METHOD_DATASET(changed, PARAM_REQUIRED),
	METHOD_WINDOW(changed),
	PARAM(changed, max_results, INT, 0, "rows of one reply", .fallback = 1000, .cap = 10000),
	METHOD_CURSOR(changed),
	{ 0 },
};

/* The first and the last snapshot of a window.  They may be the same, or both NULL. */
struct ends {
	struct method_context *ctx;
	const struct changed *req;
	struct method_moments moments; /* snapshots in the window */
	const char *from, *to;         /* NULL: the window has no snapshot */
};

static int note_end(void *arg, const struct provider_snapshot *snapshot, struct err *err)
{
	struct ends *ends = arg;

	if (!method_in_window(snapshot->creation, ends->req->after, ends->req->before))
		return 0;
	method_moments_add(ends->ctx, &ends->moments, snapshot);
	return 0;
}

/* Whether a snapshot still exists.  Returns 1, 0 or a negative error. */
static int is_there(struct provider *line, const struct method_moment *moment, struct err *err)
{
	bool gone;
	owned(view_closep) struct view *view =
		method_open_listed(line, moment->snapshot, &gone, err);

	return view ? 1 : gone ? 0 : -(int)err->code;
}

/*
 * Set *name to the oldest or the newest of the listed snapshots that still exist.  If none of them
 * exists any more, *name does not change.
 */
static int find_end(struct provider *line, const struct method_moments *moments, bool newest,
	const char **name, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < moments->n; i++) {
		const struct method_moment *moment =
			&moments->list[newest ? moments->n - 1 - i : i];

		r = is_there(line, moment, err);
		if (r > 0)
			*name = moment->snapshot;
	}
	return r < 0 ? r : 0;
}

static int find_ends(struct provider *line, struct ends *ends, struct err *err)
{
	int r = line->ops->snapshots(line, note_end, ends, err);

	if (r >= 0)
		r = find_end(line, &ends->moments, false, &ends->from, err);
	if (r >= 0)
		r = find_end(line, &ends->moments, true, &ends->to, err);
	free(ends->moments.list);
	return r;
}

static int deleted_row(void *arg, const struct treediff_change *change, struct err *err)
{
	struct method_list *list = arg;

	if (change->op != '-')
		return 0;
	if (!method_list_row(list))
		return list->truncated;
	json_str(list->out, "path", change->path);
	json_text(list->out, "type", method_type_name(change->a->type));
	return method_list_row_end(list);
}

static int run_find_deleted(
	struct method_context *ctx, const void *request, struct json *out, struct err *err)
{
	const struct changed *req = request;
	struct ends ends = { .ctx = ctx, .req = req };
	struct treediff_options options = { .renames = true };
	struct provider *line = method_mainline(ctx, req->dataset.provider, err);
	struct method_list list;

	if (!line)
		return -(int)err->code;
	int r = find_ends(line, &ends, err);
	if (r < 0)
		return r;
	json_str(out, "dataset", req->dataset.name);
	json_text(out, "from_snapshot", ends.from ? method_full_name(ctx, line, ends.from) : NULL);
	json_text(out, "to_snapshot", ends.to ? method_full_name(ctx, line, ends.to) : NULL);
	method_list_open(&list, ctx, out, "deleted", req->cursor, req->max_results);
	if (ends.from != ends.to)
		r = viewdiff_snapshots(line, ends.from, ends.to, &options, deleted_row, &list, err);
	r = method_list_finish(&list, r, true);
	if (r >= 0)
		method_unread(out, line->unread);
	return r;
}

METHOD(find_deleted, changed,
	"paths that were there at the beginning of a span of time and not at its end",
	"dataset:text from_snapshot:text? to_snapshot:text? "
	"deleted:[{path:text type:text}] truncated:bool cursor?:text " METHOD_UNREAD_SHAPE);
