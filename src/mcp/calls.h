/*
 * calls - the requests that are being answered, each by a process of its own.
 *
 * If a process fails or is cancelled, no other request is affected.  The server itself never waits
 * for a lock or a disk.
 */
#pragma once
#include "mcp/mcpserver.h"

#define CALLS_MAX 64 /* maximum number of processes at a time */

/* A function that answers a request in the process of the request. */
typedef void calls_answer(struct request *request);

/*
 * Start a process that answers a request.  The request is borrowed until this function returns.
 * The messages of the process go to 'sink'.  If this function fails, the caller must send the
 * reply.
 */
int calls_start(struct server *server, struct sink *sink, const struct request *request,
	calls_answer *answer, struct err *err);
bool calls_are_full(const struct server *server);
/*
 * Cancel the request with this id, if it came from the client of 'sink'.  No reply to the request
 * will be sent.  Returns whether there was such a request.
 */
bool calls_cancel(struct server *server, const struct sink *sink, const struct jsonread *id);
/* Whether a request of the client still waits for its reply. */
bool calls_has(const struct server *server, const struct sink *sink);
/*
 * Forget a client that has hung up.  Requests that only read, and requests that run a command, are
 * ended.  All other requests are completed.
 */
void calls_orphan(struct server *server, const struct sink *sink);
/* Send the messages that were held back while the sink was full. */
void calls_resume(struct server *server, const struct sink *sink);
void calls_end_all(struct server *server);
