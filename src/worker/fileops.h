/*
 * fileops - the requests about one file: read, write, edit, stat.
 *
 * A file is replaced atomically: the new content is written under another name in its directory,
 * gets the owner, mode and extended attributes of the old file, is synced, and renamed.  The
 * directory is synced then.  A program that reads sees the old content or the new one.  Other hard
 * links of the file keep the old content.  Names that begin with FILEOPS_TEMPORARY are such files
 * of a worker that was killed.
 *
 * Replies are filled in only on success, and live in the arena.
 */
#pragma once
#include "worker/gate.h"
#include "worker/ticket.h"
#include "worker/wire.h"

#define FILEOPS_TEMPORARY ".strata-worker-"
#define FILEOPS_EDIT_MAX ((size_t)64 << 20) /* bytes of a file that is edited */

/* What a request is worked on with. */
struct fileops {
	struct gate *gate;
	struct ticket *ticket;
	struct arena *arena;
	size_t room; /* bytes of JSON that the variable part of the reply may have */
};

int fileops_read(struct fileops *ops, const struct wire_request *request, struct wire_reply *reply,
	struct err *err);
int fileops_write(struct fileops *ops, const struct wire_request *request, struct wire_reply *reply,
	struct err *err);
int fileops_edit(struct fileops *ops, const struct wire_request *request, struct wire_reply *reply,
	struct err *err);
int fileops_stat(struct fileops *ops, const struct wire_request *request, struct wire_reply *reply,
	struct err *err);
