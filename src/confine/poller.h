/*
 * poller - waits for many descriptors and deadlines behind one descriptor.
 *
 * The descriptor is readable when there is something to do; poller_step does it without blocking.
 * So the poller can be a part of any loop, and costs nothing while nothing happens.
 *
 * Events and timers are members of the objects that they belong to.  A callback may remove any of
 * them, its own included, and free the object.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"

#define POLLER_BATCH 64 /* events that one step handles at most */

enum poller_what { POLLER_READ = 1, POLLER_WRITE = 2 };

struct poller_event {
	int fd; /* -1: not added */
	unsigned what;
	/*
	 * Called with the events of what (enum poller_what) that have happened.  failed says that
	 * the socket has an error; that is reported whatever the event waits for.
	 */
	void (*ready)(void *arg, unsigned what, bool failed);
	void *arg;
};

struct poller_timer {
	int64_t at; /* when_monotonic; 0: not set */
	void (*expired)(void *arg);
	void *arg;
	struct poller_timer *prev, *next;
};

struct poller;

struct poller *poller_new(struct err *err);
/* Free the poller.  It forgets the events and timers that it still has. */
void poller_free(struct poller *poller);
int poller_fd(const struct poller *poller);
void poller_step(struct poller *poller);

/* Wait for the events what of a descriptor, which is borrowed. */
int poller_add(
	struct poller *poller, struct poller_event *event, int fd, unsigned what, struct err *err);
/* Wait for other events; if what is 0, only for an error. */
void poller_change(struct poller *poller, struct poller_event *event, unsigned what);
/* Stop waiting for an event.  Does nothing if it was not added. */
void poller_remove(struct poller *poller, struct poller_event *event);

/* Call expired once, after ms milliseconds. */
void poller_set(struct poller *poller, struct poller_timer *timer, int ms);
void poller_unset(struct poller *poller, struct poller_timer *timer);
