#include "trace/looker.h"

#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

#include "core/thread.h"

/* Between two batches: who names thousands of files wakes us once for many of them. */
#define NAP_US 150
/* Taken at a time: the mutex is not for each, and who catches up does not wait for many. */
#define BATCH 16

/* Under the mutex: it may have been given again meanwhile. */
static void looked_at(struct looker_item *item)
{
	atomic_store_explicit(&item->pending, item->queued, memory_order_release);
}

/* --- the thread --- */

static struct looker_item *take(struct looker *looker)
{
	struct looker_item *item = looker->first;

	looker->first = item->next;
	if (!looker->first)
		looker->last = &looker->first;
	item->queued = false;
	return item;
}

/* Under the mutex, which is free while it looks.  Whether there was anything. */
static bool look_at_some(struct looker *looker)
{
	struct looker_item *batch[BATCH];
	size_t n = 0;

	while (looker->first && n < BATCH && !looker->caught_up_with)
		batch[n++] = take(looker);
	if (!n)
		return false;
	looker->busy = true;
	pthread_mutex_unlock(&looker->mutex);
	for (size_t i = 0; i < n; i++)
		looker->look(looker->arg, batch[i]);
	pthread_mutex_lock(&looker->mutex);
	for (size_t i = 0; i < n; i++)
		looked_at(batch[i]);
	looker->busy = false;
	pthread_cond_signal(&looker->ended);
	return true;
}

static void *work(void *arg)
{
	struct looker *looker = arg;

	pthread_mutex_lock(&looker->mutex);
	while (!looker->over) {
		if (look_at_some(looker)) {
			if (looker->first)
				continue;
			pthread_mutex_unlock(&looker->mutex);
			(void)usleep(NAP_US);
			pthread_mutex_lock(&looker->mutex);
			continue;
		}
		looker->waiting = true;
		pthread_cond_wait(&looker->given, &looker->mutex);
		looker->waiting = false;
	}
	pthread_mutex_unlock(&looker->mutex);
	return NULL;
}

/* --- the other side --- */

void looker_init(
	struct looker *looker, void (*look)(void *arg, struct looker_item *item), void *arg)
{
	*looker = (struct looker){ .look = look, .arg = arg };
	looker->last = &looker->first;
	pthread_mutex_init(&looker->mutex, NULL);
	pthread_cond_init(&looker->given, NULL);
	pthread_cond_init(&looker->ended, NULL);
}

/* With the first item: the command has been forked by then. */
static bool start(struct looker *looker)
{
	struct err ignored = { 0 };

	if (looker->running || looker->alone)
		return looker->running;
	looker->running = thread_start(&looker->thread, work, looker, &ignored) == 0;
	looker->alone = !looker->running;
	return looker->running;
}

void looker_add(struct looker *looker, struct looker_item *item)
{
	if (!start(looker)) {
		looker->look(looker->arg, item);
		return;
	}
	pthread_mutex_lock(&looker->mutex);
	if (!item->queued) {
		item->queued = true;
		atomic_store_explicit(&item->pending, true, memory_order_relaxed);
		item->next = NULL;
		*looker->last = item;
		looker->last = &item->next;
	}
	if (looker->waiting)
		pthread_cond_signal(&looker->given);
	pthread_mutex_unlock(&looker->mutex);
}

/* What the thread has not begun with we do ourselves: it may sleep. */
void looker_catch_up(struct looker *looker)
{
	if (!looker->running)
		return;
	pthread_mutex_lock(&looker->mutex);
	looker->caught_up_with = true;
	while (looker->busy)
		pthread_cond_wait(&looker->ended, &looker->mutex);
	while (looker->first) {
		struct looker_item *item = take(looker);

		looker->look(looker->arg, item);
		looked_at(item);
	}
	looker->caught_up_with = false;
	pthread_mutex_unlock(&looker->mutex);
}

void looker_stop(struct looker *looker)
{
	looker_catch_up(looker);
	looker->alone = true;
	if (!looker->running)
		return;
	pthread_mutex_lock(&looker->mutex);
	looker->over = true;
	pthread_cond_signal(&looker->given);
	pthread_mutex_unlock(&looker->mutex);
	pthread_join(looker->thread, NULL);
	looker->running = false;
}

void looker_release(struct looker *looker)
{
	looker_stop(looker);
	pthread_cond_destroy(&looker->given);
	pthread_cond_destroy(&looker->ended);
	pthread_mutex_destroy(&looker->mutex);
}
