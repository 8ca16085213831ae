/*
 * denied - collects what policies have denied in a workspace since its last node.
 *
 * ROOT/run/NAME.denials collects the lines of confine/denials.h.  The wardens of commands append to
 * it, and the next node of the workspace takes over the denials.
 */
#pragma once
#include "ops/env.h"

/* Open the file to append to.  A writer locks it with flock(2) for each write. */
int denied_open(struct env *env, struct err *err);
/*
 * Read the denials in the text of such a file into arena, each once, and at most
 * NODE_DENIALS_MAX.
 */
void denied_read(struct str text, struct arena *arena, struct node_denial **out, size_t *n);
/* Move the collected denials into node.  They lie in arena. */
void denied_take(struct env *env, struct arena *arena, struct node *node);
/* Forget the collected denials, since there is no node for them. */
void denied_drop(struct env *env);
