/*
 * namespaces - user namespaces below ours, and namespaces that belong to them.
 *
 * A new namespace needs a process in it at first.  Later an open descriptor keeps it alive.  So we
 * make a child in the new namespaces, which only waits.  Through its directory in /proc we write
 * its maps of ids and open its namespaces; then the child ends.  We ourselves do not enter the
 * namespaces.
 */
#pragma once
#include <sys/types.h>

#include "core/err.h"

/* A child in new namespaces. */
struct namespaces {
	pid_t pid;   /* 0: none */
	int process; /* its directory in /proc */
	int leash;   /* socket; the child ends when it is closed */
};

#define NAMESPACES_INIT ((struct namespaces){ .process = -1, .leash = -1 })

/*
 * Make the child.  flags are those of clone(2), CLONE_NEWUSER among them.  proc is a /proc, not
 * necessarily of our PID namespace.  With CLONE_NEWUTS the hostname is set.  The cgroup with
 * descriptor cgroup becomes the root of a new cgroup namespace.  If cgroup is -1, or the kernel
 * refuses, our own cgroup becomes the root.
 */
int namespaces_make(unsigned long flags, const char *hostname, int proc, int cgroup,
	struct namespaces *out, struct err *err);

/* Map each of our ids to itself in the child's namespace; self is our directory in /proc. */
int namespaces_map_same(const struct namespaces *made, int self, struct err *err);

/* Map the ids of ids.h in the child's namespace. */
int namespaces_map_shifted(const struct namespaces *made, struct err *err);

/* Map our id 0 to an id other than 0 in the child's namespace, which has no further ids. */
int namespaces_map_nobody(const struct namespaces *made, struct err *err);

/* Make a user namespace with the ids of ids.h and no process in it.  Returns its descriptor. */
int namespaces_open_shifted(int proc, struct err *err);

/* Open a magic link of a process's directory in /proc: a namespace ("ns/user"), or "root". */
int namespaces_open(int process, const char *link, int flags, struct err *err);

/*
 * Copy our mounts into a new mount namespace, which belongs to the user namespace user.  *mnt
 * becomes a descriptor of the new namespace, and *root one of its root.
 */
int namespaces_copy_mounts(int user, int proc, int *mnt, int *root, struct err *err);

void namespaces_release(struct namespaces *made);
