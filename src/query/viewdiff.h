/*
 * viewdiff - finds the differences between two views that are not identified.
 *
 * Both trees are walked side by side.  The hash of a file is its fileprint.  If the hash is the
 * same in both views, the content is unchanged, and the file is not read.  Otherwise, if the sizes
 * are the same, the file is read in both views.  If the file cannot be read, its content counts as
 * unchanged only if size and mtime are the same.
 *
 * Changes are reported as treediff.h describes.  A deleted file or directory and an added one with
 * the same content are reported as a rename.  To find renames, a file is read only if its size
 * occurs on both sides.  After VIEWDIFF_HELD_MAX changes, further renames are reported as deletion
 * and addition.
 */
#pragma once
#include "query/provider.h"

#define VIEWDIFF_HELD_MAX 20000

/* Do what the function 'diff' of a provider does, for any provider.  Also set provider->unread. */
int viewdiff_snapshots(struct provider *provider, const char *a, const char *b,
	const struct treediff_options *options, provider_change_visit visit, void *arg,
	struct err *err);
int viewdiff_run(struct view *a, struct view *b, const struct treediff_options *options,
	provider_change_visit visit, void *arg, struct err *err);
