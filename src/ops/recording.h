/*
 * recording - which process makes nodes of a workspace by itself, and how.  The owner of the
 * workspace writes that into the file of the lock that it holds.
 */
#pragma once
#include "core/arena.h"
#include "ops/env.h"

#define RECORDING_LOCK ".owner" /* after the name of a workspace, in ROOT/run */

enum recording_mode {
	RECORDING_NONE, /* there is no owner */
	RECORDING_UNKNOWN,
	RECORDING_WATCHING, /* the kernel reports every change */
	RECORDING_LOOKING,  /* it does not, so the owner also scans now and then */
};

struct recording {
	enum recording_mode mode;
	int64_t pid;
	const char *by;        /* the command */
	int64_t every;         /* seconds between two scans */
	const char *last_node; /* that it made by itself; NULL: none yet */
	const char *degraded;  /* why it scans instead of watching, or makes no nodes; NULL: it
				  watches */
};

const char *recording_mode_name(enum recording_mode mode);
/* For the process that holds the lock. */
void recording_note(int lock, const struct recording *recording);
void recording_find(struct env *env, struct arena *arena, struct recording *out);
