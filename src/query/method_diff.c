/* method_diff - methods that compare two snapshots, or one file in two snapshots. */
#include "core/own.h"
#include "core/text.h"
#include "core/textdiff.h"
#include "query/method_priv.h"
#include "query/samecontent.h"
#include "query/viewdiff.h"

#define CONTEXT_LINES 3

struct pair {
	struct method_snapshot a, b;
	struct param_path path;
	int64_t max;
	int64_t cursor;
};

#define PAIR_PARAMS                                                                                \
	PARAM_AS("snap_a", pair, a, SNAPSHOT, PARAM_REQUIRED,                                      \
		"the earlier snapshot: DATASET@NAME"),                                             \
		PARAM_AS("snap_b", pair, b, SNAPSHOT, PARAM_REQUIRED, "the later snapshot")

static int check_pair(const struct pair *req, struct err *err)
{
	if (strcmp(req->a.provider->dataset, req->b.provider->dataset) != 0)
		return err_set(err, ERR_INVALID, "the snapshots must be of one dataset");
	return 0;
}

/* Compare the two snapshots of a request.  The request must have passed check_pair. */
static int diff_pair(
	const struct pair *req, provider_change_visit visit, void *arg, struct err *err)
{
	static const struct treediff_options options = { .renames = true };

	return viewdiff_snapshots(
		req->a.provider, req->a.is.name, req->b.is.name, &options, visit, arg, err);
}

static void echo_snapshots(const struct pair *req, struct json *out)
{
	json_text(out, "snap_a", req->a.full);
	json_text(out, "snap_b", req->b.full);
}

/* ------------------------------------------------------------ diff_snapshots */

static const struct param diff_snapshots_params[] = {
	PAIR_PARAMS,
	PARAM_AS("max_results", pair, max, INT, 0, "rows of one reply", .fallback = 10000,
		.cap = 100000),
	METHOD_CURSOR(pair),
	{ 0 },
};

static int change_row(void *arg, const struct treediff_change *change, struct err *err)
{
	struct method_list *list = arg;
	struct json *out = list->out;
	const struct entry *entry = change->b ? change->b : change->a;
	/* A change of type is reported as 'M', and "what" includes the type. */
	char op = change->op == 'T' ? 'M' : change->op;

	if (!method_list_row(list))
		return list->truncated;
	json_str(out, "op", (struct str){ &op, 1 });
	json_text(out, "type", method_type_name(entry->type));
	json_str(out, "path", change->path);
	if (op == 'R')
		json_str(out, "new_path", change->new_path);
	if (change->what)
		json_bits(out, "what", change->what, TREEDIFF_WHATS, treediff_what_name);
	return method_list_row_end(list);
}

static int run_diff_snapshots(
	struct method_context *ctx, const void *request, struct json *out, struct err *err)
{
	const struct pair *req = request;
	struct provider *provider = req->a.provider;
	struct method_list list;
	int r = check_pair(req, err);

	if (r < 0)
		return r;
	echo_snapshots(req, out);
	method_list_open(&list, ctx, out, "changes", req->cursor, req->max);
	r = provider->ops->own_diff ? provider->ops->own_diff(provider, req->a.is.name,
					      req->b.is.name, change_row, &list, err)
				    : diff_pair(req, change_row, &list, err);
	r = method_list_finish(&list, r, true);
	if (r >= 0)
		method_unread(out, provider->unread);
	return r;
}

METHOD(diff_snapshots, pair, "the paths that differ between two snapshots",
	"snap_a:text snap_b:text changes:[{op:text type:text path:text "
	"new_path?:text what?:[text]}] truncated:bool cursor?:text " METHOD_UNREAD_SHAPE);

/* ---------------------------------------------------------------- size_delta */

static const struct param size_delta_params[] = {
	PAIR_PARAMS,
	{ 0 },
};

/*
 * Add up the sizes of the files whose content is new in the second snapshot.  A file that was only
 * renamed is not new.
 */
static int add_written(void *arg, const struct treediff_change *change, struct err *err)
{
	uint64_t *written = arg;
	const struct entry *b = change->b;
	bool is_new = !change->a || change->what & (TREEDIFF_CONTENT | TREEDIFF_TYPE);

	if (b && b->type == ENTRY_FILE && is_new)
		*written += b->size;
	return 0;
}

static int run_size_delta(
	struct method_context *ctx, const void *request, struct json *out, struct err *err)
{
	const struct pair *req = request;
	struct provider *provider = req->a.provider;
	uint64_t added = 0;
	int64_t written = -1;
	int r = check_pair(req, err);

	if (r >= 0 && provider->ops->written)
		r = provider->ops->written(provider, req->a.is.name, req->b.is.name, &written, err);
	else if (r >= 0)
		r = diff_pair(req, add_written, &added, err);
	if (r < 0)
		return r;
	echo_snapshots(req, out);
	json_uint(out, "written_bytes", written >= 0 ? (uint64_t)written : added);
	method_unread(out, provider->unread);
	return 0;
}

METHOD(size_delta, pair, "how many bytes were written between two snapshots",
	"snap_a:text snap_b:text written_bytes:int " METHOD_UNREAD_SHAPE);

/* ----------------------------------------------------------------- file_diff */

static const struct param file_diff_params[] = {
	PAIR_PARAMS,
	METHOD_PATH(pair, PARAM_REQUIRED),
	METHOD_MAX_BYTES(pair, max),
	{ 0 },
};

/* The file as it is in one of the two snapshots. */
struct side {
	bool present;
	bool truncated;
	struct view *view;
	struct entry entry;
	struct buf content;
};

static void free_side(struct side *side)
{
	view_closep(&side->view);
	buf_release(&side->content);
}

static struct str text_of(const struct side *side)
{
	return (struct str){ side->content.data ?: "", side->content.len };
}

static int load_side(struct method_context *ctx, const struct pair *req,
	const struct method_snapshot *snapshot, struct side *side, struct err *err)
{
	struct view *view = side->view = method_open(snapshot, err);
	struct str path = req->path.path;

	if (!view)
		return -(int)err->code;
	int r = view->ops->stat(view, path, ctx->arena, &side->entry, err);
	if (r <= 0)
		return r;
	r = method_stat(view, path, ctx->arena, ENTRY_FILE, &side->entry, err);
	if (r >= 0)
		r = method_load(view, &side->entry, path, (uint64_t)req->max, &side->content, err);
	side->present = true;
	side->truncated = side->entry.size > side->content.len;
	return r;
}

static bool is_text(const struct side *side)
{
	/* max_bytes may have cut the last character in two. */
	struct str text = text_of(side);
	size_t valid = 0, len;

	while (valid < text.len &&
		(len = text_utf8_length((struct str){ text.ptr + valid, text.len - valid })))
		valid += len;
	return !textdiff_is_binary(text) &&
	       (valid == text.len || (side->truncated && text.len - valid < 4));
}

/* Returns 1 if both sides have the same content, 0 if not, or a negative error. */
static int identical(const struct side *a, const struct side *b, struct str path, struct err *err)
{
	if (!a->present || !b->present || a->entry.size != b->entry.size)
		return 0;
	if (!a->truncated && !b->truncated)
		return str_eq(text_of(a), text_of(b));
	return samecontent_check(a->view, &a->entry, b->view, &b->entry, path, err);
}

static void side_name(struct buf *out, const char *prefix, const struct side *side, struct str path)
{
	owned(buf_release) struct buf whole = BUF_INIT;

	if (!side->present) {
		buf_adds(out, "/dev/null");
		return;
	}
	buf_adds(&whole, prefix);
	buf_add(&whole, path.ptr, path.len);
	text_quote(out, (struct str){ whole.data, whole.len });
}

/* Write as much of the diff as the reply has room for, in whole lines. */
static void write_diff(struct method_context *ctx, struct json *out, struct str diff)
{
	size_t whole = diff.len;

	if (!method_fits(ctx, out, diff)) {
		size_t room = method_room(ctx, out) / 6; /* an escaped byte takes at most 6 bytes */
		size_t len = diff.len < room ? diff.len : room;
		const char *newline = len ? memrchr(diff.ptr, '\n', len) : NULL;

		diff.len = newline ? (size_t)(newline + 1 - diff.ptr) : 0;
	}
	json_str(out, "diff", diff);
	if (diff.len < whole)
		json_bool(out, "truncated", true);
}

static void sides_json(struct json *out, const struct side *a, const struct side *b, bool same)
{
	json_bool(out, "present_in_a", a->present);
	json_bool(out, "present_in_b", b->present);
	json_number(out, "size_a", a->present, (int64_t)a->entry.size);
	json_number(out, "size_b", b->present, (int64_t)b->entry.size);
	json_bool(out, "truncated_a", a->truncated);
	json_bool(out, "truncated_b", b->truncated);
	json_bool(out, "identical", same);
}

static int run_file_diff(
	struct method_context *ctx, const void *request, struct json *out, struct err *err)
{
	const struct pair *req = request;
	owned(free_side) struct side a = { .content = BUF_INIT }, b = { .content = BUF_INIT };
	owned(buf_release) struct buf diff = BUF_INIT, name_a = BUF_INIT, name_b = BUF_INIT;
	int r = load_side(ctx, req, &req->a, &a, err);

	if (r >= 0)
		r = load_side(ctx, req, &req->b, &b, err);
	int same = r < 0 ? r : identical(&a, &b, req->path.path, err);
	if (same < 0)
		return same;
	bool text = is_text(&a) && is_text(&b);
	bool missing = !a.present && !b.present;
	if (text && !missing) {
		side_name(&name_a, "a/", &a, req->path.path);
		side_name(&name_b, "b/", &b, req->path.path);
		textdiff_unified(
			&diff, text_of(&a), text_of(&b), name_a.data, name_b.data, CONTEXT_LINES);
	}
	echo_snapshots(req, out);
	json_str(out, "path", req->path.given);
	sides_json(out, &a, &b, same);
	json_text(out, "encoding", missing ? "missing" : text ? "utf-8" : "binary");
	write_diff(ctx, out, (struct str){ diff.data ?: "", diff.len });
	return 0;
}

METHOD(file_diff, pair, "the unified diff of a file between two snapshots",
	"snap_a:text snap_b:text path:text present_in_a:bool "
	"present_in_b:bool size_a:int? size_b:int? truncated_a:bool "
	"truncated_b:bool identical:bool encoding:text diff?:text "
	"truncated?:bool");
