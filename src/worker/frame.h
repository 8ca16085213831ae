/*
 * frame - the unit of the worker's protocol: a length of four bytes, big-endian, and that many
 * bytes of JSON.
 *
 * Neither side sends more than FRAME_MAX bytes.  The length is compared with that before memory is
 * allocated for a frame, and before one is sent.  The end of the input is clean between two
 * frames only.
 */
#pragma once
#include "core/buf.h"
#include "core/err.h"

#define FRAME_MAX ((size_t)1 << 20)
#define FRAME_PREFIX 4

/* Incoming frames of one descriptor, which is borrowed. */
struct frame_reader {
	int fd;
	struct buf bytes; /* read and not yet taken */
	size_t taken;     /* bytes at the start that the last frame had */
};

void frame_reader_init(struct frame_reader *reader, int fd);
void frame_reader_release(struct frame_reader *reader);
/*
 * Wait for a frame: 1, and its bytes, which live until the next call; 0 at a clean end;
 * ERR_INVALID where the input ends inside a frame; ERR_LIMIT for a length above FRAME_MAX.
 */
int frame_read(struct frame_reader *reader, struct str *frame, struct err *err);
/* A buffer for frames to be sent. */
#define FRAME_BUF_INIT                                                                             \
	{                                                                                          \
		.max = FRAME_PREFIX + FRAME_MAX + 2                                                \
	}
/* Begin a frame in an empty buffer; its JSON is appended. */
void frame_begin(struct buf *out);
/* Fill in the length and send.  ERR_LIMIT, with nothing sent, when it is too large. */
int frame_send(int fd, struct buf *out, struct err *err);
