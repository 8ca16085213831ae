/*
 * loop - an event loop that waits for descriptors, signals and timers.  It uses libevent.
 *
 * A loop belongs to one thread.  A callback may free any event, including its own.  A forked child
 * must not touch the loop that it has inherited.
 */
#pragma once
#include <stdbool.h>

#include "core/err.h"

struct loop;
struct loop_event;
typedef void loop_fn(void *arg);

enum loop_what { LOOP_READ = 1, LOOP_WRITE = 2 };

struct loop *loop_new(struct err *err); /* returns NULL on error */
void loop_free(struct loop *loop);      /* all events of the loop must be freed first */
/* Wait for events and call their callbacks until loop_stop is called. */
int loop_run(struct loop *loop, struct err *err);
void loop_stop(struct loop *loop);

/* Call fn whenever fd can be read or written, as 'what' demands.  The new event is switched on. */
struct loop_event *loop_fd(struct loop *loop, int fd, enum loop_what what, loop_fn *fn, void *arg);
/* Call fn whenever the signal arrives. */
struct loop_event *loop_signal(struct loop *loop, int sig, loop_fn *fn, void *arg);
/*
 * Make a timer.  After each loop_set, fn is called once, when the time given to loop_set has
 * passed.
 */
struct loop_event *loop_timer(struct loop *loop, loop_fn *fn, void *arg);

/* Start a timer, or restart it with a new time. */
void loop_set(struct loop_event *timer, int ms);
/* Switch any event on or off. */
void loop_switch(struct loop_event *event, bool on);
bool loop_is_set(const struct loop_event *event);
/* Free *event, which may be NULL, and set it to NULL. */
void loop_event_free(struct loop_event **event);
