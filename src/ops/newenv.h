/*
 * newenv - make an environment, or remove one that was never completed.
 *
 * The database is made first and its format is set last: a database without a format tells that
 * an init was killed.
 */
#pragma once
#include "ops/env.h"

/*
 * Make the directories and the database at root; refuses an existing environment.  Returns how
 * many directories of the path it made.  A failure leaves nothing behind.
 */
int newenv_create(struct env *env, const char *root, struct err *err);
/* Instead of newenv_ready and env_close: remove it, with the last levels directories of its path.
 */
void newenv_abandon(struct env *env, unsigned levels);
/* Remove in the same way what a killed init has left at root; a complete environment stays. */
void newenv_clear(const char *root, unsigned levels);
/* The environment is complete: from now on env_open accepts it. */
int newenv_ready(struct env *env, struct err *err);
