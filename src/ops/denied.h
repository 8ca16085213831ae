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
 * Make a list of the denials in 'text', which is the content of the file.  Repeated denials become
 * one entry.  The list has at most NODE_DENIALS_MAX entries, and is in arena.
 */
void denied_read(struct str text, struct arena *arena, struct node_denial **out, size_t *n);
/* Move the collected denials into node.  The texts are in arena. */
void denied_take(struct env *env, struct arena *arena, struct node *node);
/* Drop the collected denials.  To be called if no node was made that takes them over. */
void denied_drop(struct env *env);
