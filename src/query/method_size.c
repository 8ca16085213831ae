/* method_size - methods that add up the sizes of files. */
#include <stdlib.h>

#include "core/mem.h"
#include "core/own.h"
#include "query/method_priv.h"
#include "query/walk.h"

/* The request of both methods: a directory in a snapshot, and the number of entries to return. */
struct sized {
	struct method_snapshot snapshot;
	struct param_path path;
	int64_t max;
	int64_t n;
};

#define SIZED_PARAMS METHOD_SNAPSHOT(sized), METHOD_PATH(sized, PARAM_REQUIRED)

static void echo_sized(const struct sized *req, struct json *out)
{
	json_text(out, "snapshot", req->snapshot.full);
	json_str(out, "path", req->path.given);
}

/* ------------------------------------------------------------ size_breakdown */

/*
 * Returns the bytes that an entry adds to a sum.  All sizes are apparent sizes.  A regular file
 * adds its size.  If the view has sums, a directory adds the bytes of all regular files below it,
 * and need not be walked.  Otherwise a directory adds nothing, since the files below it are
 * counted.
 */
static uint64_t bytes_of(const struct view *view, const struct entry *entry)
{
	bool counts = entry->type == ENTRY_FILE || (entry->type == ENTRY_DIR && view->sums);

	return counts ? entry->size : 0;
}

static const struct param size_breakdown_params[] = {
	SIZED_PARAMS,
	PARAM_AS("max_entries", sized, max, INT, 0, "entries that are looked at",
		.fallback = 100000, .cap = 1000000),
	{ 0 },
};

struct breakdown {
	struct method_list list;
	struct view *view;
	size_t base; /* length of the path whose entries are listed */
	int64_t max, walked;
	uint64_t total;
	bool cut;
	/* The current child.  Its row is written when the next child comes. */
	struct buf name;
	enum entry_type type; /* type of the child; 0: no child has come yet */
	uint64_t bytes;
};

static int child_row(struct breakdown *down)
{
	struct json *out = down->list.out;

	if (!down->type)
		return 0;
	if (!method_list_row(&down->list))
		return down->list.truncated;
	json_str(out, "name", (struct str){ down->name.data, down->name.len });
	json_text(out, "type", method_type_name(down->type));
	json_uint(out, "bytes", down->bytes);
	json_bool(out, "is_truncated", down->cut);
	return method_list_row_end(&down->list);
}

static int add_entry(void *arg, struct str path, const struct entry *entry, struct err *err)
{
	struct breakdown *down = arg;
	struct str below = { path.ptr + down->base, path.len - down->base };
	bool child;

	if (below.len && below.ptr[0] == '/')
		below = (struct str){ below.ptr + 1, below.len - 1 };
	child = !memchr(below.ptr, '/', below.len);
	if (down->walked == down->max) {
		down->list.truncated = true;
		down->cut = !child;
		return 1;
	}
	down->walked++;
	if (child) {
		if (child_row(down))
			return 1;
		buf_clear(&down->name);
		buf_add(&down->name, entry->name.ptr, entry->name.len);
		down->type = entry->type;
		down->bytes = 0;
	}
	down->bytes += bytes_of(down->view, entry);
	down->total += bytes_of(down->view, entry);
	return entry->type == ENTRY_DIR && down->view->sums ? WALK_PRUNE : 0;
}

/*
 * Insert the total before the rows, which begin at the mark.  The total is known only after the
 * rows were written.
 */
static void write_total(struct json *out, struct json_mark mark, uint64_t total)
{
	struct str rows = json_since(out, mark);
	owned_mem char *copy = mem_dup(rows.ptr, rows.len);

	json_rewind(out, mark);
	json_uint(out, "total_bytes", total);
	/* json_members writes the comma. */
	json_members(out, (struct str){ copy + 1, rows.len - 1 });
}

static int run_size_breakdown(
	struct method_context *ctx, const void *request, struct json *out, struct err *err)
{
	const struct sized *req = request;
	struct entry dir;
	owned(view_closep) struct view *view =
		method_open_path(ctx, &req->snapshot, req->path.path, ENTRY_DIR, &dir, err);
	struct breakdown down = {
		.view = view, .base = req->path.path.len, .max = req->max, .name = BUF_INIT
	};

	if (!view)
		return -(int)err->code;
	echo_sized(req, out);
	struct json_mark rows = json_mark(out);
	method_list_open(&down.list, ctx, out, "entries", 0, 0);
	view->need = VIEW_NO_HASH;
	int r = walk_tree(view, req->path.path, add_entry, &down, err);
	bool truncated = down.list.truncated;
	if (r >= 0) {
		down.list.truncated = false; /* the last child that was counted still gets a row */
		(void)child_row(&down);
	}
	buf_release(&down.name);
	if (r < 0)
		return r;
	method_list_close(&down.list);
	write_total(out, rows, down.total);
	json_int(out, "walked_entries", down.walked);
	json_bool(out, "truncated", truncated || down.list.truncated);
	method_unread(out, view->unread);
	return 0;
}

METHOD(size_breakdown, sized, "how many bytes each entry of a directory takes",
	"snapshot:text path:text total_bytes:int entries:[{name:text type:text "
	"bytes:int is_truncated:bool}] "
	"walked_entries:int truncated:bool " METHOD_UNREAD_SHAPE);

/* ------------------------------------------------------------- top_consumers */

static const struct param top_consumers_params[] = {
	SIZED_PARAMS,
	PARAM(sized, n, INT, 0, "how many of the largest", .fallback = 20, .cap = 1000),
	PARAM_AS("max_entries", sized, max, INT, 0, "entries that are looked at",
		.fallback = 100000, .cap = 1000000),
	{ 0 },
};

struct consumer {
	char *path; /* owned */
	size_t len;
	enum entry_type type;
	uint64_t bytes;
};

struct top {
	struct view *view;
	struct consumer *list; /* the largest consumer comes first */
	size_t n, max;
	int64_t walked, max_walked;
	bool truncated;
	/*
	 * If the view has no sums: the directories above the current entry, with the outermost
	 * first.
	 */
	struct consumer *open;
	size_t n_open, cap_open;
};

/* Keep the consumer if it is among the largest.  Its path is taken over. */
static void keep_if_large(struct top *top, struct consumer *consumer)
{
	size_t at = top->n;

	while (at > 0 && top->list[at - 1].bytes < consumer->bytes)
		at--;
	if (at == top->max) {
		free(consumer->path);
		return;
	}
	if (top->n == top->max)
		free(top->list[--top->n].path);
	memmove(top->list + at + 1, top->list + at, (top->n - at) * sizeof(*top->list));
	top->list[at] = *consumer;
	top->n++;
}

static void leave_dirs(struct top *top, struct str path)
{
	while (top->n_open) {
		struct consumer *dir = &top->open[top->n_open - 1];

		if (path.len > dir->len && path.ptr[dir->len] == '/' &&
			!memcmp(path.ptr, dir->path, dir->len))
			return;
		top->n_open--;
		keep_if_large(top, dir);
	}
}

static int weigh_entry(void *arg, struct str path, const struct entry *entry, struct err *err)
{
	struct top *top = arg;
	uint64_t bytes = bytes_of(top->view, entry);

	if (top->walked == top->max_walked) {
		top->truncated = true;
		return 1;
	}
	top->walked++;
	leave_dirs(top, path);
	/*
	 * A directory that is too small is skipped, since no entry in it is larger than the
	 * directory.
	 */
	if (top->view->sums && top->n == top->max && bytes <= top->list[top->n - 1].bytes)
		return WALK_PRUNE;
	struct consumer consumer = {
		.path = mem_dup(path.ptr, path.len),
		.len = path.len,
		.type = entry->type,
		.bytes = bytes,
	};
	for (size_t i = 0; i < top->n_open; i++)
		top->open[i].bytes += bytes;
	if (entry->type != ENTRY_DIR || top->view->sums) {
		keep_if_large(top, &consumer);
		return 0;
	}
	mem_grow(&top->open, &top->cap_open, top->n_open);
	top->open[top->n_open++] = consumer;
	return 0;
}

static bool write_top(struct method_context *ctx, struct json *out, const struct top *top)
{
	struct method_list list;

	method_list_open(&list, ctx, out, "entries", 0, 0);
	for (size_t i = 0; i < top->n && method_list_row(&list); i++) {
		json_str(out, "path", (struct str){ top->list[i].path, top->list[i].len });
		json_text(out, "type", method_type_name(top->list[i].type));
		json_uint(out, "bytes", top->list[i].bytes);
		(void)method_list_row_end(&list);
	}
	method_list_close(&list);
	return list.truncated;
}

static void free_top(struct top *top)
{
	for (size_t i = 0; i < top->n; i++)
		free(top->list[i].path);
	for (size_t i = 0; i < top->n_open; i++)
		free(top->open[i].path);
	free(top->open);
}

static int run_top_consumers(
	struct method_context *ctx, const void *request, struct json *out, struct err *err)
{
	const struct sized *req = request;
	struct entry dir;
	owned(view_closep) struct view *view =
		method_open_path(ctx, &req->snapshot, req->path.path, ENTRY_DIR, &dir, err);
	owned(free_top) struct top top = {
		.view = view, .max = (size_t)req->n, .max_walked = req->max
	};

	if (!view)
		return -(int)err->code;
	top.list = arena_alloc(ctx->arena, (top.max + 1) * sizeof(*top.list));
	view->need = VIEW_NO_HASH;
	int r = walk_tree(view, req->path.path, weigh_entry, &top, err);
	if (r < 0)
		return r;
	leave_dirs(&top, STR(""));
	echo_sized(req, out);
	bool cut = write_top(ctx, out, &top);
	json_int(out, "walked_entries", top.walked);
	json_bool(out, "truncated", cut || top.truncated);
	method_unread(out, view->unread);
	return 0;
}

METHOD(top_consumers, sized, "the largest files and directories below a path",
	"snapshot:text path:text entries:[{path:text type:text "
	"bytes:int}] walked_entries:int truncated:bool " METHOD_UNREAD_SHAPE);
