/*
 * replay_place - the place where a command is run again: a temporary directory for its changes, and
 * a mount namespace in which the changed files are seen instead of the real ones.
 */
#pragma once
#include "trace/replay_cover.h"

struct replay_place {
	int parent, dir;   /* the directory above the temporary one, and the temporary one */
	char *path, *name; /* the absolute path, and the name in parent */
};

#define REPLAY_PLACE_INIT                                                                          \
	{                                                                                          \
		.parent = -1, .dir = -1                                                            \
	}

/* Make the temporary directory where it will not be covered. */
int replay_place_init(
	struct replay_place *place, const struct replay_cover *cover, struct err *err);
/*
 * Move this process, which must have only one thread, into namespaces of its own, with an overlay
 * on each directory of cover.  Fails with ERR_UNSUPPORTED and a hint if that is not possible.
 */
int replay_place_enter(
	const struct replay_place *place, const struct replay_cover *cover, struct err *err);
/* Give up the capabilities of the new user namespace, which the command must not have. */
int replay_place_drop_rights(struct err *err);
/* Remove the temporary directory. */
void replay_place_release(struct replay_place *place);
