/*
 * newenv - make an environment, or remove all of one that was never completed.
 *
 * The database comes first and its format last: whatever an init that dies leaves is
 * known by a database without a format.
 */
#pragma once
#include "ops/env.h"

/*
 * Make the directories and the database at root; refuses an existing environment.  Returns how
 * many directories of the path it made.  A failure leaves nothing behind.
 */
int newenv_create(struct env *env, const char *root, struct err *err);
/* Instead of newenv_ready and env_close: remove all of it, and so many directories of its path. */
void newenv_abandon(struct env *env, unsigned levels);
/* Remove what an init that died has left at root, in the same way; else nothing happens. */
void newenv_clear(const char *root, unsigned levels);
/* The environment is complete: from now on env_open accepts it. */
int newenv_ready(struct env *env, struct err *err);
