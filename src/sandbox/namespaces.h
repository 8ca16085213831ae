/*
 * namespaces - makes user namespaces below that of this process, and namespaces that belong to
 * them.
 *
 * A new namespace needs a process in it at first.  Later an open descriptor keeps the namespace
 * alive.  So this process makes a child in the new namespaces.  The child only waits.  Through the
 * child's directory in /proc, this process writes the maps of ids and opens the namespaces.  Then
 * the child ends.  This process itself does not enter the namespaces.
 */
#pragma once
#include <sys/types.h>

#include "core/err.h"

/* A child in new namespaces. */
struct namespaces {
	pid_t pid;   /* 0: none */
	int process; /* descriptor of the child's directory in /proc */
	int leash;   /* socket to the child, which ends when this socket is closed */
};

#define NAMESPACES_INIT ((struct namespaces){ .process = -1, .leash = -1 })

/*
 * Make the child.  'flags' are those of clone(2), and include CLONE_NEWUSER.  'proc' is a /proc,
 * possibly of another PID namespace.  With CLONE_NEWUTS the hostname is set.  The cgroup with the
 * descriptor 'cgroup' becomes the root of a new cgroup namespace.  If 'cgroup' is -1, or the kernel
 * refuses it, the cgroup of this process becomes the root.
 */
int namespaces_make(unsigned long flags, const char *hostname, int proc, int cgroup,
	struct namespaces *out, struct err *err);

/*
 * Map each id of this process to itself in the child's namespace.  'self' is this process's
 * directory in /proc.
 */
int namespaces_map_same(const struct namespaces *made, int self, struct err *err);

/* Map the ids of ids.h in the child's namespace. */
int namespaces_map_shifted(const struct namespaces *made, struct err *err);

/*
 * Map id 0 of this process to an id other than 0 in the child's namespace.  That namespace has no
 * other ids.
 */
int namespaces_map_nobody(const struct namespaces *made, struct err *err);

/* Make a user namespace that has the ids of ids.h and no process.  Returns its descriptor. */
int namespaces_open_shifted(int proc, struct err *err);

/* Open a magic link of a process's directory in /proc: a namespace ("ns/user"), or "root". */
int namespaces_open(int process, const char *link, int flags, struct err *err);

/*
 * Copy the mounts of this process into a new mount namespace, which belongs to the user namespace
 * with the descriptor 'user'.  *mnt becomes a descriptor of the new namespace, and *root one of its
 * root directory.
 */
int namespaces_copy_mounts(int user, int proc, int *mnt, int *root, struct err *err);

void namespaces_release(struct namespaces *made);
