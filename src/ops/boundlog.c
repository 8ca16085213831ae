#include "ops/boundlog.h"

#include <stdio.h>
#include <sys/types.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"

void boundlog_init_take(struct boundlog *log, int fd, uint64_t limit)
{
	*log = (struct boundlog){ .fd = fd, .half = limit / 2 };
}

/*
 * Returns the offset at which the next byte is written.  *room becomes the number of bytes from
 * that offset to the end of the half that contains the offset.
 */
static uint64_t next_position(const struct boundlog *log, uint64_t *room)
{
	uint64_t at = log->total < log->half ? log->total
					     : log->half + (log->total - log->half) % log->half;

	*room = (at < log->half ? log->half : 2 * log->half) - at;
	return at;
}

void boundlog_add(struct boundlog *log, struct str bytes)
{
	while (log->fd >= 0 && bytes.len) {
		uint64_t room, at = next_position(log, &room);
		size_t n = bytes.len < room ? bytes.len : (size_t)room;

		(void)at_pwrite_all(log->fd, bytes.ptr, n, at);
		log->total += n;
		bytes.ptr += n;
		bytes.len -= n;
	}
}

/*
 * Rewrite the second half so that it begins with its oldest byte.  Before the second half, write a
 * line with the number of bytes that were left out.
 */
static void put_in_order(struct boundlog *log)
{
	uint64_t room, at = next_position(log, &room);
	owned_mem char *tail = mem_alloc((size_t)log->half);
	char line[80];
	int n = snprintf(line, sizeof(line), "\n== %llu bytes were left out here\n",
		(unsigned long long)(log->total - 2 * log->half));
	size_t first = (size_t)room, rest = (size_t)(log->half - room);

	if (at_pread_full(log->fd, tail, first, at) != (ssize_t)first ||
		at_pread_full(log->fd, tail + first, rest, log->half) != (ssize_t)rest)
		return;
	(void)at_pwrite_all(log->fd, line, (size_t)n, log->half);
	(void)at_pwrite_all(log->fd, tail, (size_t)log->half, log->half + (uint64_t)n);
}

void boundlog_finish(struct boundlog *log)
{
	if (log->fd >= 0 && log->total > 2 * log->half)
		put_in_order(log);
	close_fd(&log->fd);
}
