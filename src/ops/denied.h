/*
 * denied - collects the denials of a workspace since its last node.
 *
 * The file ROOT/run/NAME.denials contains lines in the form of confine/denials.h.  The wardens of
 * commands append to this file.  The next node of the workspace takes over the denials.
 */
#pragma once
#include "ops/env.h"

/* Open the file for appending.  A writer locks the file with flock(2) for each write. */
int denied_open(struct env *env, struct err *err);
/*
 * Read the denials in the text of the file into arena.  Repeated denials become one entry of the
 * list, which has at most NODE_DENIALS_MAX entries.
 */
void denied_read(struct str text, struct arena *arena, struct node_denial **out, size_t *n);
/* Move the collected denials into node.  The texts are in arena. */
void denied_take(struct env *env, struct arena *arena, struct node *node);
/* Drop the collected denials, since no node was made for them. */
void denied_drop(struct env *env);
