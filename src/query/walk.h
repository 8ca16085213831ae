/*
 * walk - listing a view: one directory, or everything below a path.
 */
#pragma once
#include "query/provider.h"

/* A visit's answer, besides 0, 1 and an error: do not go into this directory. */
#define WALK_PRUNE 2

/* path is relative to the view's root and lives for the call. */
typedef int (*walk_visit)(void *arg, struct str path, const struct entry *entry, struct err *err);

/* Depth first, by name, the base itself not included.  visit: negative stops, 1 stops quietly. */
int walk_tree(struct view *view, struct str base, walk_visit visit, void *arg, struct err *err);
/* One directory. */
int walk_dir(struct view *view, struct str path, walk_visit visit, void *arg, struct err *err);
/* The entry at path, ERR_NOT_FOUND when there is none. */
int walk_stat(struct view *view, struct str path, struct arena *arena, struct entry *entry,
	struct err *err);
