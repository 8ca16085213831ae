/*
 * asker - the processes that answer questions about snapshots, one for each host.
 *
 * Each process runs 'strata agent'.  The agent keeps lists of snapshots and the connection to its
 * host from one question to the next, and answers several questions at a time.  The first question
 * to a host starts the process.
 */
#pragma once
#include "mcp/mcpserver.h"

/*
 * Ask a host, or this machine if 'host' is NULL.  The tool of the request must be a query method.
 * The reply to the request goes to 'sink'.  If this function fails, the caller must send the reply.
 */
int asker_ask(struct server *server, struct sink *sink, const struct request *request,
	const char *host, const struct jsonread *arguments, struct err *err);
/* These functions do for questions what the functions of the same names in calls.h do for calls. */
bool asker_cancel(struct server *server, const struct sink *sink, const struct jsonread *id);
bool asker_has(const struct server *server, const struct sink *sink);
void asker_orphan(struct server *server, const struct sink *sink);
void asker_end_all(struct server *server);
