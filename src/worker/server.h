/*
 * server - answers the requests of one connection until the connection ends.
 *
 * Requests without an id are answered one at a time, in their order, by the thread that reads.
 * Requests with an id are answered by a few threads, each request when its work is done.  A request
 * of the kind "cancel" stops the request that has the same id.  The stopped request is answered
 * with the error ECANCELED.  The request to cancel has no answer.
 *
 * At the end of the input and at shutdown, the requests that were already read are finished first.
 * If the peer closes the connection, the work on its requests ends.
 */
#pragma once
#include "core/err.h"
#include "worker/gate.h"

#define SERVER_THREADS 3
#define SERVER_WAITING_MAX 64 /* requests with an id that wait for a thread */

/*
 * Serve one connection.  The descriptors 'in' and 'out', which may be the same, are borrowed.
 * Returns 0 after a clean end, and 1 after a protocol error.
 */
int server_run(struct gate *gate, int in, int out);
/* Send the reason why a peer is not served. */
void server_refuse(int out, const struct err *why);
