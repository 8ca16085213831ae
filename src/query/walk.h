/*
 * walk - list one directory of a view, or everything below a path.
 */
#pragma once
#include "query/provider.h"

/* A visit returns this instead of 0 to skip what is in a directory. */
#define WALK_PRUNE 2

/* path is relative to the view's root and lives for the call. */
typedef int (*walk_visit)(void *arg, struct str path, const struct entry *entry, struct err *err);

/*
 * Everything below base, without base itself, depth first, sorted by name; a file is visited alone.
 * visit: negative stops, 1 stops without an error.
 */
int walk_tree(struct view *view, struct str base, walk_visit visit, void *arg, struct err *err);
/* One directory. */
int walk_dir(struct view *view, struct str path, walk_visit visit, void *arg, struct err *err);
/* The entry at path, ERR_NOT_FOUND when there is none. */
int walk_stat(struct view *view, struct str path, struct arena *arena, struct entry *entry,
	struct err *err);
