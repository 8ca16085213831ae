/*
 * mountwatch - notices file systems that are mounted while a command is traced.
 *
 * A FUSE file system may be served by a traced process, whose calls wait for us.  If we looked at a
 * file in it, the process and we would wait for each other for ever.  So a FUSE file system that
 * was mounted after the start is left alone.
 */
#pragma once
#include "trace/bundle/reasons.h"
#include "trace/observe/pathmap.h"

struct mountwatch {
	int fd; /* /proc/self/mountinfo; -1: mounts cannot be watched */
	bool on;
};

void mountwatch_init(struct mountwatch *watch);
void mountwatch_release(struct mountwatch *watch);
/* Check the mounts from now on, since a process has called mount(2) or a similar call. */
void mountwatch_begin(struct mountwatch *watch);
/*
 * If mounts have changed since the last call of this function, mark the mounts that must be left
 * alone.
 */
void mountwatch_look(struct mountwatch *watch, struct pathmap *map, struct reasons *reasons);
