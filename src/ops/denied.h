/*
 * denied - what policies denied in a workspace since its last node.
 *
 * ROOT/run/NAME.denials collects the lines of confine/denials.h.  The process that keeps a command
 * under its policy appends, and the next node of the workspace takes them over.
 */
#pragma once
#include "ops/env.h"

/* The file to append to.  The writer locks it with flock(2) for each write. */
int denied_open(struct env *env, struct err *err);
/* Denials in the text of such a file, each once, in arena; at most NODE_DENIALS_MAX. */
void denied_read(struct str text, struct arena *arena, struct node_denial **out, size_t *n);
/* Move what was collected into node, in arena. */
void denied_take(struct env *env, struct arena *arena, struct node *node);
/* Forget it: there is no node for it. */
void denied_drop(struct env *env);
