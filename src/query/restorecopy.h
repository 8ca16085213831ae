/*
 * restorecopy - copies a file or a directory of a view to the file system.
 *
 * Content, holes, symlink targets, modes, mtimes, extended attributes and owners are copied.  Hard
 * links between the files of a copied directory are kept if the view reports them.  An owner or an
 * extended attribute that this process may not set is left out, and the caller is told.  A file
 * whose owner could not be set gets no setuid or setgid bit.
 *
 * Nothing else is left out: if an entry cannot be read or made, the copy fails.  Then the caller
 * must remove the incomplete copy.
 */
#pragma once
#include "query/provider.h"

enum restorecopy_lack {
	RESTORECOPY_NO_OWNER = 1 << 0,
	RESTORECOPY_NO_XATTRS = 1 << 1,
	RESTORECOPY_NO_MODE = 1 << 2,
	RESTORECOPY_LACKS = 3, /* number of the bits above */
};

const char *restorecopy_lack_name(unsigned bit); /* returns the name of a single bit */

/*
 * Copy the entry at 'path', which is a regular file or a directory, to dir/name.  dir/name must not
 * exist yet.  The copy is on disk when the function returns.  *lacks gets a bit for each kind of
 * attribute that could not be set.
 */
int restorecopy_run(struct view *view, struct str path, const struct entry *entry, int dir,
	const char *name, unsigned *lacks, struct err *err);
