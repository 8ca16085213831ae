/*
 * holder - the process that keeps a sandbox alive, and how to talk to it.
 *
 * It is the first process of the sandbox's PID namespace: it starts the commands, reaps,
 * passes signals on, and everything in the namespace ends with it.  Each attached strata has one
 * connection, over which it sends a struct holder_request and gets a struct
 * holder_reply where there is something to answer.
 *
 *	connection closed after HOLDER_BYE    that strata has left in order
 *	connection closed without             that strata was killed: the sandbox ends, if
 *	                                      a command of it runs or ran there
 *	nobody attached and nothing running   the sandbox ends
 *
 * A strata has one command at a time.  The command's status, as of wait(2), is written to a pipe
 * that came with it; that the pipe closes without says that the sandbox has ended.
 *
 * Where somebody ends it, those attached get a last reply unasked, ERR_NOT_FOUND
 * with the reason: it stands for the answer to whatever they ask then.
 *
 * A new connection is greeted with a reply whose result is the version, and with
 * the descriptors of enum sandbox_fd.  The first one is a socket pair made by who
 * starts the holder.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "sandbox/mounts.h"
#include "sandbox/plan.h"

#define HOLDER_VERSION 6
#define HOLDER_SUFFIX ".holder"
#define HOLDER_OVER_SUFFIX ".over" /* a file beside the socket: see sandbox_is_over */
#define HOLDER_IS_OVER "."
#define HOLDER_BY_MAX 32

enum holder_request_type {
	HOLDER_RUN = 1,     /* a command; result: its number inside.  ERR_BUSY while frozen */
	HOLDER_SIGNAL,      /* to the process group of that command; no answer */
	HOLDER_FREEZE,      /* stop everything inside */
	HOLDER_THAW,        /* let go on what was frozen */
	HOLDER_COUNT,       /* result: the processes besides the holder */
	HOLDER_END_SESSION, /* kill what belongs to a session */
	HOLDER_BYE,         /* I leave; no answer */
	HOLDER_END,         /* kill everything; no answer */
	HOLDER_WHOSE,       /* result: the command of that process or of its child; 0: none */
	HOLDER_DISMISS,     /* end if nothing is inside; else ERR_BUSY */
};

struct holder_request {
	uint32_t type;
	uint32_t slots;         /* HOLDER_RUN: those of enum inside_fd that come, a bit each */
	int32_t number;         /* HOLDER_END_SESSION: its id, HOLDER_SIGNAL: the signal, ... */
	int32_t self, parent;   /* HOLDER_RUN: of the strata, as it numbers processes */
	char by[HOLDER_BY_MAX]; /* HOLDER_END: the command that wants it */
};

struct holder_reply {
	int32_t result; /* negative: err says why */
	struct err err;
	uint32_t slots; /* greeting: those of enum sandbox_fd that came, a bit each */
	bool host_root; /* greeting: root inside has the id of root of the machine */
	bool shifted;   /* greeting: the inside has the ids of ids.h */
	bool scoped;    /* greeting: the plan's */
	char degraded[MOUNTS_DEGRADED_MAX]; /* greeting */
};

/* The life of the holder, in a process just cloned into a new PID namespace. */
_Noreturn void holder_main(const struct sandbox_plan *plan, int boot);
