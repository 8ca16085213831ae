/*
 * recording - who makes nodes of a workspace by itself, and how: what its owner says of itself,
 * in the file of the lock it holds.
 */
#pragma once
#include "core/arena.h"
#include "ops/env.h"

#define RECORDING_LOCK ".owner" /* behind the name of a workspace, in ROOT/run */

enum recording_mode {
	RECORDING_NONE, /* nobody does */
	RECORDING_UNKNOWN,
	RECORDING_WATCHING, /* told of every change */
	RECORDING_LOOKING,  /* not of every one: it looks now and then */
};

struct recording {
	enum recording_mode mode;
	int64_t pid;
	const char *by;        /* the command */
	int64_t every;         /* seconds between two looks */
	const char *last_node; /* that it made by itself; NULL: none yet */
	const char *degraded;  /* why it looks, or makes no nodes; NULL: it does all */
};

const char *recording_mode_name(enum recording_mode mode);
/* As the one that holds the lock. */
void recording_note(int lock, const struct recording *recording);
void recording_find(struct env *env, struct arena *arena, struct recording *out);
