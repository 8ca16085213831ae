/*
 * mountwatch - notices file systems that are mounted while a command is traced.
 *
 * A traced process may serve a FUSE file system, and each call of that process waits for strata.
 * If strata examined a file of that file system, the process and strata would wait for each other
 * for ever.  So strata touches no FUSE file system that was mounted after the start of the trace.
 */
#pragma once
#include "trace/bundle/reasons.h"
#include "trace/observe/pathmap.h"

struct mountwatch {
	int fd; /* descriptor of /proc/self/mountinfo; -1: mounts cannot be watched */
	bool on;
};

void mountwatch_init(struct mountwatch *watch);
void mountwatch_release(struct mountwatch *watch);
/* Begin to check the mounts.  To be called when a process has called mount(2) or a similar call. */
void mountwatch_begin(struct mountwatch *watch);
/*
 * If mounts have changed since the last call of this function, mark the mounts that strata must not
 * touch.
 */
void mountwatch_look(struct mountwatch *watch, struct pathmap *map, struct reasons *reasons);
