/*
 * boundlog - a log file of limited size.
 *
 * The file keeps the first limit / 2 bytes and the last limit / 2 bytes of the log.  A line between
 * the two halves contains the number of bytes that were left out.  Until boundlog_finish, the
 * second half of the file is a ring buffer.
 */
#pragma once
#include <stdint.h>

#include "core/str.h"

struct boundlog {
	int fd; /* owned, open for reading and writing; -1: there is no log */
	uint64_t half;
	uint64_t total; /* number of bytes that were added */
};

#define BOUNDLOG_INIT ((struct boundlog){ .fd = -1 })
/*
 * Begin a log in an empty file.  fd is the descriptor of the file and is taken over.  'limit' must
 * be at least 2.
 */
void boundlog_init_take(struct boundlog *log, int fd, uint64_t limit);
/*
 * Add bytes to the log.  If the disk is full, the bytes are lost and no error is returned, because
 * a full disk must not stop the program whose output is logged.
 */
void boundlog_add(struct boundlog *log, struct str bytes);
/* Reorder the second half so that its oldest byte comes first, and close the file. */
void boundlog_finish(struct boundlog *log);
