/*
 * backlog - calls that change nothing, looked at beside the program that made them.
 *
 * What is in the program's memory has to be read while it waits for us; what that means, and what
 * is to be written down of it, does not.  So such a call is put here and goes on; it is seen
 * within moments.  Every other call is looked at when nothing is left here (backlog_hold), by
 * whoever sees it: so names and records belong to the thread of the backlog or to who holds it,
 * never to both.
 *
 * Whoever adds and holds is one thread at a time.  Items are seen in order, each once.
 */
#pragma once
#include <pthread.h>
#include <stdbool.h>

#include "core/buf.h"

struct backlog {
	void (*see)(void *arg, const void *item);
	void *arg;
	pthread_t thread;
	bool running;
	bool alone; /* there is no thread, nor will there be */
	pthread_mutex_t mutex;
	pthread_cond_t given, ended;
	struct buf coming; /* added since */
	struct buf taken;  /* being seen: from at on, whoever's it is */
	size_t at;
	size_t wanted;     /* bytes in coming that the thread waits for; 0: it does not wait */
	bool busy;         /* the thread, with taken */
	_Atomic bool held; /* the thread leaves everything alone; set by who adds and holds */
	bool over;
};

void backlog_init(struct backlog *backlog, void (*see)(void *arg, const void *item), void *arg);
/*
 * A copy of len bytes.  Whoever held it does so no more.  If there are more than max bytes then,
 * it waits until all have been seen.
 */
void backlog_add(struct backlog *backlog, const void *item, size_t len, size_t max);
/* All that was added has been seen, and the thread is idle until something is added. */
void backlog_hold(struct backlog *backlog);
/* As backlog_hold, and nothing comes after it. */
void backlog_stop(struct backlog *backlog);
void backlog_release(struct backlog *backlog);
