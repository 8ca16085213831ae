/*
 * bindlist - the binds of the commands that run in a sandbox.
 *
 * The list is a memory file that the holder makes.  Every attached strata has a descriptor of it.
 * A record is one write of four texts, each with a zero byte after it:
 *
 *	number of the mount namespace that has the bind, HOST, INSIDE, "ro" or "rw"
 *
 * Records stay until the sandbox ends.  A reader has to check that a process of that mount
 * namespace still exists.
 */
#pragma once
#include "core/arena.h"
#include "core/err.h"
#include "sandbox/bindspec.h"

struct bindlist_entry {
	struct bindspec bind;
	unsigned long long mnt; /* inode number of the mount namespace */
};

int bindlist_new(struct err *err);
/* Add the binds of the mount namespace with the descriptor 'mnt'. */
int bindlist_add(int list, int mnt, const struct bindspecs *binds, struct err *err);
/* Read all records.  The arena owns the result. */
int bindlist_read(
	int list, struct arena *arena, struct bindlist_entry **out, size_t *n, struct err *err);
