/*
 * progress - reports how much of a long operation is done.
 *
 * The threads that do the work only count.  Another thread reads the counters from time to time and
 * passes them to op_progress.  This thread is not started if the caller wants no progress.
 */
#pragma once
#include <pthread.h>

#include "ops/op.h"

/* State of the report.  The caller keeps this struct from the beginning of the work to its end. */
struct progress {
	struct op_context *ctx;
	const char *stage;
	/* returns the amount of work done; NULL: the counters are used */
	uint64_t (*done)(void *arg);
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
 * Like progress_begin, but report other work.  The function 'done' is called in another thread.  It
 * returns the part of 'total' that is done.
 */
void progress_begin_work(struct progress *progress, struct op_context *ctx, const char *stage,
	uint64_t (*done)(void *arg), void *arg, uint64_t total);
/* Like progress_begin, but report work that increments *count up to 'total'. */
void progress_begin_count(struct progress *progress, struct op_context *ctx, const char *stage,
	_Atomic uint64_t *count, uint64_t total);
void progress_end(struct progress *progress);
