/*
 * replay_place - prepares what a repeated run of a command needs: a temporary directory for the
 * changes of the command, and a mount namespace that shows the changed files in place of the real
 * ones.
 */
#pragma once
#include "trace/replay_cover.h"

struct replay_place {
	int parent, dir;   /* the temporary directory ('dir') and the directory that contains it */
	char *path, *name; /* absolute path of the temporary directory, and its name in 'parent' */
};

#define REPLAY_PLACE_INIT                                                                          \
	{                                                                                          \
		.parent = -1, .dir = -1                                                            \
	}

/*
 * Make the temporary directory.  The directory stays visible when the directories of 'cover' are
 * covered by overlays.
 */
int replay_place_init(
	struct replay_place *place, const struct replay_cover *cover, struct err *err);
/*
 * Move this process into namespaces of its own, where an overlay covers each directory of 'cover'.
 * The process must have only one thread.  Fails with ERR_UNSUPPORTED and a hint if the machine does
 * not allow this.
 */
int replay_place_enter(
	const struct replay_place *place, const struct replay_cover *cover, struct err *err);
/*
 * Drop the capabilities that the new user namespace has given to this process.  The command must
 * not have them.
 */
int replay_place_drop_rights(struct err *err);
/* Remove the temporary directory and all files in it. */
void replay_place_release(struct replay_place *place);
