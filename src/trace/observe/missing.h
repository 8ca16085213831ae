/*
 * missing - opens and executions of files that did not exist when we looked.
 *
 * Such a call goes on after our look.  If another thread makes the file at the same time, the call
 * may find it after all, and an engine that stops calls does not learn how a call ended.  So the
 * file is recorded as opened or executed if the call that makes it and the call that misses it may
 * overlap.  They may overlap in two cases:
 *
 * 1. We have looked at the call that makes the file first, and its thread has made no call since.
 *    Then the entry is unsettled (pathmap.h).
 * 2. We look at the call that makes the file before the thread that misses the file makes its next
 *    call.
 */
#pragma once
#include <stddef.h>
#include <sys/types.h>

#include "trace/observe/recorder.h"

struct missing {
	struct missing_call *calls; /* at most one for each thread */
	size_t n, cap;
};

void missing_release(struct missing *missing);
/*
 * Note that the thread tid, which belongs to the current process of the recorder, tries to do ops
 * to a file that does not exist.
 */
void missing_add(struct missing *missing, struct recorder *recorder, pid_t tid,
	struct record *record, unsigned ops);
/*
 * Forget the call that a thread has in missing: the call is over, since the thread makes another
 * one.  Returns the record of the program that the thread may have executed, whose interpreter is
 * not recorded yet, or NULL.
 */
struct record *missing_over(struct missing *missing, pid_t tid);
/*
 * Record the calls in missing that may find their file after all, since a call of the thread tid
 * may make entry: as that file, or as a directory above it.
 */
void missing_may_appear(struct missing *missing, struct recorder *recorder, pid_t tid,
	const struct pathmap_entry *entry);
