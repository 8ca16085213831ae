/*
 * samecontent - compares files by reading them, for views that do not have the hashes of contents.
 */
#pragma once
#include "query/provider.h"

/*
 * Whether the file at path has the same content in both views.  The files are read only if their
 * sizes are the same and their hashes differ.  Returns 1, 0 or a negative error.  If a file cannot
 * be read, a->unread is increased, and the contents count as the same if the mtimes are the same.
 */
int samecontent_check(struct view *a, const struct entry *entry_a, struct view *b,
	const struct entry *entry_b, struct str path, struct err *err);
/* Read the first max bytes of a file, and set *hash to their SHA-256. */
int samecontent_hash(struct view *view, const struct entry *file, struct str path, uint64_t max,
	struct hash *hash, struct err *err);
