#include "trace/backlog.h"

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "core/thread.h"
#include "core/when.h"

/*
 * To be woken costs as much as many items: the thread lets some come before it sees the first, but
 * not for long.
 */
#define SOME_BYTES ((size_t)32 << 10)
#define NAP_NS WHEN_MS

/* Before each item. */
struct header {
	_Alignas(max_align_t) size_t len;
};

static size_t rounded(size_t len)
{
	return (len + sizeof(struct header) - 1) / sizeof(struct header) * sizeof(struct header);
}

static void see_next(struct backlog *backlog)
{
	const struct header *header = (const void *)(backlog->taken.data + backlog->at);

	backlog->see(backlog->arg, header + 1);
	backlog->at += sizeof(*header) + rounded(header->len);
}

/* Whether there is something in taken. */
static bool take(struct backlog *backlog)
{
	struct buf swap = backlog->taken;

	if (backlog->at < backlog->taken.len)
		return true;
	backlog->taken = backlog->coming;
	backlog->coming = swap;
	buf_clear(&backlog->coming);
	backlog->at = 0;
	return backlog->taken.len > 0;
}

static bool is_any(const struct backlog *backlog)
{
	return backlog->at < backlog->taken.len || backlog->coming.len;
}

/* --- the thread --- */

/* Under the mutex, which is free meanwhile. */
static void see_some(struct backlog *backlog)
{
	backlog->busy = true;
	pthread_mutex_unlock(&backlog->mutex);
	while (backlog->at < backlog->taken.len && !backlog->held)
		see_next(backlog);
	pthread_mutex_lock(&backlog->mutex);
	backlog->busy = false;
	pthread_cond_signal(&backlog->ended);
}

/* For something to come, or for some of it. */
static void wait_for(struct backlog *backlog, size_t bytes)
{
	int64_t until = when_monotonic() + NAP_NS;
	struct timespec time = { until / WHEN_SECOND, until % WHEN_SECOND };

	backlog->wanted = bytes;
	if (bytes > 1)
		(void)pthread_cond_clockwait(
			&backlog->given, &backlog->mutex, CLOCK_MONOTONIC, &time);
	else
		pthread_cond_wait(&backlog->given, &backlog->mutex);
	backlog->wanted = 0;
}

static void *work(void *arg)
{
	struct backlog *backlog = arg;

	pthread_mutex_lock(&backlog->mutex);
	while (!backlog->over) {
		if (backlog->held || !is_any(backlog))
			wait_for(backlog, 1);
		if (!backlog->held && !backlog->over && backlog->coming.len < SOME_BYTES)
			wait_for(backlog, SOME_BYTES);
		if (!backlog->held && take(backlog))
			see_some(backlog);
	}
	pthread_mutex_unlock(&backlog->mutex);
	return NULL;
}

/* --- the other side --- */

void backlog_init(struct backlog *backlog, void (*see)(void *arg, const void *item), void *arg)
{
	*backlog = (struct backlog){
		.see = see,
		.arg = arg,
		.coming = BUF_INIT,
		.taken = BUF_INIT,
		.held = true,
	};
	pthread_mutex_init(&backlog->mutex, NULL);
	pthread_cond_init(&backlog->given, NULL);
	pthread_cond_init(&backlog->ended, NULL);
}

/* With the first item: the command has been forked by then. */
static bool start(struct backlog *backlog)
{
	struct err ignored = { 0 };

	if (backlog->running || backlog->alone)
		return backlog->running;
	backlog->running = thread_start(&backlog->thread, work, backlog, &ignored) == 0;
	backlog->alone = !backlog->running;
	return backlog->running;
}

void backlog_add(struct backlog *backlog, const void *item, size_t len, size_t max)
{
	struct header header = { .len = len };

	pthread_mutex_lock(&backlog->mutex);
	char *room = buf_reserve(&backlog->coming, sizeof(header) + rounded(len));
	assert(room); /* max and an item are less than a buffer may have */
	memcpy(room, &header, sizeof(header));
	memcpy(room + sizeof(header), item, len);
	backlog->coming.len += sizeof(header) + rounded(len);
	backlog->held = false;
	bool full = backlog->coming.len > max;
	if (backlog->wanted && backlog->coming.len >= backlog->wanted)
		pthread_cond_signal(&backlog->given);
	pthread_mutex_unlock(&backlog->mutex);
	if (!start(backlog) || full)
		backlog_hold(backlog);
}

void backlog_hold(struct backlog *backlog)
{
	if (backlog->held)
		return;
	pthread_mutex_lock(&backlog->mutex);
	backlog->held = true;
	while (backlog->busy)
		pthread_cond_wait(&backlog->ended, &backlog->mutex);
	pthread_mutex_unlock(&backlog->mutex);
	/* The thread may have been in the middle of what it has taken. */
	while (take(backlog))
		while (backlog->at < backlog->taken.len)
			see_next(backlog);
}

void backlog_stop(struct backlog *backlog)
{
	backlog_hold(backlog);
	backlog->alone = true;
	if (!backlog->running)
		return;
	pthread_mutex_lock(&backlog->mutex);
	backlog->over = true;
	pthread_cond_signal(&backlog->given);
	pthread_mutex_unlock(&backlog->mutex);
	pthread_join(backlog->thread, NULL);
	backlog->running = false;
}

void backlog_release(struct backlog *backlog)
{
	if (!backlog->see)
		return;
	backlog_stop(backlog);
	buf_release(&backlog->coming);
	buf_release(&backlog->taken);
	pthread_cond_destroy(&backlog->given);
	pthread_cond_destroy(&backlog->ended);
	pthread_mutex_destroy(&backlog->mutex);
}
