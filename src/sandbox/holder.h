/*
 * holder - the process that keeps a sandbox alive, and how to talk to it.
 *
 * It is the first process of the sandbox's PID namespace: it reaps, passes signals
 * on, and everything in the namespace ends with it.  Each attached strata has one
 * connection, over which it sends a struct holder_request and gets a struct
 * holder_reply for all but HOLDER_ENTERED and HOLDER_BYE.
 *
 *	connection closed after HOLDER_BYE    that strata has left in order
 *	connection closed without             that strata was killed: the sandbox ends
 *	nobody attached and nothing running   the sandbox ends
 *
 * A new connection is greeted with a reply whose result is the version, and with
 * the descriptors of enum sandbox_fd.  The first one is a socket pair made by who
 * starts the holder; over it the holder first asks, with HOLDER_WANTS_MAPS, for the
 * ids of its user namespace, and goes on after HOLDER_GO.
 */
#pragma once
#include <stdint.h>

#include "core/err.h"
#include "sandbox/mounts.h"
#include "sandbox/plan.h"

#define HOLDER_VERSION 1
#define HOLDER_SUFFIX ".holder"
#define HOLDER_WANTS_MAPS 0 /* result of the first message */
#define HOLDER_CGROUP_MAX 256

enum holder_request_type {
	HOLDER_GO = 1,
	HOLDER_ENTER,   /* may I put a process inside? ERR_BUSY while frozen */
	HOLDER_ENTERED, /* it is inside, or will not be */
	HOLDER_FREEZE,  /* ERR_BUSY while somebody enters */
	HOLDER_THAW,
	HOLDER_COUNT,       /* result: the processes besides the holder */
	HOLDER_END_SESSION, /* kill what belongs to a session */
	HOLDER_BYE,
};

struct holder_request {
	uint32_t type;
	int32_t session; /* HOLDER_END_SESSION: its id inside */
};

struct holder_reply {
	int32_t result; /* negative: err says why */
	struct err err;
	char degraded[MOUNTS_DEGRADED_MAX]; /* in the greeting */
	char cgroup[HOLDER_CGROUP_MAX];     /* in the greeting: of the processes, or "" */
};

/* The life of the holder, in a process just cloned into a new PID namespace. */
_Noreturn void holder_main(const struct sandbox_plan *plan, const char *cgroup, int boot);
