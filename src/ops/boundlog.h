/*
 * boundlog - a log that takes no more than so much on disk, however much is written to it.
 *
 * The first half of what comes stays, and of the rest the last half; a line in between says how
 * much was left out.  While it is written the second half of the file goes round in a circle:
 * boundlog_finish puts it in order.
 */
#pragma once
#include <stdint.h>

#include "core/str.h"

struct boundlog {
	int fd; /* owned, open for reading and writing; -1: there is none */
	uint64_t half;
	uint64_t total; /* bytes that came */
};

#define BOUNDLOG_INIT                                                                              \
	{                                                                                          \
		.fd = -1                                                                           \
	}
/* fd is that of an empty file; limit is at least 2. */
void boundlog_init_take(struct boundlog *log, int fd, uint64_t limit);
/* What a full disk does not take is lost: nobody stops for a log. */
void boundlog_add(struct boundlog *log, struct str bytes);
/* Nothing more comes; the file is closed. */
void boundlog_finish(struct boundlog *log);
