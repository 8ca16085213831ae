/*
 * passing - calls that change nothing, seen by eBPF programs while they pass.
 *
 * Four programs at tracepoints: one notes who is of the command's processes (a fork of one of them
 * is one), one that somebody has ended, one sees calls begin and one sees them end.  What they
 * see is put into a ring, in the order in which it happened, whatever processor it was on.  A call
 * that the filter lets pass (see filter.h) has an event there before its thread can do anything
 * else.
 *
 * Which calls these are the tables of syscalls.c say, for the filter and for us.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/err.h"
#include "trace/passing_event.h"

struct passing;

#define PASSING_RING_LEAST ((size_t)4096)

/*
 * Load the programs; they are attached nowhere.  ring: bytes, a power of two; at least a page. NULL
 * and the error: this process may not, or the kernel cannot.
 */
struct passing *passing_new(size_t ring, struct err *err);
void passing_free(struct passing *passing);
/* This thread, and who comes from it, is of the command.  Async-signal-safe.  0 or -errno. */
int passing_join(const struct passing *passing);
int passing_attach(struct passing *passing, struct err *err);
/* Can be read when much has come, until passing_wakes is called.  It may never be for little. */
int passing_fd(const struct passing *passing);
void passing_wakes(const struct passing *passing);
/* Give all events that began before this call, in order.  By one thread at a time. */
void passing_drain(struct passing *passing,
	void (*give)(void *arg, const struct passing_event *event), void *arg);
/* Whether that thread has not closed this descriptor since the event that task and closes are of.
 */
bool passing_has_open(const struct passing *passing, uint64_t task, uint64_t closes, unsigned fd);
void passing_count_lost(const struct passing *passing, struct passing_lost *lost);
