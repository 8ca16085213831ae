/*
 * restoresame - checks whether a target already is a copy of an entry of a snapshot.
 *
 * A request may be sent again because its reply was lost.  This check makes the second request
 * succeed without a change.
 */
#pragma once
#include "query/provider.h"

/*
 * Whether dir/name is a copy of the entry at path, with everything below it.  The entry is a
 * regular file or a directory.  Names, types, contents, symlink targets, devices, modes and mtimes
 * must be the same.  If 'exactly' is set, owners, setuid bits and extended attributes must be the
 * same, too.  Otherwise these three are not compared, since an earlier restore may have lacked the
 * right to set them.  Returns 1, 0 or a negative error.
 */
int restoresame_check(struct view *view, struct str path, const struct entry *entry, int dir,
	const char *name, bool exactly, struct err *err);
