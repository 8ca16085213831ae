#include "core/workqueue.h"

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#include "core/thread.h"
#include "core/when.h"

/* The header of each item in a buffer. */
struct header {
	_Alignas(max_align_t) size_t len;
};

static size_t rounded(size_t len)
{
	return (len + sizeof(struct header) - 1) / sizeof(struct header) * sizeof(struct header);
}

/*
 * Record 'number' as the awaited number, unless a thread already waits for a smaller one.  The
 * caller must have locked the mutex.
 */
static void note_awaited(struct workqueue *queue, uint64_t number)
{
	uint64_t awaited = queue->awaited;

	if (!awaited || number < awaited)
		queue->awaited = number;
}

/*
 * Wake all threads that wait for a number.  A thread whose number is not done yet then calls
 * note_awaited again.
 */
static void wake_waiters(struct workqueue *queue)
{
	pthread_mutex_lock(&queue->mutex);
	if (queue->asked && queue->done >= queue->asked) {
		queue->asked = 0;
		(void)eventfd_write(queue->event, 1);
	}
	queue->awaited = queue->asked;
	pthread_cond_broadcast(&queue->ended);
	pthread_mutex_unlock(&queue->mutex);
}

/*
 * Do the next item.
 *
 * The order of accesses to the members 'done' and 'awaited' matters.  A waiter writes 'awaited' and
 * then reads 'done'.  This function writes 'done' and then reads 'awaited'.  So either the waiter
 * sees that its item is done, or this function sees the number of the waiter.
 */
static void work_on_next(struct workqueue *queue)
{
	const struct header *header = (const void *)(queue->taken.data + queue->at);

	queue->work(queue->arg, header + 1);
	queue->at += sizeof(*header) + rounded(header->len);
	uint64_t done = ++queue->done, awaited = queue->awaited;
	if (awaited && done >= awaited)
		wake_waiters(queue);
}

/*
 * If all items in 'taken' are done, take the items in 'coming'.  Returns whether 'taken' has items
 * left.  The caller must have locked the mutex, or must be the producer that holds the queue.
 */
static bool take_items(struct workqueue *queue)
{
	struct buf swap = queue->taken;

	if (queue->at < queue->taken.len)
		return true;
	queue->taken = queue->coming;
	queue->coming = swap;
	buf_clear(&queue->coming);
	queue->at = 0;
	return queue->taken.len > 0;
}

/* --- functions of the queue's thread --- */

/*
 * Work on the items in 'taken' until all are done or the queue is held.  The caller must have
 * locked the mutex.  The mutex is unlocked during the work.
 */
static void work_on_taken(struct workqueue *queue)
{
	queue->busy = true;
	pthread_mutex_unlock(&queue->mutex);
	while (queue->at < queue->taken.len && !queue->held)
		work_on_next(queue);
	pthread_mutex_lock(&queue->mutex);
	queue->busy = false;
	pthread_cond_broadcast(&queue->ended);
}

static void wait_for_item(struct workqueue *queue)
{
	queue->wanted = 1;
	pthread_cond_wait(&queue->given, &queue->mutex);
	queue->wanted = 0;
}

static void pause_for_items(struct workqueue *queue)
{
	int64_t until = when_monotonic() + queue->pause_ns;
	struct timespec time = { until / WHEN_SECOND, until % WHEN_SECOND };

	queue->wanted = queue->enough;
	(void)pthread_cond_clockwait(&queue->given, &queue->mutex, CLOCK_MONOTONIC, &time);
	queue->wanted = 0;
}

static void *workqueue_thread(void *arg)
{
	struct workqueue *queue = arg;

	pthread_mutex_lock(&queue->mutex);
	while (!queue->over) {
		if (queue->held || !take_items(queue)) {
			wait_for_item(queue);
			continue;
		}
		work_on_taken(queue);
		if (queue->pause_ns && !queue->coming.len && !queue->over)
			pause_for_items(queue);
	}
	pthread_mutex_unlock(&queue->mutex);
	return NULL;
}

/* --- functions for the producer --- */

void workqueue_init(struct workqueue *queue, void (*work)(void *arg, const void *item), void *arg)
{
	*queue = (struct workqueue){
		.work = work,
		.arg = arg,
		.coming = BUF_INIT,
		.taken = BUF_INIT,
		.held = true,
		.event = -1,
	};
	pthread_mutex_init(&queue->mutex, NULL);
	pthread_cond_init(&queue->given, NULL);
	pthread_cond_init(&queue->ended, NULL);
}

int workqueue_start(struct workqueue *queue, struct err *err)
{
	int r = thread_start(&queue->thread, workqueue_thread, queue, err);

	queue->running = r >= 0;
	queue->alone = !queue->running;
	return r;
}

uint64_t workqueue_add(struct workqueue *queue, const void *item, size_t len, size_t max)
{
	struct header header = { .len = len };
	struct err ignored = { 0 };

	pthread_mutex_lock(&queue->mutex);
	char *room = buf_reserve(&queue->coming, sizeof(header) + rounded(len));
	assert(room); /* 'max' bytes and one more item must fit into a buffer */
	memcpy(room, &header, sizeof(header));
	memcpy(room + sizeof(header), item, len);
	queue->coming.len += sizeof(header) + rounded(len);
	queue->held = false;
	bool full = queue->coming.len > max;
	uint64_t number = ++queue->last;
	if (queue->wanted && queue->coming.len >= queue->wanted)
		pthread_cond_signal(&queue->given);
	pthread_mutex_unlock(&queue->mutex);
	if (!queue->running && !queue->alone)
		(void)workqueue_start(queue, &ignored);
	if (full || queue->alone)
		workqueue_hold(queue);
	return number;
}

void workqueue_add_once(struct workqueue *queue, struct workqueue_once *once, size_t max)
{
	if (atomic_exchange(&once->queued, true))
		return;
	(void)atomic_fetch_add_explicit(&once->pending, 1, memory_order_relaxed);
	(void)workqueue_add(queue, (const void *)&once, sizeof(once), max);
}

/*
 * The flag is cleared by an exchange and not by a store.  The exchange also reads the value that
 * the last workqueue_add_once wrote.  So the work sees everything that was written before that
 * call.
 */
struct workqueue_once *workqueue_begin_once(const void *item)
{
	struct workqueue_once *once = *(struct workqueue_once *const *)item;

	(void)atomic_exchange(&once->queued, false);
	return once;
}

void workqueue_end_once(struct workqueue_once *once)
{
	(void)atomic_fetch_sub_explicit(&once->pending, 1, memory_order_release);
}

bool workqueue_is_pending(const struct workqueue_once *once)
{
	return atomic_load_explicit(&once->pending, memory_order_acquire);
}

void workqueue_hold(struct workqueue *queue)
{
	if (queue->held)
		return;
	pthread_mutex_lock(&queue->mutex);
	queue->held = true;
	while (queue->busy)
		pthread_cond_wait(&queue->ended, &queue->mutex);
	pthread_mutex_unlock(&queue->mutex);
	/* The thread may have stopped before it had done all items it took. */
	while (take_items(queue))
		while (queue->at < queue->taken.len)
			work_on_next(queue);
}

uint64_t workqueue_last(struct workqueue *queue)
{
	pthread_mutex_lock(&queue->mutex);
	uint64_t last = queue->last;
	pthread_mutex_unlock(&queue->mutex);
	return last;
}

bool workqueue_is_done(struct workqueue *queue, uint64_t number)
{
	return queue->done >= number;
}

void workqueue_wait(struct workqueue *queue, uint64_t number)
{
	if (queue->done >= number)
		return;
	pthread_mutex_lock(&queue->mutex);
	for (note_awaited(queue, number); queue->done < number; note_awaited(queue, number))
		pthread_cond_wait(&queue->ended, &queue->mutex);
	pthread_mutex_unlock(&queue->mutex);
}

void workqueue_ask(struct workqueue *queue, uint64_t number)
{
	pthread_mutex_lock(&queue->mutex);
	note_awaited(queue, number);
	if (queue->done >= number)
		(void)eventfd_write(queue->event, 1);
	else if (!queue->asked || number < queue->asked)
		queue->asked = number;
	pthread_mutex_unlock(&queue->mutex);
}

void workqueue_stop(struct workqueue *queue)
{
	workqueue_hold(queue);
	queue->alone = true;
	if (!queue->running)
		return;
	pthread_mutex_lock(&queue->mutex);
	queue->over = true;
	pthread_cond_signal(&queue->given);
	pthread_mutex_unlock(&queue->mutex);
	pthread_join(queue->thread, NULL);
	queue->running = false;
}

void workqueue_release(struct workqueue *queue)
{
	if (!queue->work)
		return;
	workqueue_stop(queue);
	buf_release(&queue->coming);
	buf_release(&queue->taken);
	pthread_cond_destroy(&queue->given);
	pthread_cond_destroy(&queue->ended);
	pthread_mutex_destroy(&queue->mutex);
}
