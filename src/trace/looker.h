/*
 * looker - looks at files for the first time beside the program that named them.
 *
 * A program that only asks about a file need not wait until we have looked at it too:
 * nothing changes before a call that may change something comes, and that one waits until
 * everything asked before it has been looked at (looker_catch_up).  Records are given and
 * caught up with by one thread, and are looked at by one at a time.
 */
#pragma once
#include <pthread.h>
#include <stdbool.h>

struct record; /* of trace/recorder.h */

struct looker {
	void (*look)(void *arg, struct record *record);
	void *arg;
	pthread_t thread;
	bool running;
	bool alone; /* there is no thread, nor will there be */
	pthread_mutex_t mutex;
	pthread_cond_t given, ended;
	struct record *first, **last; /* in the order they came */
	bool waiting;                 /* the thread, for records */
	bool busy;                    /* the thread, with one */
	bool caught_up_with;          /* the thread lets the other do the rest */
	bool over;
};

void looker_init(struct looker *looker, void (*look)(void *arg, struct record *record), void *arg);
/* To be looked at soon, also once more; at once where there is no thread to be had. */
void looker_add(struct looker *looker, struct record *record);
/* All that were given have been looked at when it returns. */
void looker_catch_up(struct looker *looker);
/* As looker_catch_up, and nothing comes after it. */
void looker_stop(struct looker *looker);
void looker_release(struct looker *looker);
