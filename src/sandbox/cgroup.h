/*
 * cgroup - a cgroup of version 2 for the processes of a sandbox.
 *
 * The cgroup serves only to freeze the processes.  A process does not notice that it is frozen.  No
 * controller is needed.  The cgroup lies below the caller's own cgroup.  There an ordinary user can
 * make a cgroup only if the caller's cgroup was delegated to that user.  The sandbox's holder keeps
 * the new cgroup locked, so that the cgroups of killed holders can be recognised and removed.
 */
#pragma once
#include <stdbool.h>

#include "core/err.h"

#define CGROUP_NAME_MAX 128

struct cgroup {
	int dir;    /* directory of the cgroup, locked; -1: there is no cgroup */
	int parent; /* directory that contains the cgroup under the name 'name' */
	char name[CGROUP_NAME_MAX];
};

#define CGROUP_INIT ((struct cgroup){ .dir = -1, .parent = -1 })

/* Make an empty cgroup, and remove the cgroups that killed holders have left beside it. */
int cgroup_make(const char *name, struct cgroup *out, struct err *err);
/* Remove the cgroup.  Returns false while a process is in it. */
bool cgroup_remove(const struct cgroup *cgroup);
/* Remove the cgroup with the directory 'dir', which a killed holder has left. */
void cgroup_remove_left(int dir);

/*
 * Stop or continue all processes.  If some processes do not stop within wait_ms, all processes
 * continue, and the result is ERR_LIMIT.
 */
int cgroup_freeze(const struct cgroup *cgroup, int wait_ms, struct err *err);
int cgroup_thaw(const struct cgroup *cgroup, struct err *err);
