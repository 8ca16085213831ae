/*
 * fileops - the requests about one file: read, write, edit, stat.
 *
 * A file is replaced atomically.  The new content is written under another name in the same
 * directory.  The new file gets the owner, mode and extended attributes of the old file, is synced,
 * and is renamed.  Then the directory is synced.  A program that reads the file sees either the old
 * content or the new content.  Other hard links of the file keep the old content.  A worker that is
 * killed may leave the new file under the other name, which begins with FILEOPS_TEMPORARY.
 *
 * Replies are filled in only on success.  Their texts are in the arena.
 */
#pragma once
#include "worker/gate.h"
#include "worker/ticket.h"
#include "worker/wire.h"

#define FILEOPS_TEMPORARY ".strata-worker-"
#define FILEOPS_EDIT_MAX ((size_t)64 << 20) /* maximum size of a file that can be edited */

/* Context of the work on one request. */
struct fileops {
	struct gate *gate;
	struct ticket *ticket;
	struct arena *arena;
	size_t room; /* bytes of JSON that are left for the variable part of the reply */
};

int fileops_read(struct fileops *ops, const struct wire_request *request, struct wire_reply *reply,
	struct err *err);
int fileops_write(struct fileops *ops, const struct wire_request *request, struct wire_reply *reply,
	struct err *err);
int fileops_edit(struct fileops *ops, const struct wire_request *request, struct wire_reply *reply,
	struct err *err);
int fileops_stat(struct fileops *ops, const struct wire_request *request, struct wire_reply *reply,
	struct err *err);
