/*
 * holder - the process that keeps a sandbox alive, and how to talk to it.
 *
 * It is the first process of the sandbox's PID namespace: it reaps, passes signals
 * on, and everything in the namespace ends with it.  Each attached strata has one
 * connection, over which it sends a struct holder_request and gets a struct
 * holder_reply where there is something to answer.
 *
 *	connection closed after HOLDER_BYE    that strata has left in order
 *	connection closed without             that strata was killed: the sandbox ends, if
 *	                                      a command of it runs or ran there
 *	nobody attached and nothing running   the sandbox ends
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

#define HOLDER_VERSION 4
#define HOLDER_SUFFIX ".holder"
#define HOLDER_OVER_SUFFIX ".over" /* a file beside the socket: see sandbox_is_over */
#define HOLDER_IS_OVER "."
#define HOLDER_BY_MAX 32

enum holder_request_type {
	HOLDER_ENTER = 1,   /* may I put a process inside? ERR_BUSY while frozen */
	HOLDER_ENTERED,     /* it is inside, or will not be; no answer */
	HOLDER_STRAYED,     /* the same, but not in the cgroup; no answer */
	HOLDER_FREEZE,      /* ERR_BUSY while somebody enters */
	HOLDER_THAW,        /* let go on what was frozen */
	HOLDER_COUNT,       /* result: the processes besides the holder */
	HOLDER_END_SESSION, /* kill what belongs to a session */
	HOLDER_BYE,         /* I leave; no answer */
	HOLDER_END,         /* kill everything; no answer */
	HOLDER_DISMISS,     /* end if nothing is inside or on its way; else ERR_BUSY */
};

struct holder_request {
	uint32_t type;
	int32_t session;        /* HOLDER_END_SESSION: its id inside */
	char by[HOLDER_BY_MAX]; /* HOLDER_END: the command that wants it */
};

struct holder_reply {
	int32_t result; /* negative: err says why */
	struct err err;
	uint32_t slots; /* greeting: those of enum sandbox_fd that came, a bit each */
	bool host_root; /* greeting: root inside has the id of root of the machine */
	bool shifted;   /* greeting: the inside has the ids of ids.h */
	char degraded[MOUNTS_DEGRADED_MAX]; /* greeting */
};

/* The life of the holder, in a process just cloned into a new PID namespace. */
_Noreturn void holder_main(const struct sandbox_plan *plan, int boot);
