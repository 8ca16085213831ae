/*
 * newenv - makes an environment, or removes one that was never completed.
 *
 * The database is made first and its format is set last.  So a database without a format shows that
 * an init was killed.
 */
#pragma once
#include "ops/env.h"

/*
 * Make the directories and the database at root.  An existing environment is refused.  Returns the
 * number of directories of the path that were made.  A failure leaves nothing behind.
 */
int newenv_create(struct env *env, const char *root, struct err *err);
/*
 * Remove the new environment and the last 'levels' directories of its path, and close env.  Call
 * this function instead of newenv_ready and env_close.
 */
void newenv_abandon(struct env *env, unsigned levels);
/*
 * Remove the files that a killed init has left at root.  Also remove the last 'levels' directories
 * of the path.  A complete environment is not removed.
 */
void newenv_clear(const char *root, unsigned levels);
/* Mark the environment as complete: from now on env_open accepts it. */
int newenv_ready(struct env *env, struct err *err);
