/*
 * calls - the requests that are being answered, each by a process of its own.
 *
 * A process that fails or is cancelled takes no other request with it, and the server itself never
 * waits for a lock or a disk.
 */
#pragma once
#include "mcp/mcpserver.h"

#define CALLS_MAX 64 /* processes at a time */

/* A function that answers a request in the process of the request. */
typedef void calls_answer(struct request *request);

/*
 * Start a process that answers a request.  The request is borrowed until this function returns, and
 * the messages of the process go to sink.  On failure, the caller replies.
 */
int calls_start(struct server *server, struct sink *sink, const struct request *request,
	calls_answer *answer, struct err *err);
bool calls_are_full(const struct server *server);
/* Cancel the request of a client that has this id.  No reply to the request will be sent. */
bool calls_cancel(struct server *server, const struct sink *sink, const struct jsonread *id);
/* Whether a request of the client has no reply yet. */
bool calls_has(const struct server *server, const struct sink *sink);
/* Forget a client that has gone.  What only reads is ended, and what writes is completed. */
void calls_orphan(struct server *server, const struct sink *sink);
/* Go on to read the messages that were held back while the sink was full. */
void calls_resume(struct server *server, const struct sink *sink);
void calls_end_all(struct server *server);
