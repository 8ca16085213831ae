/*
 * missing - calls that open or execute a file that did not exist when strata examined the call.
 *
 * Such a call goes on after the examination.  If another thread makes the file at the same time,
 * the call may find the file after all.  An engine that stops calls does not learn how a call
 * ended.  So the file is recorded as opened or executed if the call that makes the file may overlap
 * the call that misses it.  The two calls may overlap in two cases:
 *
 * 1. The call that makes the file was examined first, and its thread has made no call since.  Then
 *    the entry is unsettled (pathmap.h).
 * 2. The call that makes the file is examined before the thread that misses the file makes its next
 *    call.
 */
#pragma once
#include <stddef.h>
#include <sys/types.h>

#include "trace/observe/recorder.h"

struct missing {
	struct missing_call *calls; /* at most one element for each thread */
	size_t n, cap;
};

void missing_release(struct missing *missing);
/*
 * Remember that the thread tid tries to do the operations ops to a file that does not exist.  The
 * recorder's current process must be the process of the thread.
 */
void missing_add(struct missing *missing, struct recorder *recorder, pid_t tid,
	struct record *record, unsigned ops);
/*
 * Forget the call that is remembered for a thread.  To be called when the thread makes another
 * call, since the remembered call is then over.  Returns the record of a program that the thread
 * may have executed, and whose interpreter is not recorded yet.  Returns NULL if there is no such
 * program.
 */
struct record *missing_over(struct missing *missing, pid_t tid);
/*
 * To be called when a call of the thread tid may make the file of an entry.  Records each
 * remembered call for this file, or for a file below it, since such a call may then find its file
 * after all.
 */
void missing_may_appear(struct missing *missing, struct recorder *recorder, pid_t tid,
	const struct pathmap_entry *entry);
