/*
 * recording - says which process makes the automatic nodes of a workspace, and how that process
 * notices changes.  The owner of the workspace writes this data into its lock file.
 */
#pragma once
#include "core/arena.h"
#include "ops/env.h"

#define RECORDING_LOCK ".owner" /* suffix of the lock of an owner, ROOT/run/NAME.owner */

enum recording_mode {
	RECORDING_NONE, /* the workspace has no owner */
	RECORDING_UNKNOWN,
	RECORDING_WATCHING, /* the kernel reports every change */
	RECORDING_LOOKING,  /* changes may go unreported, so the owner also scans now and then */
};

struct recording {
	enum recording_mode mode;
	int64_t pid;
	const char *by;        /* the command that owns the workspace */
	int64_t every;         /* time between two scans in seconds */
	const char *last_node; /* the last node that the owner made by itself; NULL: none yet */
	/*
	 * The reason why the owner scans instead of watching, or makes no nodes.  NULL: the owner
	 * watches.
	 */
	const char *degraded;
};

const char *recording_mode_name(enum recording_mode mode);
/* Write *recording into the lock file.  This process must hold the lock. */
void recording_note(int lock, const struct recording *recording);
void recording_find(struct env *env, struct arena *arena, struct recording *out);
