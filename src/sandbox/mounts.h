/* mounts - the file systems of a sandbox. */
#pragma once
#include "core/err.h"
#include "sandbox/plan.h"

#define MOUNTS_DEGRADED_MAX 1024

struct mounts {
	int proc;                           /* the sandbox's /proc, owned; -1: it has none */
	bool shifted;                       /* the sandbox has the ids of ids.h */
	char degraded[MOUNTS_DEGRADED_MAX]; /* features that the sandbox lacks, one on each line */
};

/* The ids that the sandbox may have. */
struct mounts_ids {
	/* root in the sandbox is root of the machine, unless it gets the ids of ids.h */
	bool host_root;
	int userns;      /* a user namespace with the ids of ids.h; -1: none */
	const char *why; /* reason why there is no such user namespace */
};

/* Make a mount namespace for this process.  Other namespaces do not see its later mounts. */
int mounts_unshare(struct err *err);

/*
 * Give this process a mount namespace of its own.  The process must be the first of a new PID
 * namespace.  Of the host, the mount namespace contains only the root of the plan, copies of parts
 * of /dev and /sys, and resolv.conf.  The working directory has to be plan->root.dir.  Afterwards
 * the working directory is "/".
 *
 * The sandbox gets the ids of ids.h if ids->userns is given and the root's file systems can map
 * ids.
 */
int mounts_build(const struct sandbox_plan *plan, const struct mounts_ids *ids, struct mounts *out,
	struct err *err);

/* Cover a directory with a copy of its mount that maps ids.  Returns the copy. */
int mounts_cover_shifted(const char *path, int ids, struct err *err);

struct buf;
/*
 * Append the overlay's options as one string for mount(2), with escaped names.  Kernels before 6.7
 * need this form.
 */
void mounts_overlay_options(const struct sandbox_root *root, struct buf *out);
