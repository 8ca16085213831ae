/*
 * pump - copies bytes in one direction of a connection.
 *
 * Bytes that the receiver does not take yet are kept, and nothing more is read until they are sent.
 * So a slow receiver slows down the sender.  An idle direction uses no memory.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "core/buf.h"

#define PUMP_MAX 32767 /* bytes that are kept; a power of two with the ending zero byte */

struct pump {
	struct buf kept;
	bool ended; /* the sender will send no more */
	bool told;  /* the receiver was told that the sender has ended */
};

#define PUMP_INIT                                                                                  \
	{                                                                                          \
		.kept = {.max = (size_t)4 * PUMP_MAX }                                             \
	}

void pump_release(struct pump *pump);
/*
 * Send the kept bytes and then, if the sender has ended, the end of the data.  Returns a negative
 * number if the receiver is gone.
 */
int pump_flush(struct pump *pump, int to);
/*
 * Copy until no more bytes can be copied, or until other events should get their turn.  Returns a
 * negative number if the sender or the receiver is gone.
 */
int pump_copy(struct pump *pump, int from, int to);
/*
 * Append the bytes that can be read to the buffer 'in', until it has 'max' bytes.  Sets *ended at
 * the end of the data.  Returns a negative number if the sender is gone.
 */
int pump_read(int from, struct buf *in, size_t max, bool *ended);
/* Whether the receiver has got all bytes and the end of the data. */
bool pump_is_done(const struct pump *pump);
