/*
 * replay_place - where a command is run again: a temporary directory for what it changes, and
 * a mount namespace in which that is seen in place of the machine's own.
 */
#pragma once
#include "trace/replay_cover.h"

struct replay_place {
	int parent, dir;   /* of the temporary directory, and itself */
	char *path, *name; /* absolute; and in parent */
};

#define REPLAY_PLACE_INIT                                                                          \
	{                                                                                          \
		.parent = -1, .dir = -1                                                            \
	}

/* Make the temporary directory, at a path that is not covered. */
int replay_place_init(
	struct replay_place *place, const struct replay_cover *cover, struct err *err);
/*
 * Move this process, which must have one thread, into namespaces of its own, with an overlay on
 * each directory of cover.  ERR_UNSUPPORTED, with a hint, where that cannot be.
 */
int replay_place_enter(
	const struct replay_place *place, const struct replay_cover *cover, struct err *err);
/* Give up the rights that a new user namespace gave: the command shall not have them. */
int replay_place_drop_rights(struct err *err);
/* Remove the temporary directory. */
void replay_place_release(struct replay_place *place);
