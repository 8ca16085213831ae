/*
 * mounts - the file systems of a sandbox.
 */
#pragma once
#include "core/err.h"
#include "sandbox/plan.h"

#define MOUNTS_DEGRADED_MAX 1024

struct mounts {
	int proc;                           /* the sandbox's /proc, owned; -1: it has none */
	bool shifted;                       /* the inside is to have the ids of ids.h */
	char degraded[MOUNTS_DEGRADED_MAX]; /* what the inside has to do without, one a line */
};

/*
 * Give this process, the first of a new PID namespace, a mount namespace of its
 * own with the root of the plan and nothing of the host beyond it.  The working
 * directory is plan->root.dir when it is called, and "/" afterwards.
 *
 * ids is a user namespace with the ids of ids.h, for an inside that has these, if the file systems
 * of the root can do that; or -1.
 */
int mounts_build(const struct sandbox_plan *plan, int ids, struct mounts *out, struct err *err);

/* Put a copy of a directory's mount that maps ids over that directory, and return it. */
int mounts_cover_shifted(const char *path, int ids, struct err *err);

/* The overlay's options as one string for mount(2), names escaped; for kernels before 6.7. */
struct buf;
void mounts_overlay_options(const struct sandbox_root *root, struct buf *out);
