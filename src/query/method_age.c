/*
 * method_age - methods about the ages of snapshots, for people who decide which snapshots to keep.
 */
#include <stdlib.h>

#include "core/mem.h"
#include "core/own.h"
#include "query/method_priv.h"
#include "query/snapname.h"

/* ---------------------------------------------------------- snapshot_cadence */

struct snapshot_cadence {
	struct method_dataset dataset;
};

static const struct param snapshot_cadence_params[] = {
	METHOD_DATASET(snapshot_cadence, 0),
	{ 0 },
};

/* Sums over a group of snapshots. */
struct sum {
	uint64_t count;
	int64_t earliest, latest; /* ns */
	int64_t used;             /* -1: not known for some of the snapshots */
};

struct cadence {
	struct sum all, classes[SNAPNAME_CLASSES];
	char *previous; /* name of the previous snapshot */
	int64_t previous_creation;
	/*
	 * The longest time between two consecutive snapshots.  gap_from is NULL if there are fewer
	 * than two snapshots.
	 */
	int64_t gap;
	char *gap_from, *gap_to;
	uint64_t left_out; /* sum of provider.left_out */
};

static void free_cadence(struct cadence *cadence)
{
	free(cadence->previous);
	free(cadence->gap_from);
	free(cadence->gap_to);
}

static void add_to_sum(struct sum *sum, const struct provider_snapshot *snapshot)
{
	if (!sum->count || snapshot->creation < sum->earliest)
		sum->earliest = snapshot->creation;
	if (!sum->count || snapshot->creation > sum->latest)
		sum->latest = snapshot->creation;
	sum->count++;
	sum->used = snapshot->used < 0 || sum->used < 0 ? -1 : sum->used + snapshot->used;
}

/*
 * Record the time between a snapshot and the snapshot of the previous call, if this time is the
 * longest so far.  The caller must pass the snapshots in order of age, the oldest first.
 */
static void note_gap(struct cadence *cadence, const struct provider_snapshot *snapshot)
{
	int64_t gap = when_seconds(snapshot->creation) - when_seconds(cadence->previous_creation);
	char *name = mem_strdup(snapshot->name);

	if (cadence->previous && (!cadence->gap_from || gap > cadence->gap)) {
		free(cadence->gap_from);
		free(cadence->gap_to);
		cadence->gap = gap;
		cadence->gap_from = mem_strdup(cadence->previous);
		cadence->gap_to = mem_strdup(name);
	}
	free(cadence->previous);
	cadence->previous = name;
	cadence->previous_creation = snapshot->creation;
}

static int count_snapshot(void *arg, const struct provider_snapshot *snapshot, struct err *err)
{
	struct cadence *cadence = arg;

	add_to_sum(&cadence->all, snapshot);
	add_to_sum(&cadence->classes[snapname_class(str_of(snapshot->name))], snapshot);
	note_gap(cadence, snapshot);
	return 0;
}

static int count_dataset(void *arg, struct provider *provider, struct err *err)
{
	struct cadence *cadence = arg;
	int r = provider->ops->snapshots(provider, count_snapshot, cadence, err);

	cadence->left_out += provider->left_out;
	return r;
}

static void sum_times(const struct sum *sum, struct json *out)
{
	json_number(out, "earliest_creation", sum->count, when_seconds(sum->earliest));
	json_number(out, "latest_creation", sum->count, when_seconds(sum->latest));
}

static void write_classes(const struct cadence *cadence, struct json *out)
{
	json_open(out, "by_class", '[');
	for (unsigned i = 0; i < SNAPNAME_CLASSES; i++) {
		const struct sum *sum = &cadence->classes[i];

		if (!sum->count)
			continue;
		json_open(out, NULL, '{');
		json_text(out, "class", snapname_class_name((enum snapname_class)i));
		json_uint(out, "count", sum->count);
		sum_times(sum, out);
		json_number(out, "unique_bytes", sum->used >= 0, sum->used);
		json_close(out);
	}
	json_close(out);
}

static void write_gap(struct method_context *ctx, const struct cadence *cadence,
	const struct provider *provider, struct json *out)
{
	bool known = provider && cadence->gap_from;

	json_number(out, "biggest_gap_seconds", known, cadence->gap);
	if (!known) {
		json_none(out, "biggest_gap_between");
		return;
	}
	json_open(out, "biggest_gap_between", '[');
	json_text(out, NULL, method_full_name(ctx, provider, cadence->gap_from));
	json_text(out, NULL, method_full_name(ctx, provider, cadence->gap_to));
	json_close(out);
}

static int run_snapshot_cadence(
	struct method_context *ctx, const void *request, struct json *out, struct err *err)
{
	const struct snapshot_cadence *req = request;
	owned(free_cadence) struct cadence cadence = { 0 };
	int r = method_each_dataset(ctx, &req->dataset, count_dataset, &cadence, err);

	if (r < 0)
		return r;
	json_text(out, "dataset", req->dataset.provider ? req->dataset.provider->dataset : NULL);
	json_uint(out, "total_snapshots", cadence.all.count);
	write_classes(&cadence, out);
	sum_times(&cadence.all, out);
	write_gap(ctx, &cadence, req->dataset.provider, out);
	json_number(out, "total_unique_bytes", cadence.all.used >= 0, cadence.all.used);
	if (cadence.left_out)
		json_uint(out, "left_out", cadence.left_out);
	return 0;
}

METHOD(snapshot_cadence, snapshot_cadence, "how often snapshots were made, and the longest gap",
	"dataset:text? total_snapshots:int by_class:[{class:text count:int "
	"earliest_creation:int? latest_creation:int? unique_bytes:int?}] "
	"earliest_creation:int? latest_creation:int? biggest_gap_seconds:int? "
	"biggest_gap_between:[text]? total_unique_bytes:int? left_out?:int");

/* ----------------------------------------------------------- stale_snapshots */

struct stale_snapshots {
	struct method_dataset dataset;
	int64_t older_than;
	int64_t max_results;
	int64_t cursor;
};

static const struct param stale_snapshots_params[] = {
	PARAM(stale_snapshots, older_than, TIME, PARAM_REQUIRED, "only snapshots before this time"),
	METHOD_DATASET(stale_snapshots, 0),
	PARAM(stale_snapshots, max_results, INT, 0, "rows of one reply", .fallback = 1000,
		.cap = 10000),
	METHOD_CURSOR(stale_snapshots),
	{ 0 },
};

struct stale {
	struct method_context *ctx;
	int64_t older_than;
	struct provider *provider; /* provider of the current dataset */
	struct stale_row {
		struct provider *provider;
		struct provider_snapshot snapshot; /* its name is in the arena of the call */
		size_t order;
	} * rows;
	size_t n, cap;
	uint64_t left_out; /* sum of provider.left_out */
};

static void free_stale(struct stale *stale)
{
	free(stale->rows);
}

static const char *copy_text(struct arena *arena, const char *text)
{
	return text ? arena_strdup(arena, text) : NULL;
}

static int note_stale(void *arg, const struct provider_snapshot *snapshot, struct err *err)
{
	struct stale *stale = arg;

	if (when_seconds(snapshot->creation) >= when_seconds(stale->older_than))
		return 0;
	mem_grow(&stale->rows, &stale->cap, stale->n);
	struct stale_row *row = &stale->rows[stale->n];
	*row = (struct stale_row){ stale->provider, *snapshot, stale->n };
	/* The texts of *snapshot are valid only during this call. */
	row->snapshot.name = arena_strdup(stale->ctx->arena, snapshot->name);
	row->snapshot.kind = copy_text(stale->ctx->arena, snapshot->kind);
	row->snapshot.message = copy_text(stale->ctx->arena, snapshot->message);
	row->snapshot.cleanup = copy_text(stale->ctx->arena, snapshot->cleanup);
	row->snapshot.node = NULL;
	stale->n++;
	return 0;
}

static int note_dataset(void *arg, struct provider *provider, struct err *err)
{
	struct stale *stale = arg;

	stale->provider = provider;
	int r = provider->ops->snapshots(provider, note_stale, stale, err);
	stale->left_out += provider->left_out;
	return r;
}

/*
 * Sort by the bytes that a snapshot uses, the largest number first.  If the number is not known
 * (-1), the snapshot comes last.
 */
static int compare_used(const void *a, const void *b)
{
	const struct stale_row *x = a, *y = b;

	if (x->snapshot.used != y->snapshot.used)
		return x->snapshot.used > y->snapshot.used ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

static int run_stale_snapshots(
	struct method_context *ctx, const void *request, struct json *out, struct err *err)
{
	const struct stale_snapshots *req = request;
	owned(free_stale) struct stale stale = { .ctx = ctx, .older_than = req->older_than };
	struct method_list list;
	int r = method_each_dataset(ctx, &req->dataset, note_dataset, &stale, err);

	if (r < 0)
		return r;
	if (stale.n)
		qsort(stale.rows, stale.n, sizeof(*stale.rows), compare_used);
	json_text(out, "dataset", req->dataset.provider ? req->dataset.provider->dataset : NULL);
	json_int(out, "older_than_unix", when_seconds(req->older_than));
	method_list_open(&list, ctx, out, "snapshots", req->cursor, req->max_results);
	for (size_t i = 0; i < stale.n && !list.truncated; i++) {
		if (!method_list_row(&list))
			continue;
		method_snapshot_members(out, stale.rows[i].provider, &stale.rows[i].snapshot);
		(void)method_list_row_end(&list);
	}
	r = method_list_finish(&list, 0, true);
	if (r >= 0 && stale.left_out)
		json_uint(out, "left_out", stale.left_out);
	return r;
}

METHOD(stale_snapshots, stale_snapshots, "the snapshots before a time, the most used first",
	"dataset:text? older_than_unix:int snapshots:[" METHOD_SNAPSHOT_SHAPE "] "
	"truncated:bool cursor?:text left_out?:int");
