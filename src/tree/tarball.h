/*
 * tarball - writes a tree as a tar archive, and reads archives into trees.
 *
 * Facts that tar cannot express are in extended attributes that only strata understands.  A member
 * with "strata.type" = "socket" is a socket, written as an empty file.  A member with "strata.type"
 * = "unread" is a file or directory whose content is unknown.  If it is a file, "strata.size" is
 * its size in decimal digits.  Everything else is plain pax, so that other tools can read it.  Any
 * tar archive can be read.
 *
 * No file is extracted to disk: members become objects, and a hostile archive can at worst describe
 * an odd tree.  A "/" in front of a path is dropped.  A member with "..", a member below a
 * non-directory, and a hard link to a missing member are reported and left out.  A time before 1677
 * or after 2262 becomes the nearest time of that range, and is reported.
 */
#pragma once
#include <stdatomic.h>

#include "store/store.h"
#include "tree/report.h"

/*
 * Read an archive from fd, and set *tree to its tree.  fd is read from its current position.  The
 * archive may be compressed in any way that tar_reader_open knows.  A later member replaces an
 * earlier one with the same path.  On failure *tree is not set.
 */
int tarball_read(
	struct store *store, int fd, struct hash *tree, struct report *report, struct err *err);

struct tarball_written {
	_Atomic uint64_t entries;
	_Atomic uint64_t bytes;
};
/*
 * Write a tree to fd as an archive.  *written counts the written entries and bytes; the pointer may
 * be NULL.  Entries and attributes that an archive cannot hold are reported.
 */
int tarball_write(struct store *store, const struct hash *tree, int fd, struct report *report,
	struct tarball_written *written, struct err *err);
