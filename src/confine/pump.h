/*
 * pump - copies one direction of a connection.
 *
 * What the receiver does not take is kept, and then nothing more is read, so that a slow receiver
 * slows the sender down.  An idle direction has no memory.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "core/buf.h"

#define PUMP_MAX 32767 /* bytes that are kept; a buffer of that size takes a power of two */

struct pump {
	struct buf kept;
	bool ended; /* the sender will send no more */
	bool told;  /* and the receiver knows */
};

#define PUMP_INIT                                                                                  \
	{                                                                                          \
		.kept = {.max = (size_t)4 * PUMP_MAX }                                             \
	}

void pump_release(struct pump *pump);
/* Send what is kept, then the end.  Negative if the receiver is gone. */
int pump_flush(struct pump *pump, int to);
/* Copy until there is nothing to do, or others should get their turn.  Negative if one is gone. */
int pump_copy(struct pump *pump, int from, int to);
/* Append what can be read to in, which is to stay below max.  Negative if the sender is gone. */
int pump_read(int from, struct buf *in, size_t max, bool *ended);
/* Whether the receiver has got everything. */
bool pump_is_done(const struct pump *pump);
