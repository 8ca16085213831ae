/*
 * workqueue - one thread that works on items in the order they were added.
 *
 * The producer can hold the queue.  workqueue_hold returns when every item is done, and the thread
 * then stays idle until the next item is added.  workqueue_hold itself does the items that the
 * thread has not begun, since waking a sleeping thread takes longer.  So the data that the work
 * touches belongs either to the thread or to the producer that holds the queue, never to both.
 *
 * Items have numbers, which grow from 1.  A producer that does not want to hold the queue waits for
 * a number instead.  Several producers may use a queue at a time only if it is never held before
 * workqueue_stop.
 *
 * The first item starts the thread.  If no thread can be started, the producer does the work.
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
	 * The caller may set the members 'pause_ns' and 'enough' after workqueue_init.  When all
	 * items are done, the thread first pauses for 'pause_ns'.  During the pause, a producer
	 * wakes the thread only when 'enough' bytes of items wait.  After the pause, any item wakes
	 * the thread.
	 */
	int64_t pause_ns; /* 0: no pause */
	size_t enough;
	pthread_t thread;
	bool running;
	bool alone; /* there is no thread, and none will be started */
	pthread_mutex_t mutex;
	pthread_cond_t given, ended;
	struct buf coming; /* items added since the thread last took items */
	struct buf taken;  /* items being worked on; the items before 'at' are done */
	size_t at;
	size_t wanted;     /* bytes in 'coming' at which the thread is woken; 0: it is awake */
	bool busy;         /* the thread is at work on 'taken' */
	_Atomic bool held; /* the thread must not touch anything */
	bool over;
	uint64_t last;            /* number of the item added last */
	_Atomic uint64_t done;    /* number of the item done last */
	_Atomic uint64_t awaited; /* smallest number that a thread waits for; 0: none */
	uint64_t asked;           /* smallest number that event will signal; 0: none */
	int event;                /* eventfd, or -1 */
};

void workqueue_init(struct workqueue *queue, void (*work)(void *arg, const void *item), void *arg);
/*
 * Start the thread now.  This is for a caller that cannot do the work itself, and so must know
 * whether a thread was started.
 */
int workqueue_start(struct workqueue *queue, struct err *err);
/*
 * Add a copy of an item of len bytes.  The copy is aligned for any type.  If the queue was held,
 * the thread starts to work again.  But if more than max bytes are waiting, this function holds the
 * queue, so all items are done when it returns.  Returns the item's number.
 */
uint64_t workqueue_add(struct workqueue *queue, const void *item, size_t len, size_t max);

/* A member for objects that can be in the queue only once at a time. */
struct workqueue_once {
	_Atomic bool queued;      /* the object is in the queue, and its work has not begun */
	_Atomic unsigned pending; /* times queued, minus times the work has ended */
};

/*
 * Add the object that contains the member *once.  An object that waits in the queue is not added
 * again.  The item is the address of the member.
 */
void workqueue_add_once(struct workqueue *queue, struct workqueue_once *once, size_t max);
/*
 * To be called at the beginning of the work function.  Returns the member that was added.  From now
 * on, the object can be added again.  At its end, the work function must call workqueue_end_once.
 */
struct workqueue_once *workqueue_begin_once(const void *item);
void workqueue_end_once(struct workqueue_once *once);
/* Whether the object was added and its work has not ended since. */
bool workqueue_is_pending(const struct workqueue_once *once);

/* Return when all items are done.  The thread then stays idle until the next item is added. */
void workqueue_hold(struct workqueue *queue);

/* The number of the item added last, or 0 if there was none. */
uint64_t workqueue_last(struct workqueue *queue);
/* Whether all items up to this number are done. */
bool workqueue_is_done(struct workqueue *queue, uint64_t number);
void workqueue_wait(struct workqueue *queue, uint64_t number);
/* From now on, queue->event becomes readable when all items up to this number are done. */
void workqueue_ask(struct workqueue *queue, uint64_t number);

/* Hold the queue and end its thread.  From now on the producer does the work. */
void workqueue_stop(struct workqueue *queue);
/* Stop the queue and free its memory; the queue may be all zero. */
void workqueue_release(struct workqueue *queue);
