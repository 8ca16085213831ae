/*
 * outbox - holds replies until they can be written to the peer.
 *
 * The outbox never blocks, so that the caller can continue to read requests.  The flags of the
 * descriptor are not changed, since other processes may write to the same open file.
 */
#pragma once
#include "core/buf.h"
#include "core/err.h"

struct outbox {
	int fd;     /* borrowed */
	int direct; /* if fd is a pipe: the pipe, opened again without blocking; else -1 */
	enum outbox_kind { OUTBOX_FILE, OUTBOX_PIPE, OUTBOX_SOCKET } kind;
	struct buf buf;
	size_t sent;
};

void outbox_init(struct outbox *outbox, int fd);
void outbox_release(struct outbox *outbox);
/*
 * Add the bytes of *line that begin at the offset 'start'.  The outbox may take over the memory of
 * *line.
 */
void outbox_add(struct outbox *outbox, struct buf *line, size_t start);
/* Write as many bytes as possible now.  Returns an error if the peer has hung up. */
int outbox_flush(struct outbox *outbox, struct err *err);
/* Returns the number of bytes that are not written yet. */
size_t outbox_left(const struct outbox *outbox);
