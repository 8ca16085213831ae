/*
 * bindlist - the binds of the commands that run in a sandbox.
 *
 * A file without a name, made by the holder, of which everybody who is attached gets a descriptor.
 * A record is one write:
 *
 *	number of the mount namespace that has the bind, HOST, INSIDE, "ro" or "rw",
 *	each as text with a zero byte behind it
 *
 * Records stay until the sandbox ends: a reader asks whether a process of that mount namespace is
 * still there.
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
/* Add the binds of this process's mount namespace; self is its directory of /proc. */
int bindlist_add(int list, int self, const struct bindspecs *binds, struct err *err);
/* All records, in arena. */
int bindlist_read(
	int list, struct arena *arena, struct bindlist_entry **out, size_t *n, struct err *err);
