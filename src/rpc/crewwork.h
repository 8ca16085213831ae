/*
 * crewwork - the work of one process of a crew (crew.h): it answers requests, one after another.
 *
 * The worker and the process that started it run the same program, so they exchange structs over a
 * socket.  Each message is a struct with lengths, and then the texts of these lengths.  The worker
 * sends only replies, one for each request.
 */
#pragma once
#include <stdatomic.h>
#include <stdint.h>

#include "rpc/answerer.h"

/* The beginning of a request.  The texts of its id, its method and its parameters follow. */
struct crewwork_ask {
	uint32_t serial; /* the worker knows no other request with this number */
	uint32_t id, method, params;
};

/* The beginning of a reply.  A line follows. */
struct crewwork_reply {
	uint64_t length;
};

/*
 * Answer the requests that come from fd, until the stream ends.  A request is cancelled when
 * *cancelled becomes its serial number.  *cancelled is in memory that both processes share.  Does
 * not return.
 */
void crewwork_main(int fd, const _Atomic uint32_t *cancelled, const struct answerer_source *source)
	__attribute__((noreturn));
