/*
 * replay_cover - which directories a command must have for itself when it is run again.
 *
 * Those that hold a path which it changed, tried to change, or found in another state than now;
 * the one it is started in; and the user's caches.  Where such a directory is gone, the nearest
 * one above that is there.  The root directory cannot be covered.
 */
#pragma once
#include "trace/putback.h"

#define REPLAY_COVER_MAX 64 /* directories; when there are more, common parents are taken */

struct replay_cover {
	struct str *dirs; /* absolute; none below another unless something else is mounted there */
	size_t n_dirs, cap_dirs;
	struct arena arena;
};

/* By a plan for the state before, with every path of the bundle. */
int replay_cover_find(struct replay_cover *cover, const struct putback *plan, struct err *err);
/* Whether what is at path cannot be reached any more when all are covered. */
bool replay_cover_hides(const struct replay_cover *cover, struct str path);
void replay_cover_release(struct replay_cover *cover);
