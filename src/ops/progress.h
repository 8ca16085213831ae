/*
 * progress - report how far long work has come.
 *
 * The threads that do the work only count.  Another thread reads the counters now and then and
 * passes them to op_progress.  If the caller wants no progress, that thread is not started.
 */
#pragma once
#include <pthread.h>

#include "ops/op.h"

/* The caller keeps this struct from the beginning of the work to its end. */
struct progress {
	struct op_context *ctx;
	const char *stage;
	uint64_t (*done)(void *arg); /* returns how much is done; NULL: see counters */
	void *arg;
	uint64_t total;
	struct workspace_counters counters;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t stop;
	bool stopping;
	bool running;
};

/* Report the counters of ctx->env's workspace until progress_end. */
void progress_begin(struct progress *progress, struct op_context *ctx, const char *stage);
/*
 * Report other work in the same way.  done is called in another thread, and returns how much of
 * total is done.
 */
void progress_begin_work(struct progress *progress, struct op_context *ctx, const char *stage,
	uint64_t (*done)(void *arg), void *arg, uint64_t total);
/* In the same way, report work that increments *count up to total. */
void progress_begin_count(struct progress *progress, struct op_context *ctx, const char *stage,
	_Atomic uint64_t *count, uint64_t total);
void progress_end(struct progress *progress);
