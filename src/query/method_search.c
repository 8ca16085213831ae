/*
 * method_search - methods that search lines, in one snapshot or in all.
 *
 * grep_history reads each content once, even if several paths had it.  All lines of one path that
 * have the same text are one match, wherever they are in the file.  The search keeps four tables:
 *
 *	lines      each (path, text) that was found, with its first and its last snapshot
 *	contents   each (path, content) of the snapshots, with the lines found in it
 *	by_hash    for each content that was read, one of the elements of contents
 *	current    the content of each path in the current snapshot
 *
 * If only changed paths are searched, the last snapshot of a line is recorded when a content with
 * the line is replaced, or at the end.  Otherwise the table 'current' is not used, and the last
 * snapshot of a line is recorded each time that the line is seen.
 */
#include <stdlib.h>

#include "core/mem.h"
#include "core/own.h"
#include "query/keytable.h"
#include "query/method_priv.h"
#include "query/search.h"
#include "query/viewdiff.h"
#include "query/walk.h"

/* Limits of grep_history: pairs of a content and a line, and bytes of lines and paths. */
#define FOUND_MAX ((size_t)1 << 20)
#define TEXT_MAX ((size_t)64 << 20)
#define HISTORY_LINE_MAX ((size_t)4 << 10) /* longer matching lines are cut */

/* -------------------------------------------------------------- content_grep */

struct content_grep {
	struct method_snapshot snapshot;
	struct method_regex pattern;
	struct param_path path;
	int64_t max_results;
	int64_t cursor;
};

static const struct param content_grep_params[] = {
	METHOD_SNAPSHOT(content_grep),
	PARAM(content_grep, pattern, REGEX, PARAM_REQUIRED, "a regular expression"),
	METHOD_PATH(content_grep, 0),
	PARAM(content_grep, max_results, INT, 0, "rows of one reply", .fallback = 100, .cap = 1000),
	METHOD_CURSOR(content_grep),
	{ 0 },
};

static int match_row(void *arg, const struct search_match *match, struct err *err)
{
	struct method_list *list = arg;

	if (!method_list_row(list))
		return list->truncated;
	json_str(list->out, "path", match->path);
	json_uint(list->out, "line", match->line);
	json_str(list->out, "text", match->text);
	return method_list_row_end(list);
}

static int run_content_grep(
	struct method_context *ctx, const void *request, struct json *out, struct err *err)
{
	const struct content_grep *req = request;
	owned(view_closep) struct view *view = method_open(&req->snapshot, err);
	struct method_list list;
	struct search search = {
		.view = view,
		.lines = req->pattern.lines,
		.text_only = true,
		.visit = match_row,
		.arg = &list,
	};
	struct entry entry;

	if (!view)
		return -(int)err->code;
	int r = walk_stat(view, req->path.path, ctx->arena, &entry, err);
	if (r >= 0 && entry.type != ENTRY_DIR)
		r = method_stat(view, req->path.path, ctx->arena, ENTRY_FILE, &entry, err);
	if (r < 0)
		return r;
	json_text(out, "snapshot", req->snapshot.full);
	json_str(out, "pattern", req->pattern.text);
	json_str(out, "base", req->path.given);
	method_list_open(&list, ctx, out, "matches", req->cursor, req->max_results);
	int found = method_list_finish(&list, search_run(&search, req->path.path, err), true);
	if (found >= 0)
		method_unread(out, view->unread);
	return found;
}

METHOD(content_grep, content_grep, "the lines of a snapshot that match a regular expression",
	"snapshot:text pattern:text base:text matches:[{path:text "
	"line:int text:text}] truncated:bool cursor?:text " METHOD_UNREAD_SHAPE);

/* -------------------------------------------------------------- grep_history */

struct grep_history {
	struct method_dataset dataset;
	struct method_regex pattern;
	struct param_path path;
	int64_t after, before;
	int64_t max_results;
};

static const struct param grep_history_params[] = {
	METHOD_DATASET(grep_history, PARAM_REQUIRED),
	PARAM(grep_history, pattern, REGEX, PARAM_REQUIRED, "a regular expression"),
	METHOD_PATH(grep_history, 0),
	METHOD_WINDOW(grep_history),
	PARAM(grep_history, max_results, INT, 0, "rows of one reply", .fallback = 1000,
		.cap = 10000),
	{ 0 },
};

struct line {
	struct str path, text; /* path and text lie in the arena */
	uint64_t number;       /* the line's number in the first content that has it */
	uint32_t first, last;  /* indices of moments */
};

struct finding {
	uint32_t line;   /* index of the line */
	uint64_t number; /* the line's number in this content */
};

/*
 * The lines found in one content of one path: the elements found[start] to found[start + count -
 * 1].
 */
struct content {
	struct hash hash;
	size_t start, count;
};

#define NOTHING UINT32_MAX /* instead of the number of a content: the path does not exist */

struct past {
	struct method_context *ctx;
	const struct grep_history *req;
	struct search search;
	struct arena arena; /* memory for the texts of the lines */
	struct method_moments moments;
	struct line *lines;
	size_t n_lines, cap_lines;
	struct content *contents;
	size_t n_contents, cap_contents;
	struct finding *found;
	size_t n_found, cap_found;
	struct keytable by_line, by_content, by_hash, current;
	int64_t begun;
	uint64_t searched; /* number of contents that were read */
	uint64_t unread;   /* files and directories that could not be read, in all views so far */
	bool truncated;
};

static uint32_t current_moment(const struct past *past)
{
	return (uint32_t)(past->moments.n - 1);
}

/* Record that a content of path has a line with this text, in the current snapshot. */
static void note_line(struct past *past, struct str path, struct str text, uint64_t number)
{
	bool made;

	if (text.len > HISTORY_LINE_MAX)
		text.len = HISTORY_LINE_MAX;
	uint64_t key = entry_path_hash(entry_path_hash(ENTRY_PATH_ROOT, path), text);
	bool full = past->n_lines >= (size_t)past->req->max_results ||
		    past->arena.total > TEXT_MAX || past->n_found >= FOUND_MAX;
	/*
	 * When there are too many lines or bytes, new lines are left out.  Known lines are still
	 * recorded, since their last snapshot may come later.
	 */
	if (full && (past->n_found >= FOUND_MAX || !keytable_has(&past->by_line, key))) {
		past->truncated = true;
		return;
	}
	uint32_t line = *keytable_at(&past->by_line, key, (uint32_t)past->n_lines, &made);
	if (made) {
		mem_grow(&past->lines, &past->cap_lines, past->n_lines);
		past->lines[past->n_lines++] = (struct line){
			.path = arena_str(&past->arena, path),
			.text = arena_str(&past->arena, text),
			.number = number,
			.first = current_moment(past),
		};
	}
	mem_grow(&past->found, &past->cap_found, past->n_found);
	past->found[past->n_found++] = (struct finding){ line, number };
}

static int note_match(void *arg, const struct search_match *match, struct err *err)
{
	note_line(arg, match->path, match->text, match->line);
	return 0;
}

/*
 * Record that path has the lines of a content.  The content was searched before, for another path.
 */
static void copy_findings(struct past *past, struct str path, struct content from)
{
	for (size_t i = 0; i < from.count; i++) {
		struct finding finding = past->found[from.start + i];

		note_line(past, path, past->lines[finding.line].text, finding.number);
	}
}

/* Find the lines of a content that is new for path.  The content is read at most once. */
static int add_content(
	struct past *past, struct str path, const struct entry *entry, struct err *err)
{
	size_t start = past->n_found;
	bool made;
	uint32_t same = *keytable_at(
		&past->by_hash, hash_prefix(&entry->hash), (uint32_t)past->n_contents, &made);
	int r = 0;

	if (!made && hash_eq(&past->contents[same].hash, &entry->hash)) {
		copy_findings(past, path, past->contents[same]);
	} else {
		uint64_t read = past->search.read;

		r = search_file(&past->search, path, entry, err);
		/* The size of a brief entry is not known.  An empty file counts as no content. */
		past->searched += !entry->brief || past->search.read > read;
	}
	mem_grow(&past->contents, &past->cap_contents, past->n_contents);
	past->contents[past->n_contents++] =
		(struct content){ entry->hash, start, past->n_found - start };
	return r;
}

/* Record a moment as the time when the lines of a content were last seen. */
static void note_last_seen(struct past *past, uint32_t content, uint32_t moment)
{
	if (content == NOTHING)
		return;
	for (size_t i = 0; i < past->contents[content].count; i++)
		past->lines[past->found[past->contents[content].start + i].line].last = moment;
}

/*
 * Set *content to the index of the content that path has in the current snapshot.  If path did not
 * have this content before, find the lines in it.  entry is NULL if the snapshot does not have
 * path.
 */
static int find_content(struct past *past, struct str path, const struct entry *entry,
	uint32_t *content, struct err *err)
{
	bool made;

	*content = NOTHING;
	if (!entry || !search_wants(entry))
		return 0;
	*content = *keytable_at(&past->by_content, entry_path_hash(hash_prefix(&entry->hash), path),
		(uint32_t)past->n_contents, &made);
	int r = made ? add_content(past, path, entry, err) : 0;
	return r < 0 ? r : 0;
}

/*
 * Record the content that path has in the current snapshot.  If the content has changed, record
 * that the old content was last seen in the previous snapshot.
 */
static int note_content(
	struct past *past, struct str path, const struct entry *entry, struct err *err)
{
	uint32_t content;
	bool made;
	int r = find_content(past, path, entry, &content, err);
	uint32_t *current =
		keytable_at(&past->current, entry_path_hash(ENTRY_PATH_ROOT, path), NOTHING, &made);

	if (*current != content && past->moments.n > 1)
		note_last_seen(past, *current, current_moment(past) - 1);
	*current = content;
	return r;
}

static int note_entry(void *arg, struct str path, const struct entry *entry, struct err *err)
{
	return note_content(arg, path, entry, err);
}

static int note_change(void *arg, const struct treediff_change *change, struct err *err)
{
	return note_content(arg, change->path, change->b, err);
}

/* If the entry is a file, record that its lines are in the current snapshot. */
static int see_entry(void *arg, struct str path, const struct entry *entry, struct err *err)
{
	struct past *past = arg;
	uint32_t content;
	int r = find_content(past, path, entry, &content, err);

	note_last_seen(past, content, current_moment(past));
	return r;
}

static int walk_snapshot(struct past *past, walk_visit visit, struct err *err)
{
	struct err none = { 0 };
	int r = walk_tree(past->search.view, past->req->path.path, visit, past, &none);

	/* A missing path is no error, since a later snapshot may have it. */
	if (r < 0 && none.code != ERR_NOT_FOUND) {
		*err = none;
		return r;
	}
	return 0;
}

/*
 * Search the snapshot that was opened last.  If the provider can compare snapshots fast, search the
 * whole snapshot only if it is the first one, and otherwise only the paths that have changed since
 * the previous snapshot.  Without a fast comparison, always search the whole snapshot, since
 * comparing would list it twice.
 */
static int search_changes(
	struct past *past, const struct provider_snapshot *snapshot, struct err *err)
{
	struct provider *provider = past->req->dataset.provider;
	struct treediff_options options = { &past->req->path.path, 1, false };

	if (!provider->ops->diff) {
		past->search.view->need = VIEW_BRIEF;
		past->search.view->begun = past->begun;
		return walk_snapshot(past, see_entry, err);
	}
	if (past->moments.n == 1)
		return walk_snapshot(past, note_entry, err);
	return viewdiff_snapshots(provider, past->moments.list[past->moments.n - 2].snapshot,
		snapshot->name, &options, note_change, past, err);
}

static int search_snapshot(void *arg, const struct provider_snapshot *snapshot, struct err *err)
{
	struct past *past = arg;
	struct provider *provider = past->req->dataset.provider;

	if (!method_in_window(snapshot->creation, past->req->after, past->req->before))
		return 0;
	bool gone;
	owned(view_closep) struct view *view =
		method_open_listed(provider, snapshot->name, &gone, err);
	if (!view)
		return gone ? 0 : -(int)err->code;
	past->search.view = view;
	provider->unread = 0;
	method_moments_add(past->ctx, &past->moments, snapshot);
	int r = search_changes(past, snapshot, err);
	past->unread += view->unread + provider->unread;
	return r;
}

static void free_past(struct past *past)
{
	arena_release(&past->arena);
	free(past->moments.list);
	free(past->lines);
	free(past->contents);
	free(past->found);
	keytable_release(&past->by_line);
	keytable_release(&past->by_content);
	keytable_release(&past->by_hash);
	keytable_release(&past->current);
}

static void write_lines(struct past *past, struct json *out)
{
	const struct provider *provider = past->req->dataset.provider;
	const struct method_moment *moments = past->moments.list;
	struct method_list list;

	method_list_open(&list, past->ctx, out, "matches", 0, 0);
	for (size_t i = 0; i < past->n_lines && method_list_row(&list); i++) {
		const struct line *line = &past->lines[i];

		json_str(out, "path", line->path);
		json_uint(out, "line", line->number);
		json_str(out, "text", line->text);
		method_moment_json(out, "first", provider, &moments[line->first]);
		method_moment_json(out, "last", provider, &moments[line->last]);
		(void)method_list_row_end(&list);
	}
	method_list_close(&list);
	past->truncated |= list.truncated;
}

static int run_grep_history(
	struct method_context *ctx, const void *request, struct json *out, struct err *err)
{
	const struct grep_history *req = request;
	struct provider *provider = req->dataset.provider;
	owned(free_past) struct past past = { .ctx = ctx, .req = req };

	past.begun = when_coarse();
	past.search = (struct search){
		.lines = req->pattern.lines, .text_only = true, .visit = note_match, .arg = &past
	};
	int r = provider->ops->snapshots(provider, search_snapshot, &past, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < past.current.cap; i++)
		if (past.current.slots[i].key)
			note_last_seen(&past, past.current.slots[i].value, current_moment(&past));
	json_str(out, "dataset", req->dataset.name);
	json_str(out, "pattern", req->pattern.text);
	json_str(out, "base", req->path.given);
	write_lines(&past, out);
	json_uint(out, "searched_snapshots", past.moments.n);
	json_uint(out, "searched_contents", past.searched);
	json_bool(out, "truncated", past.truncated);
	method_unread(out, past.unread);
	return 0;
}

METHOD(grep_history, grep_history,
	"the lines of all snapshots that match, each with the time that it was there",
	"dataset:text pattern:text base:text matches:[{path:text "
	"line:int text:text first:" METHOD_MOMENT_SHAPE " last:" METHOD_MOMENT_SHAPE
	"}] searched_snapshots:int searched_contents:int truncated:bool " METHOD_UNREAD_SHAPE);
