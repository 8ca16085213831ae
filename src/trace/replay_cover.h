/*
 * replay_cover - finds the directories that are covered by overlays when a command is run again.
 * The changes of the command then stay in the overlays.
 *
 * A directory is covered in two cases.  In the first case, the command changed or tried to change a
 * path in the directory.  In the second case, a path in the directory is no longer in the state in
 * which the command found it.  The directory in which the command is started and the user's cache
 * are also covered.
 *
 * If a directory does not exist any more, the nearest existing directory above it is covered
 * instead.  The root directory cannot be covered.
 */
#pragma once
#include "trace/undo/restore.h"

/*
 * Maximum number of covered directories.  If there are more, the deepest ones are replaced by their
 * parents.
 */
#define REPLAY_COVER_MAX 64

struct replay_cover {
	struct str *dirs; /* absolute paths; no directory is below another one on the same mount */
	size_t n_dirs, cap_dirs;
	struct arena arena;
};

/*
 * Find the directories to cover.  The parameter plan is a plan that restores every path of the
 * bundle to the state before the command.
 */
int replay_cover_find(struct replay_cover *cover, const struct restore *plan, struct err *err);
/* Whether the path is hidden when all directories of 'cover' are covered by overlays. */
bool replay_cover_hides(const struct replay_cover *cover, struct str path);
void replay_cover_release(struct replay_cover *cover);
