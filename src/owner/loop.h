/*
 * loop - waiting for many things at once, through libevent.
 *
 * One thread.  A callback may free any event, its own included.  A forked child
 * must not touch the loop it inherited.
 */
#pragma once
#include <stdbool.h>

#include "core/err.h"

struct loop;
struct loop_event;
typedef void loop_fn(void *arg);

enum loop_what { LOOP_READ = 1, LOOP_WRITE = 2 };

struct loop *loop_new(struct err *err); /* NULL on error */
void loop_free(struct loop *loop);      /* after all its events */
/* Until loop_stop. */
int loop_run(struct loop *loop, struct err *err);
void loop_stop(struct loop *loop);

/* Call fn whenever fd can be read or written; it begins switched on. */
struct loop_event *loop_fd(struct loop *loop, int fd, enum loop_what what, loop_fn *fn, void *arg);
/* Call fn for every signal that comes. */
struct loop_event *loop_signal(struct loop *loop, int sig, loop_fn *fn, void *arg);
/* Call fn once, so many milliseconds after each loop_set. */
struct loop_event *loop_timer(struct loop *loop, loop_fn *fn, void *arg);

/* (Re)start a timer. */
void loop_set(struct loop_event *timer, int ms);
/* Switch any event on or off. */
void loop_switch(struct loop_event *event, bool on);
bool loop_is_set(const struct loop_event *event);
/* Frees what *event is, which may be NULL, and clears it. */
void loop_event_free(struct loop_event **event);
