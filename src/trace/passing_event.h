/*
 * passing_event - what the eBPF programs of passing.h write, and what is written for them.
 */
#pragma once
#include <limits.h>
#include <stdint.h>

enum passing_type {
	PASSING_CALL = 1, /* a call begins */
	PASSING_OVER,   /* one that could not be told of when it began has ended: with its result */
	PASSING_RESULT, /* the last call of the thread has succeeded: no more than the head */
};

/* An event in the ring. */
struct passing_event {
	uint32_t type;
	uint32_t text_len; /* with the NUL */
	uint64_t ids;      /* of the process (upper half) and the thread, as the kernel has them */
	int64_t result;    /* not of PASSING_CALL */
	uint64_t closes;   /* of the thread so far: calls that close descriptors */
	/* Here ends a PASSING_RESULT. */
	uint64_t parent; /* ids of who made the thread; 0: nobody of the command */
	uint64_t task;   /* for passing_has_open */
	uint64_t nr;
	uint64_t args[6];
	char text[]; /* the path */
};

#define PASSING_HEAD offsetof(struct passing_event, parent)

/* What nobody will ever know of. */
struct passing_lost {
	uint64_t events; /* the ring was full, or the kernel has not told of it */
	uint64_t tasks;  /* processes and threads there was no room for */
	uint64_t unread; /* calls whose path could not be read */
};

/* What is done about a call of some number. */
struct passing_rule {
	uint32_t kind; /* enum passing_kind */
	/* Of struct passing_task's args. */
	uint32_t path, dirfd, flags;
	uint32_t unless; /* it does not pass with any of these bits */
};

enum passing_kind {
	PASSING_UNSEEN, /* nothing */
	PASSING_SEEN,
	PASSING_CLOSES,     /* it closes the descriptor that the argument dirfd is */
	PASSING_CLOSES_ANY, /* it may close any */
};

/* Numbers of calls that there can be rules for. */
#define PASSING_CALLS 512

#define PASSING_CLOSED 32 /* a power of two */

/* What is known of a thread of the command. */
struct passing_task {
	uint64_t pending; /* enum passing_pending */
	uint64_t parent, closes, nr, path;
	uint64_t args[8];
	/* The last call that closed one of these descriptors, counted by closes: by number, and
	 * any. */
	uint64_t closed[PASSING_CLOSED], closed_any;
};

/* One for all. */
struct passing_counts {
	struct passing_lost lost;
	uint64_t pending; /* threads of which something is */
};

/* Indexes for calls without such arguments. */
enum { PASSING_ARG_CWD = 6, PASSING_ARG_ZERO = 7, PASSING_ARG_MASK = 7 };

enum passing_pending {
	PASSING_NOTHING,
	PASSING_TELL_SUCCESS, /* when the call ends */
	PASSING_READ_AGAIN,   /* then its path may be there */
};
