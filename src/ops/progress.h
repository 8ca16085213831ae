/*
 * progress - tell the caller of an operation how far long work has come.
 *
 * The work is done elsewhere, by threads that only count.  A thread of its own looks at the
 * counters now and then and passes them on (op_progress).  Where nobody wants to know, there is
 * no thread.
 */
#pragma once
#include <pthread.h>

#include "ops/op.h"

/* Belongs to the caller, from the beginning of the work to its end. */
struct progress {
	struct op_context *ctx;
	const char *stage;
	uint64_t (*done)(void *arg); /* or NULL: the counters below */
	void *arg;
	uint64_t total;
	struct workspace_counters counters;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t stop;
	bool stopping;
	bool running;
};

/* Tell of what the workspace of ctx->env does until progress_end. */
void progress_begin(struct progress *progress, struct op_context *ctx, const char *stage);
/* The same for other work: done is asked, from another thread, how much of total is done. */
void progress_begin_work(struct progress *progress, struct op_context *ctx, const char *stage,
	uint64_t (*done)(void *arg), void *arg, uint64_t total);
void progress_end(struct progress *progress);
