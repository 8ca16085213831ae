/*
 * holder - the process that keeps a sandbox alive, and the protocol of its socket.
 *
 * The holder is the first process of the sandbox's PID namespace.  It starts the commands, reaps
 * processes and passes signals on, and all processes in the namespace end with it.  Each attached
 * strata process has one connection.  Over it, the process sends struct holder_request, and gets a
 * struct holder_reply for each request that has an answer.
 *
 *	connection closed after HOLDER_BYE    that strata has detached
 *	connection closed without HOLDER_BYE  that strata was killed: the sandbox ends if a command
 *	                                      of that strata runs or ran there
 *	nobody attached and nothing running   the sandbox ends
 *
 * A strata has one command at a time.  The holder writes the command's status, as of wait(2), to a
 * pipe that came with the command.  If the pipe closes without a status, the sandbox has ended.
 *
 * When one strata ends the sandbox, all that are attached get one more reply, ERR_NOT_FOUND with
 * the reason.  They take it for the answer to their next request.
 *
 * A new connection gets a greeting: a reply whose result is the version, with the descriptors of
 * enum sandbox_fd.  The first connection is a socket pair that the holder's creator made.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "sandbox/mounts.h"
#include "sandbox/plan.h"

#define HOLDER_VERSION 8
#define HOLDER_SUFFIX ".holder"
#define HOLDER_OVER_SUFFIX ".over" /* a file beside the socket: see sandbox_is_over */
#define HOLDER_IS_OVER "."
#define HOLDER_BY_MAX 32

enum holder_request_type {
	HOLDER_RUN = 1,     /* start a command; result: its number inside.  ERR_BUSY while frozen */
	HOLDER_SIGNAL,      /* send a signal to the command's process group; no answer */
	HOLDER_FREEZE,      /* stop all processes inside */
	HOLDER_THAW,        /* continue the processes that were frozen */
	HOLDER_COUNT,       /* result: the number of processes besides the holder */
	HOLDER_END_SESSION, /* kill the processes of a session */
	HOLDER_BYE,         /* the client detaches; no answer */
	HOLDER_END,         /* kill all processes; no answer */
	HOLDER_WHOSE,       /* result: the command that this strata or its child runs; 0: none */
	HOLDER_DISMISS,     /* end the sandbox if no process is inside; else ERR_BUSY */
};

struct holder_request {
	uint32_t type;
	uint32_t slots;         /* HOLDER_RUN: a bit for each of enum inside_fd that is sent */
	int32_t number;         /* HOLDER_END_SESSION: session, _SIGNAL: signal, _WHOSE: process */
	int32_t self, parent;   /* HOLDER_RUN: the client's process and its parent, outside */
	char by[HOLDER_BY_MAX]; /* HOLDER_END: the command that ends the sandbox */
	bool own_domain;        /* HOLDER_RUN: the command must not be in the holder's domain */
};

struct holder_reply {
	int32_t result; /* negative: err says why */
	struct err err;
	/* In a greeting only: */
	uint32_t slots;                     /* a bit for each of enum sandbox_fd that is sent */
	bool host_root, shifted, scoped;    /* as in struct sandbox */
	char degraded[MOUNTS_DEGRADED_MAX]; /* as in struct sandbox */
};

/*
 * Do the work of the holder, in a process just cloned into a new PID namespace.  boot is the
 * connection to the first client.
 */
_Noreturn void holder_main(const struct sandbox_plan *plan, int boot);
