/*
 * restoresame - tells whether a target already is what a restore would make of it.
 *
 * So a request that is sent again, because its reply was lost, succeeds and changes nothing.
 */
#pragma once
#include "query/provider.h"

/*
 * Whether dir/name is a copy of the entry at path, which is a regular file or a directory, with
 * everything below it: the same names, types, contents, symlink targets, devices, modes and mtimes.
 * exactly: owners, setuid bits and extended attributes must be the same, too, although a restore
 * may not have been permitted to set them.  Returns 1, 0 or a negative error.
 */
int restoresame_check(struct view *view, struct str path, const struct entry *entry, int dir,
	const char *name, bool exactly, struct err *err);
