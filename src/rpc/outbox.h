/*
 * outbox - replies on their way to the peer.
 *
 * The outbox never blocks, so that the caller can go on reading requests.  The descriptor itself
 * stays as it is, since other processes may write to the same open file.
 */
#pragma once
#include "core/buf.h"
#include "core/err.h"

struct outbox {
	int fd;     /* borrowed */
	int direct; /* the same pipe, opened again so that a write never blocks; -1: none */
	enum outbox_kind { OUTBOX_FILE, OUTBOX_PIPE, OUTBOX_SOCKET } kind;
	struct buf buf;
	size_t sent;
};

void outbox_init(struct outbox *outbox, int fd);
void outbox_release(struct outbox *outbox);
/* Add the bytes of line from start on.  The memory of line may be taken over. */
void outbox_add(struct outbox *outbox, struct buf *line, size_t start);
/* Write what can be written now.  Returns an error if the peer has hung up. */
int outbox_flush(struct outbox *outbox, struct err *err);
/* Returns the bytes that are not written yet. */
size_t outbox_left(const struct outbox *outbox);
