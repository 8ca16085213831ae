/*
 * tarball - a tree as a tar archive, and back.
 *
 * A member carries what tar cannot express in extended attributes that only strata understands:
 * "strata.type" = "socket" (written as an empty file) or "unread" (content unknown; "strata.size" =
 * its size in decimal digits).  Everything else is plain pax, so that other tools can read it.
 * Reading accepts any tar.
 *
 * Nothing is extracted: members become objects, and a hostile archive can at worst describe an odd
 * tree.  A "/" in front of a path is dropped.  "..", a member below a non-directory, and a hard
 * link to a missing member are reported and left out.  A time that no tree can hold becomes the
 * nearest one, and is reported.
 */
#pragma once
#include <stdatomic.h>

#include "store/store.h"
#include "tree/report.h"

/*
 * fd is read from its position on, in any compression of tar_reader_open.  Later members replace
 * earlier ones.  On failure *tree is not set.
 */
int tarball_read(
	struct store *store, int fd, struct hash *tree, struct report *report, struct err *err);

struct tarball_written {
	_Atomic uint64_t entries;
	_Atomic uint64_t bytes;
};
/* written may be NULL.  Entries and attributes that an archive cannot hold are reported. */
int tarball_write(struct store *store, const struct hash *tree, int fd, struct report *report,
	struct tarball_written *written, struct err *err);
