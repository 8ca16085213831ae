/*
 * passing_event - the data that eBPF programs and strata share: the events in the ring, and the
 * elements of the maps.
 */
#pragma once
#include <limits.h>
#include <stdint.h>

enum passing_type {
	PASSING_CALL = 1, /* a call has begun */
	PASSING_OVER,     /* a call has ended, and its path could not be read earlier */
	/* the last call of the thread has succeeded; the event has only PASSING_HEAD bytes */
	PASSING_RESULT,
};

/* An event in the ring. */
struct passing_event {
	uint32_t type;
	uint32_t text_len; /* length of 'text', including the NUL */
	uint64_t ids;      /* ids of the process (upper half) and of the thread (lower half) */
	int64_t result;    /* result of the call; not set for PASSING_CALL */
	uint64_t closes;   /* number of the thread's calls so far that have closed descriptors */
	/* An event of the type PASSING_RESULT ends here. */
	/* ids of the thread that forked this thread; 0: this is the first thread of the command */
	uint64_t parent;
	uint64_t task; /* identifies the thread for passing_has_open */
	uint64_t nr;
	uint64_t args[6];
	char text[]; /* the path, with a NUL */
};

#define PASSING_HEAD offsetof(struct passing_event, parent)

/* How many events, threads and calls could not be reported. */
struct passing_lost {
	/* events for which the ring was full, or whose program the kernel skipped */
	uint64_t events;
	uint64_t tasks;  /* threads for which the map was full */
	uint64_t unread; /* calls whose path could not be read */
};

/* The rule for a call, in an array that is indexed by the number of the call. */
struct passing_rule {
	uint32_t kind; /* a value of enum passing_kind */
	/* indexes of arguments in the member 'args' of struct passing_task */
	uint32_t path, dirfd, flags;
	uint32_t unless; /* if the flags have any of these bits, the call does not pass */
};

enum passing_kind {
	PASSING_UNSEEN, /* the call needs no event */
	PASSING_SEEN,
	PASSING_CLOSES,     /* the call closes the descriptor in its argument 'dirfd' */
	PASSING_CLOSES_ANY, /* the call may close any descriptor */
};

#define PASSING_CALLS 512 /* a call with this number or a higher one has no rule */

#define PASSING_CLOSED 32 /* number of slots for closed descriptors; a power of two */

/* A thread of the command. */
struct passing_task {
	uint64_t pending; /* a value of enum passing_pending */
	uint64_t parent, closes, nr, path;
	uint64_t args[8];
	/*
	 * The value of 'closes' at the last call that may have closed a descriptor.  closed[i] is
	 * for descriptors whose number modulo PASSING_CLOSED is i.  closed_any is for calls that
	 * may have closed any descriptor.
	 */
	uint64_t closed[PASSING_CLOSED], closed_any;
};

/* Counts for all threads together. */
struct passing_counts {
	struct passing_lost lost;
	uint64_t pending; /* number of threads with work pending */
};

/* Indexes of constants in 'args'.  They stand for arguments that a call does not have. */
enum { PASSING_ARG_CWD = 6, PASSING_ARG_ZERO = 7, PASSING_ARG_MASK = 7 };

enum passing_pending {
	PASSING_NOTHING,
	PASSING_TELL_SUCCESS, /* at the end of the call, report the call if it has succeeded */
	/* read the path at the end of the call, since the call has brought the path into memory */
	PASSING_READ_AGAIN,
};
