#include "query/timed.h"

#include <errno.h>
#include <stdlib.h>

#include "core/mem.h"
#include "core/when.h"

/*
 * The clock is read once for this many entries, since reading the clock takes about as long as
 * visiting one entry.
 */
#define PASS_MAX 64

static int end_early(struct err *err, int why, const char *what)
{
	int r = err_set(err, ERR_SYSTEM, "%s", what);

	err->errno_value = why;
	return r;
}

static int check_clock(struct timed_limit *limit, struct err *err)
{
	if (limit->cancelled && limit->cancelled(limit->arg))
		return end_early(err, ECANCELED, "cancelled");
	if (when_monotonic() >= limit->deadline)
		return end_early(err, ETIMEDOUT, "took too long");
	limit->passed = 0;
	return 0;
}

int timed_pass(struct timed_limit *limit, struct err *err)
{
	return ++limit->passed < PASS_MAX ? 0 : check_clock(limit, err);
}

void timed_limit_init(
	struct timed_limit *limit, int64_t allowed, bool (*cancelled)(void *arg), void *arg)
{
	*limit = (struct timed_limit){
		.deadline = when_monotonic() + allowed,
		.cancelled = cancelled,
		.arg = arg,
		.passed = PASS_MAX, /* the first entry reads the clock */
	};
}

/* -------------------------------------------------------------------- views */

struct timed_view {
	struct view view;
	struct view *inner;
	struct timed_limit *limit;
	struct timed_limit own_limit; /* used as limit by a view that view_again has made */
};

static struct timed_view *timed_view(struct view *view)
{
	return (struct timed_view *)view; /* the view is the first member of struct timed_view */
}

static int view_stat(struct view *view, struct str path, struct arena *arena, struct entry *entry,
	struct err *err)
{
	struct view *inner = timed_view(view)->inner;
	int r = timed_pass(timed_view(view)->limit, err);

	inner->need = view->need;
	return r < 0 ? r : inner->ops->stat(inner, path, arena, entry, err);
}

struct listing {
	struct timed_limit *limit;
	view_visit visit;
	void *arg;
};

static int list_entry(void *arg, const struct entry *entry, struct err *err)
{
	struct listing *listing = arg;
	int r = timed_pass(listing->limit, err);

	return r < 0 ? r : listing->visit(listing->arg, entry, err);
}

static int view_list(struct view *view, const struct entry *dir, struct str path, view_visit visit,
	void *arg, struct err *err)
{
	struct view *inner = timed_view(view)->inner;
	struct listing listing = { timed_view(view)->limit, visit, arg };

	inner->need = view->need;
	inner->begun = view->begun;
	return inner->ops->list(inner, dir, path, list_entry, &listing, err);
}

struct reading {
	struct timed_limit *limit;
	content_sink sink;
	void *arg;
};

/* Pass on a piece of content.  A piece may be large, so the clock is read for each one. */
static int read_piece(void *arg, const void *bytes, uint64_t len, struct err *err)
{
	struct reading *reading = arg;
	int r = check_clock(reading->limit, err);

	return r < 0 ? r : reading->sink(reading->arg, bytes, len, err);
}

static int view_read(struct view *view, const struct entry *file, struct str path, uint64_t offset,
	uint64_t length, content_sink sink, void *arg, struct err *err)
{
	struct view *inner = timed_view(view)->inner;
	struct reading reading = { timed_view(view)->limit, sink, arg };

	inner->holes = view->holes;
	return inner->ops->read(inner, file, path, offset, length, read_piece, &reading, err);
}

static int view_xattrs(struct view *view, const struct entry *entry, struct str path,
	struct buf *out, struct err *err)
{
	struct view *inner = timed_view(view)->inner;
	int r = timed_pass(timed_view(view)->limit, err);

	return r < 0 ? r : inner->ops->xattrs(inner, entry, path, out, err);
}

static void view_close(struct view *view)
{
	view_closep(&timed_view(view)->inner);
	free(view);
}

static struct view *wrap_view(struct view *inner, struct timed_limit *limit);

/*
 * Open a view for another thread.  It has a limit of its own, since two threads cannot share the
 * counter.
 */
static struct view *view_again(struct view *view, struct err *err)
{
	struct timed_view *self = timed_view(view);
	struct view *inner = self->inner->ops->again(self->inner, err);

	if (!inner)
		return NULL;
	struct timed_view *again = timed_view(wrap_view(inner, NULL));
	again->own_limit = *self->limit;
	again->limit = &again->own_limit;
	return &again->view;
}

static const struct view_ops timed_view_ops = {
	.stat = view_stat,
	.list = view_list,
	.read = view_read,
	.xattrs = view_xattrs,
	.again = view_again,
	.close = view_close,
};

/* the functions for an inner view that cannot be opened again */
static const struct view_ops timed_single_ops = {
	.stat = view_stat,
	.list = view_list,
	.read = view_read,
	.xattrs = view_xattrs,
	.close = view_close,
};

static struct view *wrap_view(struct view *inner, struct timed_limit *limit)
{
	struct timed_view *self = mem_zalloc(sizeof(*self));

	self->view = *inner;
	self->view.ops = inner->ops->again ? &timed_view_ops : &timed_single_ops;
	self->inner = inner;
	self->limit = limit;
	return &self->view;
}

/* ----------------------------------------------------------------- provider */

static struct timed *timed_of(struct provider *provider)
{
	return (struct timed *)provider; /* the provider is the first member of struct timed */
}

struct passing {
	struct timed_limit *limit;
	provider_snapshot_visit snapshot;
	provider_change_visit change;
	void *arg;
};

static int pass_snapshot(void *arg, const struct provider_snapshot *snapshot, struct err *err)
{
	struct passing *passing = arg;
	int r = timed_pass(passing->limit, err);

	return r < 0 ? r : passing->snapshot(passing->arg, snapshot, err);
}

static int snapshots(
	struct provider *provider, provider_snapshot_visit visit, void *arg, struct err *err)
{
	struct timed *timed = timed_of(provider);
	struct passing passing = { .limit = timed->limit, .snapshot = visit, .arg = arg };

	int r = timed->inner->ops->snapshots(timed->inner, pass_snapshot, &passing, err);
	provider->left_out = timed->inner->left_out;
	return r;
}

static int resolve(struct provider *provider, const char *name, struct arena *arena,
	struct provider_snapshot *snapshot, struct err *err)
{
	struct provider *inner = timed_of(provider)->inner;

	return inner->ops->resolve(inner, name, arena, snapshot, err);
}

static int look(struct provider *provider, const char *snapshot, struct str path,
	struct arena *arena, struct entry *entry, bool *known, struct err *err)
{
	struct timed *timed = timed_of(provider);
	struct provider *inner = timed->inner;
	int r = timed_pass(timed->limit, err);

	return r < 0 ? r : inner->ops->look(inner, snapshot, path, arena, entry, known, err);
}

static struct view *open_snapshot(struct provider *provider, const char *snapshot, struct err *err)
{
	struct timed *timed = timed_of(provider);
	struct view *inner = timed->inner->ops->open(timed->inner, snapshot, err);

	if (!inner)
		return NULL;
	return wrap_view(inner, timed->limit);
}

static int pass_change(void *arg, const struct treediff_change *change, struct err *err)
{
	struct passing *passing = arg;
	int r = timed_pass(passing->limit, err);

	return r < 0 ? r : passing->change(passing->arg, change, err);
}

static int diff(struct provider *provider, const char *a, const char *b,
	const struct treediff_options *options, provider_change_visit visit, void *arg,
	struct err *err)
{
	struct timed *timed = timed_of(provider);
	struct passing passing = { .limit = timed->limit, .change = visit, .arg = arg };

	return timed->inner->ops->diff(timed->inner, a, b, options, pass_change, &passing, err);
}

static int own_diff(struct provider *provider, const char *a, const char *b,
	provider_change_visit visit, void *arg, struct err *err)
{
	struct timed *timed = timed_of(provider);
	struct passing passing = { .limit = timed->limit, .change = visit, .arg = arg };

	return timed->inner->ops->own_diff(timed->inner, a, b, pass_change, &passing, err);
}

static int written(
	struct provider *provider, const char *a, const char *b, int64_t *bytes, struct err *err)
{
	struct provider *inner = timed_of(provider)->inner;

	return inner->ops->written(inner, a, b, bytes, err);
}

static int properties(struct provider *provider, const char *const *names, size_t n,
	provider_property_visit visit, void *arg, struct err *err)
{
	struct provider *inner = timed_of(provider)->inner;

	return inner->ops->properties(inner, names, n, visit, arg, err);
}

static struct provider *mainline(struct provider *provider, struct arena *arena, struct err *err)
{
	struct timed *timed = timed_of(provider);
	struct provider *inner = timed->inner->ops->mainline(timed->inner, arena, err);

	if (!inner)
		return NULL;
	struct timed *line = arena_alloc(arena, sizeof(*line));
	timed_init(line, inner, timed->limit);
	return &line->provider;
}

void timed_init(struct timed *timed, struct provider *inner, struct timed_limit *limit)
{
	*timed = (struct timed){
		.provider = { .ops = &timed->ops, .dataset = inner->dataset },
		.ops = {
			.name = inner->ops->name,
			.snapshots = snapshots,
			.resolve = resolve,
			.look = inner->ops->look ? look : NULL,
			.open = open_snapshot,
			.diff = inner->ops->diff ? diff : NULL,
			.unchanged = inner->ops->unchanged,
			.own_diff = inner->ops->own_diff ? own_diff : NULL,
			.written = inner->ops->written ? written : NULL,
			.properties = inner->ops->properties ? properties : NULL,
			.mainline = inner->ops->mainline ? mainline : NULL,
		},
		.inner = inner,
		.limit = limit,
	};
}
