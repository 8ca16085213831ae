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

/* Whose ids the inside has. */
struct mounts_ids {
	bool host_root;  /* root inside is root of the machine, unless it gets the ids of ids.h */
	int userns;      /* a user namespace with these; -1: there is none, or no need of it */
	const char *why; /* there is none */
};

/*
 * Give this process, the first of a new PID namespace, a mount namespace of its
 * own with the root of the plan and nothing of the host beyond it.  The working
 * directory is plan->root.dir when it is called, and "/" afterwards.
 *
 * The inside has the ids of ids.h if there are such, and if the file systems of the root can do
 * that.
 */
int mounts_build(const struct sandbox_plan *plan, const struct mounts_ids *ids, struct mounts *out,
	struct err *err);

/* Put a copy of a directory's mount that maps ids over that directory, and return it. */
int mounts_cover_shifted(const char *path, int ids, struct err *err);

/* The overlay's options as one string for mount(2), names escaped; for kernels before 6.7. */
struct buf;
void mounts_overlay_options(const struct sandbox_root *root, struct buf *out);
