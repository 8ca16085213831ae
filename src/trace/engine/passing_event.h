/*
 * passing_event - the data of the eBPF programs: events that they write, and maps that they use.
 */
#pragma once
#include <limits.h>
#include <stdint.h>

enum passing_type {
	PASSING_CALL = 1, /* a call has begun */
	PASSING_OVER,     /* a call has ended, and its path could be read only now */
	PASSING_RESULT,   /* the thread's last call has succeeded; only the head is there */
};

/* An event in the ring. */
struct passing_event {
	uint32_t type;
	uint32_t text_len; /* counts the NUL */
	uint64_t ids;      /* numbers of the process (upper half) and the thread */
	int64_t result;    /* of the call; not for PASSING_CALL */
	uint64_t closes;   /* how many calls of the thread have closed descriptors */
	/* A PASSING_RESULT ends here. */
	uint64_t parent; /* ids of the thread that forked this one; 0: the command's first thread */
	uint64_t task;   /* for passing_has_open */
	uint64_t nr;
	uint64_t args[6];
	char text[]; /* the path */
};

#define PASSING_HEAD offsetof(struct passing_event, parent)

/* How much was lost. */
struct passing_lost {
	uint64_t events; /* the ring was full, or the kernel skipped a program */
	uint64_t tasks;  /* threads for which there was no room */
	uint64_t unread; /* calls whose path could not be read */
};

/* The rule for a call, by its number. */
struct passing_rule {
	uint32_t kind; /* enum passing_kind */
	/* Which arguments these are: indexes into args of struct passing_task. */
	uint32_t path, dirfd, flags;
	uint32_t unless; /* the call does not pass if its flags have any of these bits */
};

enum passing_kind {
	PASSING_UNSEEN, /* do nothing */
	PASSING_SEEN,
	PASSING_CLOSES,     /* the call closes the descriptor in its argument dirfd */
	PASSING_CLOSES_ANY, /* the call may close any descriptor */
};

#define PASSING_CALLS 512 /* calls with this number or a higher one have no rule */

#define PASSING_CLOSED 32 /* slots for closed descriptors; a power of two */

/* A thread of the command. */
struct passing_task {
	uint64_t pending; /* enum passing_pending */
	uint64_t parent, closes, nr, path;
	uint64_t args[8];
	/*
	 * When descriptors may last have been closed, as the value that the member closes had then.
	 * closed[i] is for the descriptors whose number modulo PASSING_CLOSED is i, closed_any for
	 * calls that may have closed any descriptor.
	 */
	uint64_t closed[PASSING_CLOSED], closed_any;
};

/* For all threads together. */
struct passing_counts {
	struct passing_lost lost;
	uint64_t pending; /* threads with something pending */
};

/* Indexes into args of the values that stand for an argument which the call does not have. */
enum { PASSING_ARG_CWD = 6, PASSING_ARG_ZERO = 7, PASSING_ARG_MASK = 7 };

enum passing_pending {
	PASSING_NOTHING,
	PASSING_TELL_SUCCESS, /* when the call ends: report its success */
	PASSING_READ_AGAIN,   /* when the call ends: read its path, which may be in memory then */
};
