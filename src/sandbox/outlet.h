/*
 * outlet - what a command prints, up to a number of bytes.
 *
 * The command gets pipes as standard output and error, and what comes out of them is copied to
 * ours.  When both together have brought more than the limit, the rest is not copied.  Programs
 * that the command has left running lose their output when it has ended.
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
	int64_t left; /* bytes that may still be printed */
	bool over;    /* there was more */
	struct outlet_stream {
		int from; /* pipe that the command prints into; -1: no such pipe, or it has ended */
		int to;   /* borrowed */
		size_t start, end; /* of what is still to be printed */
		char bytes[OUTLET_BUFFER];
	} streams[OUTLET_STREAMS];
};

/*
 * Make pipes for standard output and error, but for those that are a terminal if tty is set: that
 * output comes by another way (terminal.h).  ends gets the ends for the command, which belong to
 * the caller; -1: ours.  NULL on error.
 */
struct outlet *outlet_new(int64_t max, bool tty, int ends[OUTLET_STREAMS], struct err *err);
void outlet_free(struct outlet *outlet);

/* In all of the following, outlet NULL stands for an output without a limit. */

/* What to poll for; descriptors of -1 are ignored by poll(2). */
void outlet_poll(const struct outlet *outlet, struct pollfd fds[OUTLET_FDS]);
/* Copy what there is to copy.  Does not wait. */
void outlet_carry(struct outlet *outlet, const struct pollfd fds[OUTLET_FDS]);
/* The command has ended: copy what is left, and wait for readers as the command would have. */
void outlet_drain(struct outlet *outlet);
/* Output of the command has gone another way.  Returns how much of it may be printed. */
size_t outlet_count(struct outlet *outlet, size_t n);
