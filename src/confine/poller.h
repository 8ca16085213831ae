/*
 * poller - waits for many descriptors and deadlines behind one descriptor.
 *
 * The descriptor is readable when there is something to do; poller_step does it and does not wait.
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
	/* what: of poller_what; failed: the socket has an error, whatever one waits for. */
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
/* Events and timers that are left are forgotten. */
void poller_free(struct poller *poller);
int poller_fd(const struct poller *poller);
void poller_step(struct poller *poller);

/* Wait for what on a descriptor, which is borrowed. */
int poller_add(
	struct poller *poller, struct poller_event *event, int fd, unsigned what, struct err *err);
/* Wait for something else; for nothing but an error if what is 0. */
void poller_change(struct poller *poller, struct poller_event *event, unsigned what);
/* Also for events that were not added. */
void poller_remove(struct poller *poller, struct poller_event *event);

/* Call expired once after so many milliseconds. */
void poller_set(struct poller *poller, struct poller_timer *timer, int ms);
void poller_unset(struct poller *poller, struct poller_timer *timer);
