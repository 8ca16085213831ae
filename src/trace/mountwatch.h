/*
 * mountwatch - file systems that are mounted while a command is traced.
 *
 * A FUSE file system may be served by a traced process, whose calls wait for us: to
 * look at a file in it would be to wait for each other for ever.  So what lies in one that
 * was not there at the start is left alone.
 */
#pragma once
#include "core/err.h"
#include "trace/pathmap.h"
#include "trace/reasons.h"

struct mountwatch {
	int fd; /* /proc/self/mountinfo; -1: cannot be watched */
	bool on;
};

void mountwatch_init(struct mountwatch *watch);
void mountwatch_release(struct mountwatch *watch);
/* Somebody mounts something: from now on look. */
void mountwatch_begin(struct mountwatch *watch);
/* If mounts have changed since the last call: mark those to be left alone in the map. */
void mountwatch_look(struct mountwatch *watch, struct pathmap *map, struct reasons *reasons);
