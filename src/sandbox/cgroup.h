/*
 * cgroup - a group of version 2 for the processes of a sandbox.
 *
 * Only to freeze them, which the processes do not notice; no controller is
 * needed.  It lies below the caller's own group, where an ordinary user can make
 * one only if that was delegated to it.  Whoever has it open holds a lock on it, so
 * that those left behind by the killed can be told and removed.
 */
#pragma once
#include <stdbool.h>

#include "core/err.h"

#define CGROUP_NAME_MAX 128

struct cgroup {
	int dir;    /* locked; -1: none could be made */
	int parent; /* where it lies under name */
	char name[CGROUP_NAME_MAX];
};

#define CGROUP_INIT                                                                                \
	{                                                                                          \
		.dir = -1, .parent = -1                                                            \
	}

/* A new, empty group; those that were left behind beside it go. */
int cgroup_make(const char *name, struct cgroup *out, struct err *err);
/* Remove it; false while somebody is in it. */
bool cgroup_remove(const struct cgroup *cgroup);
/* The same, by its directory alone, for who finds it left behind. */
void cgroup_remove_left(int dir);

/* Stop all its processes or let them go on; ERR_LIMIT when they do not stop in wait_ms. */
int cgroup_freeze(const struct cgroup *cgroup, int wait_ms, struct err *err);
int cgroup_thaw(const struct cgroup *cgroup, struct err *err);
