/*
 * pump - copies one direction of a connection.
 *
 * Bytes that the receiver does not take are kept, and nothing more is read until it has taken them,
 * so that a slow receiver slows down the sender.  An idle direction uses no memory.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "core/buf.h"

#define PUMP_MAX 32767 /* bytes that are kept; a buffer of that size takes a power of two */

struct pump {
	struct buf kept;
	bool ended; /* the sender will send no more */
	bool told;  /* and the receiver has been told that */
};

#define PUMP_INIT                                                                                  \
	{                                                                                          \
		.kept = {.max = (size_t)4 * PUMP_MAX }                                             \
	}

void pump_release(struct pump *pump);
/*
 * Send what is kept and then, if the sender has ended, the end.  Returns a negative number if the
 * receiver is gone.
 */
int pump_flush(struct pump *pump, int to);
/*
 * Copy until there is nothing to do, or until others should get their turn.  Returns a negative
 * number if the sender or the receiver is gone.
 */
int pump_copy(struct pump *pump, int from, int to);
/*
 * Append what can be read to in, up to max bytes in all.  Returns a negative number if the sender
 * is gone.
 */
int pump_read(int from, struct buf *in, size_t max, bool *ended);
/* Whether the receiver has got everything, and the end. */
bool pump_is_done(const struct pump *pump);
