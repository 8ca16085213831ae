/*
 * passing - eBPF programs that report calls which change nothing, without stopping them.
 *
 * There are four programs, each for one tracepoint.  When a thread of the command forks, the first
 * program adds the new thread to the command's threads.  The second removes a thread that has
 * ended.  The third handles the beginning of a call, and the fourth its end.  The programs put
 * events into a ring, in the order in which the events happened on all processors.  The event of a
 * call that the filter lets pass (filter.h) is in the ring before the calling thread does anything
 * else.
 *
 * The table of syscalls.c decides which calls pass, for the filter and for the programs.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/err.h"
#include "trace/engine/passing_event.h"

struct passing;

#define PASSING_RING_LEAST ((size_t)4096)

/*
 * Load the programs without attaching them.  ring is the size of the ring in bytes: a power of two,
 * and at least a page.  Returns NULL if this process may not load the programs, or if the kernel
 * cannot run them.
 */
struct passing *passing_new(size_t ring, struct err *err);
void passing_free(struct passing *passing);
/* Add the calling thread to the command's threads.  Returns 0 or -errno.  Async-signal-safe. */
int passing_join(const struct passing *passing);
/* Attach the programs to their tracepoints. */
int passing_attach(struct passing *passing, struct err *err);
/*
 * Returns a descriptor that becomes readable when the ring fills.  Afterwards it stays readable
 * until passing_wakes is called.
 */
int passing_fd(const struct passing *passing);
void passing_wakes(const struct passing *passing);
/*
 * Call give for each event in the ring, in order.  Only one thread at a time may call this
 * function.
 */
void passing_drain(struct passing *passing,
	void (*give)(void *arg, const struct passing_event *event), void *arg);
/*
 * Whether the thread of an event has kept the descriptor fd open since the event.  task and closes
 * are members of the event.
 */
bool passing_has_open(const struct passing *passing, uint64_t task, uint64_t closes, unsigned fd);
void passing_count_lost(const struct passing *passing, struct passing_lost *lost);
