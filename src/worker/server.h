/*
 * server - answers the requests of one connection until it ends.
 *
 * Requests without an id are answered one at a time, in their order, by the thread that reads.
 * Those with an id are answered by a few threads, each when it is done.  A cancel stops the
 * request of that id, which is answered by an error with ECANCELED; it has no answer of its own.
 *
 * At the end of the input and at shutdown, what was asked for is finished first.  A peer that is
 * gone ends the work on its requests.
 */
#pragma once
#include "core/err.h"
#include "worker/gate.h"

#define SERVER_THREADS 3
#define SERVER_WAITING_MAX 64 /* requests with an id that wait for a thread */

/* in and out, which may be the same, are borrowed.  0: a clean end; 1: a protocol error. */
int server_run(struct gate *gate, int in, int out);
/* Tell a peer why it is not served. */
void server_refuse(int out, const struct err *why);
