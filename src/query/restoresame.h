/*
 * restoresame - checks whether a target already is a copy of an entry of a snapshot.
 *
 * So a request that is sent again, because its reply was lost, succeeds and changes nothing.
 */
#pragma once
#include "query/provider.h"

/*
 * Whether dir/name is a copy of the entry at path, with everything below it.  The entry is a
 * regular file or a directory.  Names, types, contents, symlink targets, devices, modes and mtimes
 * must be the same.  If exactly is set, owners, setuid bits and extended attributes must be the
 * same, too.  A restore may not have been permitted to set these.  Returns 1, 0 or a negative
 * error.
 */
int restoresame_check(struct view *view, struct str path, const struct entry *entry, int dir,
	const char *name, bool exactly, struct err *err);
