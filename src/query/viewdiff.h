/*
 * viewdiff - finds the differences between two views that are not identified.
 *
 * Both trees are walked side by side.  A file is unchanged without being read if it has the same
 * hash, which is its fileprint.  Otherwise a file of the same size is read in both views.  If it
 * cannot be read, its content counts as changed unless size and mtime are the same.
 *
 * Changes are reported as treediff.h says, also renames: a deleted and an added file, or directory,
 * with the same content.  Only files whose size occurs on both sides are read for that.  After
 * VIEWDIFF_HELD_MAX changes, renames are no longer found, but reported as deletion and addition.
 */
#pragma once
#include "query/provider.h"

#define VIEWDIFF_HELD_MAX 20000

/* As the diff of a provider, for any provider.  It sets provider->unread, too. */
int viewdiff_snapshots(struct provider *provider, const char *a, const char *b,
	const struct treediff_options *options, provider_change_visit visit, void *arg,
	struct err *err);
int viewdiff_run(struct view *a, struct view *b, const struct treediff_options *options,
	provider_change_visit visit, void *arg, struct err *err);
