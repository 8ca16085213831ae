/*
 * holder - the process that keeps a sandbox alive, and the protocol of its socket.
 *
 * The holder is the first process of the sandbox's PID namespace.  It starts the commands, reaps
 * processes and passes signals on.  When it ends, all processes in the namespace end.  Each
 * attached strata process has one connection.  Over this connection, the process sends struct
 * holder_request, and gets a struct holder_reply for each request that has an answer.
 *
 *	connection closed after HOLDER_BYE    the strata process has detached
 *	connection closed without HOLDER_BYE  the strata process was killed: the sandbox ends if a
 *	                                      command of that process runs or ran in it
 *	no connection, no running program     the sandbox ends
 *
 * A strata process may run only one command at a time.  The holder writes the command's status, as
 * of wait(2), to a pipe that came with the command.  If the pipe closes without a status, the
 * sandbox has ended.
 *
 * When one strata process ends the sandbox, all attached processes get one more reply:
 * ERR_NOT_FOUND with the reason.  Each process takes this reply as the answer to its next request.
 *
 * A new connection gets a greeting.  This is a reply with the result HOLDER_VERSION and the
 * descriptors of enum sandbox_fd.  The first connection is a socket pair that the holder's creator
 * made.
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
	HOLDER_RUN = 1,     /* start a command; result: its pid inside.  ERR_BUSY while frozen */
	HOLDER_SIGNAL,      /* send a signal to the command's process group; no answer */
	HOLDER_FREEZE,      /* stop all processes in the sandbox */
	HOLDER_THAW,        /* continue the processes that were frozen */
	HOLDER_COUNT,       /* result: the number of processes besides the holder */
	HOLDER_END_SESSION, /* kill the processes of a session */
	HOLDER_BYE,         /* detach the client; no answer */
	HOLDER_END,         /* kill all processes; no answer */
	HOLDER_WHOSE,   /* result: the command that a strata process or its child runs; 0: none */
	HOLDER_DISMISS, /* end the sandbox if no process runs in it; else ERR_BUSY */
};

struct holder_request {
	uint32_t type;
	uint32_t slots; /* HOLDER_RUN: one bit for each descriptor of enum inside_fd that is sent */
	int32_t number; /* HOLDER_END_SESSION: session, _SIGNAL: signal, _WHOSE: process */
	int32_t self, parent;   /* HOLDER_RUN: pids of the client and its parent on the host */
	char by[HOLDER_BY_MAX]; /* HOLDER_END: the command that ends the sandbox */
	bool own_domain;        /* HOLDER_RUN: the command must not be in the holder's domain */
};

struct holder_reply {
	int32_t result; /* negative: an error, with its text in err */
	struct err err;
	/* The members below are set only in a greeting. */
	uint32_t slots; /* one bit for each descriptor of enum sandbox_fd that is sent */
	bool host_root, shifted, scoped;    /* as in struct sandbox */
	char degraded[MOUNTS_DEGRADED_MAX]; /* as in struct sandbox */
};

/*
 * Do the work of the holder.  Call this only in a process that was just cloned into a new PID
 * namespace.  'boot' is the connection to the first client.
 */
_Noreturn void holder_main(const struct sandbox_plan *plan, int boot);
