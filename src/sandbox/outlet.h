/*
 * outlet - copies the output of a command, up to a limit of bytes.
 *
 * The command gets pipes as standard output and error.  The bytes that the command writes to the
 * pipes are copied to the standard output and error of this process.  If both pipes together bring
 * more bytes than the limit, the rest is not copied.  When the command has ended, later output of
 * programs that it has left running is lost.
 */
#pragma once
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

#define OUTLET_STREAMS 2
#define OUTLET_FDS (2 * OUTLET_STREAMS)
#define OUTLET_BUFFER 65536

struct outlet {
	int64_t left; /* number of bytes that may still be printed */
	bool over;    /* there were more bytes than the limit allows */
	struct outlet_stream {
		int from; /* pipe that the command prints into; -1: no such pipe, or it has ended */
		int to;   /* descriptor that the bytes are copied to, borrowed */
		size_t start, end; /* range of the bytes that are still to be printed */
		char bytes[OUTLET_BUFFER];
	} streams[OUTLET_STREAMS];
};

/*
 * Make pipes for standard output and error.  If 'tty' is set, a standard descriptor that is a
 * terminal gets no pipe, since its output comes through terminal.h.  The array 'ends' receives the
 * command's ends of the pipes, which belong to the caller.  An element becomes -1 if the command is
 * to use the descriptor of this process.  Returns NULL on error.
 */
struct outlet *outlet_new(int64_t max, bool tty, int ends[OUTLET_STREAMS], struct err *err);
void outlet_free(struct outlet *outlet);

/* In all functions below, outlet may be NULL.  The output then has no limit. */

/* Fill the array fds for poll(2), which ignores descriptors that are -1. */
void outlet_poll(const struct outlet *outlet, struct pollfd fds[OUTLET_FDS]);
/* Copy the output that is ready according to the result of poll.  Does not block. */
void outlet_carry(struct outlet *outlet, const struct pollfd fds[OUTLET_FDS]);
/*
 * Copy the rest of the output.  Call this when the command has ended.  As the command itself would,
 * this function blocks while the reader does not read the output.
 */
void outlet_drain(struct outlet *outlet);
/*
 * Count n bytes of output that do not come through the pipes.  Returns the number of them that may
 * be printed.
 */
size_t outlet_count(struct outlet *outlet, size_t n);
