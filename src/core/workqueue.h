/*
 * workqueue - one thread that works on items in the order they were added.
 *
 * The producer can take the work back: workqueue_hold returns when every item has been worked on,
 * and the thread stays idle until the next item is added.  The holder does the items that the
 * thread has not begun itself, since waking a sleeping thread takes longer.  So what the work
 * touches belongs either to the thread or to the holder, never to both.
 *
 * Items have numbers, which grow from 1.  A producer that does not want to hold the queue waits for
 * a number instead.  Only a queue that is never held, but for workqueue_stop, may have several
 * producers at a time.
 *
 * The thread is started with the first item.  Where none can be started, the producer works.
 */
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"

struct workqueue {
	void (*work)(void *arg, const void *item);
	void *arg;
	/*
	 * Set by the caller after workqueue_init.  A thread that has run out of items pauses before
	 * it waits: producers need not wake it until there are enough bytes to work on.
	 */
	int64_t pause_ns; /* 0: no pause */
	size_t enough;
	pthread_t thread;
	bool running;
	bool alone; /* there is no thread, and none will be started */
	pthread_mutex_t mutex;
	pthread_cond_t given, ended;
	struct buf coming; /* added since the thread last took items */
	struct buf taken;  /* being worked on, from at on */
	size_t at;
	size_t wanted;     /* bytes in coming that the thread waits for; 0: it does not wait */
	bool busy;         /* the thread is at work on taken */
	_Atomic bool held; /* the thread must not touch anything */
	bool over;
	uint64_t last;            /* number of the item added last */
	_Atomic uint64_t done;    /* number of the item done last */
	_Atomic uint64_t awaited; /* smallest number that a thread waits for; 0: none */
	uint64_t asked;           /* smallest number that event will signal; 0: none */
	int event;                /* eventfd, or -1 */
};

void workqueue_init(struct workqueue *queue, void (*work)(void *arg, const void *item), void *arg);
/* Start the thread now, for a caller that cannot work itself. */
int workqueue_start(struct workqueue *queue, struct err *err);
/*
 * Add a copy of len bytes, aligned for any type; the queue is no longer held.  When more than max
 * bytes are waiting, hold the queue until all are done.  Returns the item's number.
 */
uint64_t workqueue_add(struct workqueue *queue, const void *item, size_t len, size_t max);

/* Part of an object that is in the queue at most once. */
struct workqueue_once {
	_Atomic bool queued;      /* its work has not begun */
	_Atomic unsigned pending; /* times it was queued and not worked on since */
};

/* Add the address of once, unless it is already in the queue. */
void workqueue_add_once(struct workqueue *queue, struct workqueue_once *once, size_t max);
/* For the work function: the item.  If it is added from now on, it is worked on once more. */
struct workqueue_once *workqueue_begin_once(const void *item);
void workqueue_end_once(struct workqueue_once *once);
/* Whether it was added and has not been worked on since. */
bool workqueue_is_pending(const struct workqueue_once *once);

/* Return when all items are done; the thread is idle until the next one is added. */
void workqueue_hold(struct workqueue *queue);

/* The number of the item added last; 0: there was none. */
uint64_t workqueue_last(struct workqueue *queue);
/* Whether all items up to this number are done. */
bool workqueue_is_done(struct workqueue *queue, uint64_t number);
void workqueue_wait(struct workqueue *queue, uint64_t number);
/* Make event readable when this number is done. */
void workqueue_ask(struct workqueue *queue, uint64_t number);

/* Hold the queue and end its thread: from now on the producer works. */
void workqueue_stop(struct workqueue *queue);
/* Stop the queue and free it; a queue that is all zero is fine. */
void workqueue_release(struct workqueue *queue);
