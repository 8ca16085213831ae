/*
 * looker - looks at files for the first time beside the program that named them.
 *
 * A program that only asks about a file need not wait until we have looked at it too: what
 * changes files is announced by a call, and that one waits until everything asked before it has
 * been looked at (looker_catch_up).  Writes to what is open already are not announced; where they
 * may change something else than what was opened, the recorder leaves nothing to us
 * (recorder_look_at_once).
 *
 * Whoever gives items and catches up with them is one thread at a time.  Items are looked at in
 * order, by one at a time.
 */
#pragma once
#include <pthread.h>
#include <stdbool.h>

/* Part of what is looked at. */
struct looker_item {
	struct looker_item *next; /* under the mutex */
	bool queued;              /* likewise */
	_Atomic bool pending;     /* given, and not looked at since */
};

struct looker {
	void (*look)(void *arg, struct looker_item *item);
	void *arg;
	pthread_t thread;
	bool running;
	bool alone; /* there is no thread, nor will there be */
	pthread_mutex_t mutex;
	pthread_cond_t given, ended;
	struct looker_item *first, **last; /* in the order they came */
	bool waiting;                      /* the thread, for items */
	bool busy;                         /* the thread, with some */
	bool caught_up_with;               /* the thread lets the other do the rest */
	bool over;
};

void looker_init(
	struct looker *looker, void (*look)(void *arg, struct looker_item *item), void *arg);
/* To be looked at soon, also once more; at once where there is no thread to be had. */
void looker_add(struct looker *looker, struct looker_item *item);
/* All that were given have been looked at when it returns. */
void looker_catch_up(struct looker *looker);
/* As looker_catch_up, and nothing comes after it. */
void looker_stop(struct looker *looker);
void looker_release(struct looker *looker);
