/*
 * passing - eBPF programs that report calls which change nothing, without stopping these calls.
 *
 * There are four programs, each for one tracepoint.  The first runs when a thread of the command
 * forks, and adds the new thread to the command's threads.  The second runs when a thread ends, and
 * removes that thread.  The third runs at the beginning of a call, and the fourth at the end of a
 * call.
 *
 * The programs put events into a ring, in the order in which the events happened on all processors.
 * If the filter (filter.h) lets a call pass, the event of the call is in the ring before the
 * calling thread does anything else.
 *
 * The table of syscalls.c decides which calls pass.  The filter and the programs are both made from
 * this table.
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
 * Load the programs without attaching them.  The parameter ring is the number of bytes of the ring:
 * a power of two, and at least a page.  Returns NULL if this process may not load the programs, or
 * if the kernel cannot run them.
 */
struct passing *passing_new(size_t ring, struct err *err);
void passing_free(struct passing *passing);
/* Add the calling thread to the command's threads.  Returns 0 or -errno.  Async-signal-safe. */
int passing_join(const struct passing *passing);
/* Attach the programs to their tracepoints. */
int passing_attach(struct passing *passing, struct err *err);
/*
 * Returns a descriptor that becomes readable when many events in the ring are unread.  The
 * descriptor then stays readable until passing_wakes is called.
 */
int passing_fd(const struct passing *passing);
void passing_wakes(const struct passing *passing);
/*
 * Call the function 'give' for each event in the ring, in order.  Only one thread at a time may
 * call this function.
 */
void passing_drain(struct passing *passing,
	void (*give)(void *arg, const struct passing_event *event), void *arg);
/*
 * Whether the thread of an event has kept the descriptor fd open since that event.  The parameters
 * task and closes are the members of the event with these names.
 */
bool passing_has_open(const struct passing *passing, uint64_t task, uint64_t closes, unsigned fd);
void passing_count_lost(const struct passing *passing, struct passing_lost *lost);
