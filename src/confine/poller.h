/*
 * poller - waits for many descriptors and deadlines by means of one descriptor.
 *
 * The poller's descriptor is readable when an event or a deadline can be handled; poller_step
 * handles it without blocking.  So the poller can be a part of any loop, and costs nothing while
 * nothing happens.
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
	int fd; /* -1: the event is not added */
	unsigned what;
	/*
	 * Called with those events of the set 'what' (enum poller_what) that have happened.
	 * 'failed' is true if the socket has an error.  An error is always reported.
	 */
	void (*ready)(void *arg, unsigned what, bool failed);
	void *arg;
};

struct poller_timer {
	int64_t at; /* in the time of when_monotonic; 0: the timer is not set */
	void (*expired)(void *arg);
	void *arg;
	struct poller_timer *prev, *next;
};

struct poller;

struct poller *poller_new(struct err *err);
/* Free the poller.  The events and timers that it still has are no longer called. */
void poller_free(struct poller *poller);
int poller_fd(const struct poller *poller);
void poller_step(struct poller *poller);

/* Wait for the events of the set 'what' (enum poller_what) at a descriptor, which is borrowed. */
int poller_add(
	struct poller *poller, struct poller_event *event, int fd, unsigned what, struct err *err);
/*
 * Wait for the events of the set 'what' from now on.  If the set is empty, only an error is
 * reported.
 */
void poller_change(struct poller *poller, struct poller_event *event, unsigned what);
/* Stop waiting for an event.  Does nothing if the event was not added. */
void poller_remove(struct poller *poller, struct poller_event *event);

/* Call the timer's function 'expired' once, after ms milliseconds. */
void poller_set(struct poller *poller, struct poller_timer *timer, int ms);
void poller_unset(struct poller *poller, struct poller_timer *timer);
