#include "ops/progress.h"

#include <time.h>

#include "core/thread.h"
#include "core/when.h"

#define STEP_NS (100 * WHEN_MS)

static void report_counters(struct progress *progress)
{
	struct op_context *ctx = progress->ctx;
	const struct workspace_counters *counters = &progress->counters;
	uint64_t applied = counters->applied.entries, read = counters->ingested.files;

	if (progress->done)
		op_progress(ctx, progress->stage, progress->done(progress->arg), progress->total);
	else if (applied)
		op_progress(ctx, "restoring", applied, 0);
	else if (read)
		op_progress(ctx, "storing", read, counters->scanned);
	else
		op_progress(ctx, progress->stage, counters->scanned, 0);
}

static void *report_until_end(void *arg)
{
	struct progress *progress = arg;

	pthread_mutex_lock(&progress->lock);
	while (!progress->stopping) {
		int64_t until = when_monotonic() + STEP_NS;
		struct timespec time = { until / WHEN_SECOND, until % WHEN_SECOND };

		pthread_cond_clockwait(&progress->stop, &progress->lock, CLOCK_MONOTONIC, &time);
		report_counters(progress);
	}
	pthread_mutex_unlock(&progress->lock);
	return NULL;
}

static void start_thread(struct progress *progress)
{
	struct err ignored = { 0 };

	pthread_mutex_init(&progress->lock, NULL);
	pthread_cond_init(&progress->stop, NULL);
	progress->running =
		thread_start(&progress->thread, report_until_end, progress, &ignored) == 0;
}

void progress_begin(struct progress *progress, struct op_context *ctx, const char *stage)
{
	*progress = (struct progress){ .ctx = ctx, .stage = stage };
	if (!ctx->progress)
		return;
	if (ctx->env->workspace)
		workspace_count(ctx->env->workspace, &progress->counters);
	start_thread(progress);
}

void progress_begin_work(struct progress *progress, struct op_context *ctx, const char *stage,
	uint64_t (*done)(void *arg), void *arg, uint64_t total)
{
	*progress = (struct progress){
		.ctx = ctx, .stage = stage, .done = done, .arg = arg, .total = total
	};
	if (ctx->progress)
		start_thread(progress);
}

static uint64_t load_count(void *arg)
{
	return atomic_load((_Atomic uint64_t *)arg);
}

void progress_begin_count(struct progress *progress, struct op_context *ctx, const char *stage,
	_Atomic uint64_t *count, uint64_t total)
{
	progress_begin_work(progress, ctx, stage, load_count, count, total);
}

void progress_end(struct progress *progress)
{
	if (progress->running) {
		pthread_mutex_lock(&progress->lock);
		progress->stopping = true;
		pthread_cond_signal(&progress->stop);
		pthread_mutex_unlock(&progress->lock);
		pthread_join(progress->thread, NULL);
		pthread_cond_destroy(&progress->stop);
		op_progress(progress->ctx, NULL, 0, 0);
	}
	if (!progress->done && progress->ctx->env->workspace)
		workspace_count(progress->ctx->env->workspace, NULL);
}
