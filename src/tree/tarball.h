/*
 * tarball - a tree as a tar archive, and back.
 *
 * What a tar cannot say is carried in extended attributes of the member that
 * only we understand: "strata.type" = "socket" (written as an empty file) or
 * "unread" (content unknown; "strata.size" = its size in decimal digits).
 * Everything else is plain pax, so that other tools can read it; reading
 * accepts any tar.
 *
 * Nothing is extracted: members become objects, and a hostile archive can at
 * worst describe an odd tree.  "/" in front is dropped; "..", a member below
 * something that is no directory, and a hard link to nothing are reported and left out;
 * a time no tree can hold becomes the nearest one, and is reported.
 */
#pragma once
#include <stdatomic.h>

#include "store/store.h"
#include "tree/report.h"

/*
 * fd is read from its position on; any compression libarchive knows.  Later
 * members replace earlier ones.  On failure *tree is not set.
 */
int tarball_read(
	struct store *store, int fd, struct hash *tree, struct report *report, struct err *err);

struct tarball_written {
	_Atomic uint64_t entries;
	_Atomic uint64_t bytes;
};
/* written may be NULL.  What an archive cannot hold goes to report. */
int tarball_write(struct store *store, const struct hash *tree, int fd, struct report *report,
	struct tarball_written *written, struct err *err);
