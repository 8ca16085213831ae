/* walk - lists one directory of a view, or everything below a path. */
#pragma once
#include "query/provider.h"

/* A walk_visit returns this instead of 0 to skip everything below a directory. */
#define WALK_PRUNE 2

/*
 * Called for an entry.  'path' is relative to the root of the view, and is valid during the call.
 */
typedef int (*walk_visit)(void *arg, struct str path, const struct entry *entry, struct err *err);

/*
 * Visit everything below the directory 'base', without 'base' itself, depth first and sorted by
 * name.  If 'base' is a file, only the file is visited.  'visit' returns a negative value to stop
 * with that error, or 1 to stop without an error.  Directories below base that cannot be read are
 * skipped and counted in view->unread.
 */
int walk_tree(struct view *view, struct str base, walk_visit visit, void *arg, struct err *err);
/* Visit the entries of one directory, without those below them. */
int walk_dir(struct view *view, struct str path, walk_visit visit, void *arg, struct err *err);
/* Get the entry at path; ERR_NOT_FOUND if there is none. */
int walk_stat(struct view *view, struct str path, struct arena *arena, struct entry *entry,
	struct err *err);
