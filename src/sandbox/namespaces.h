/*
 * namespaces - user namespaces below ours, and what belongs to them.
 *
 * A namespace comes to be with a process in it, and stays while somebody has it open.  So a child
 * is made in the new namespaces, which does nothing there; its ids are written and its namespaces
 * opened through its directory in /proc; then it goes.  We ourselves stay where we are.
 */
#pragma once
#include <sys/types.h>

#include "core/err.h"

/* A child that is in new namespaces. */
struct namespaces {
	pid_t pid;   /* 0: none */
	int process; /* its directory in /proc */
	int leash;   /* it ends when this is closed */
};

#define NAMESPACES_INIT ((struct namespaces){ .process = -1, .leash = -1 })

/*
 * Make them: flags are those of clone(2), CLONE_NEWUSER among them.  proc is a /proc, not
 * necessarily of our PID namespace.  With CLONE_NEWUTS the hostname is set.  cgroup is what a new
 * cgroup namespace shows as its root, if the kernel lets us, or -1: the one that we are in.
 */
int namespaces_make(unsigned long flags, const char *hostname, int proc, int cgroup,
	struct namespaces *out, struct err *err);

/* Give it the ids that we have, as themselves; self is our own directory in /proc. */
int namespaces_map_same(const struct namespaces *made, int self, struct err *err);

/* Give it those of ids.h. */
int namespaces_map_shifted(const struct namespaces *made, struct err *err);

/* A user namespace of these ids, and nobody in it: a descriptor.  proc is a /proc as above. */
int namespaces_open_shifted(int proc, struct err *err);

/* Open a magic link of a process's directory in /proc: a namespace ("ns/user"), or "root". */
int namespaces_open(int process, const char *link, int flags, struct err *err);

/*
 * Copy our mounts into a new mount namespace that belongs to the user namespace user: descriptors
 * of that and of its root.  proc is a /proc as above.
 */
int namespaces_copy_mounts(int user, int proc, int *mnt, int *root, struct err *err);

void namespaces_release(struct namespaces *made);
