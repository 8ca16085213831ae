/*
 * crewwork - the work of one process of a crew (crew.h): it answers requests, one after another.
 *
 * The two processes are of one program, so they exchange structs over a socket.  Each message is a
 * struct with the lengths of what follows it.  The worker sends nothing but the replies, each after
 * its request.
 */
#pragma once
#include <stdatomic.h>
#include <stdint.h>

#include "rpc/answerer.h"

/* The request: its id, its method and its parameters follow. */
struct crewwork_ask {
	uint32_t serial; /* differs from that of any other request that the worker may know */
	uint32_t id, method, params;
};

/* The reply: a line follows. */
struct crewwork_reply {
	uint64_t length;
};

/*
 * Answer the requests that come from fd until it ends.  A request is cancelled when *cancelled,
 * which is in memory shared with the other process, becomes its serial number.  Does not return.
 */
void crewwork_main(int fd, const _Atomic uint32_t *cancelled, const struct answerer_source *source)
	__attribute__((noreturn));
