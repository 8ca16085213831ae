/*
 * missing - opens of files that were not there when the call was looked at.
 *
 * Such a call goes on after the look, and so does a call of another thread that gives the file its
 * name: the open may find it after all, and no engine that stops calls learns how one ended.  So
 * where the two may overlap the file is told of as read.  They do when the other call was looked at
 * before and its thread has made no call since (an entry that is unsettled, see pathmap.h), or when
 * it is looked at before the thread that opens makes its next call.
 */
#pragma once
#include <stddef.h>
#include <sys/types.h>

#include "trace/recorder.h"

struct missing {
	struct missing_open *opens; /* at most one of each thread */
	size_t n, cap;
};

void missing_release(struct missing *missing);
/* A thread of the recorder's current process opens what is not there. */
void missing_add(
	struct missing *missing, struct recorder *recorder, pid_t tid, struct record *record);
/* The thread makes another call: its open is over. */
void missing_over(struct missing *missing, pid_t tid);
/* A call of the thread tid may make this name, or, if it is a directory, all that is below it. */
void missing_may_appear(struct missing *missing, struct recorder *recorder, pid_t tid,
	const struct pathmap_entry *entry);
