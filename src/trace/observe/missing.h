/*
 * missing - opens of files that were not there when the call was looked at.
 *
 * Such a call goes on after the look.  If another thread makes the file at the same time, the open
 * may find it after all, and an engine that stops calls does not learn how a call ended.  So if the
 * two calls may overlap, the file is recorded as read.  They may overlap in two cases.  Either the
 * other call was looked at first, and its thread has made no call since (the entry is unsettled,
 * see pathmap.h).  Or the other call is looked at before the thread that opens makes its next call.
 */
#pragma once
#include <stddef.h>
#include <sys/types.h>

#include "trace/observe/recorder.h"

struct missing {
	struct missing_open *opens; /* at most one for each thread */
	size_t n, cap;
};

void missing_release(struct missing *missing);
/* A thread of the recorder's current process opens a file that is not there. */
void missing_add(
	struct missing *missing, struct recorder *recorder, pid_t tid, struct record *record);
/* The thread makes another call, so its open is over. */
void missing_over(struct missing *missing, pid_t tid);
/* A call of the thread tid may make this path, or a directory with all that is below it. */
void missing_may_appear(struct missing *missing, struct recorder *recorder, pid_t tid,
	const struct pathmap_entry *entry);
