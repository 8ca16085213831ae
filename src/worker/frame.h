/*
 * frame - the unit of the worker's protocol: a length of four bytes, big-endian, and that number of
 * bytes of JSON.
 *
 * Neither side sends a frame with more than FRAME_MAX bytes of JSON.  The length is compared with
 * this limit before memory is allocated for a frame, and before a frame is sent.  The input may end
 * only between two frames.
 */
#pragma once
#include "core/buf.h"
#include "core/err.h"

#define FRAME_MAX ((size_t)1 << 20)
#define FRAME_PREFIX 4

/* Incoming frames of one descriptor.  The descriptor is borrowed. */
struct frame_reader {
	int fd;
	struct buf bytes; /* bytes that were read and are still needed */
	size_t taken;     /* bytes at the start that belong to the last frame */
};

void frame_reader_init(struct frame_reader *reader, int fd);
void frame_reader_release(struct frame_reader *reader);
/*
 * Wait for a frame.  Returns 1 and sets *frame to its bytes, which are valid until the next call.
 * Returns 0 if the input has ended between two frames.  Fails with ERR_INVALID if the input ends
 * inside a frame, and with ERR_LIMIT if the length exceeds FRAME_MAX.
 */
int frame_read(struct frame_reader *reader, struct str *frame, struct err *err);
/* A buffer for frames to be sent. */
#define FRAME_BUF_INIT                                                                             \
	{                                                                                          \
		.max = FRAME_PREFIX + FRAME_MAX + 2                                                \
	}
/* Begin a frame in an empty buffer.  The caller must then append the JSON. */
void frame_begin(struct buf *out);
/*
 * Fill in the length of the frame and send it.  If the frame is too large, nothing is sent and the
 * result is ERR_LIMIT.
 */
int frame_send(int fd, struct buf *out, struct err *err);
