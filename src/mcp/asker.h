/*
 * asker - the processes that answer questions about snapshots, one for each host.
 *
 * Each process runs 'strata agent'.  The agent keeps lists of snapshots and the connection to its
 * host from one question to the next, and answers several questions at a time.  The first question
 * to a host starts the process.
 */
#pragma once
#include "mcp/mcpserver.h"

#define ASKER_QUESTIONS_MAX 64 /* maximum number of questions without a reply, of all hosts */

/*
 * Ask a host, or this machine if 'host' is NULL.  The tool of the request must be a query method.
 * The reply to the request goes to 'sink'.  If this function fails, the caller must send the reply.
 */
int asker_ask(struct server *server, struct sink *sink, const struct request *request,
	const char *host, const struct jsonread *arguments, struct err *err);
/*
 * asker_cancel works like calls_cancel (calls.h), but on questions instead of requests.  The other
 * functions below work like their counterparts in calls.h.
 */
bool asker_is_full(const struct server *server);
bool asker_cancel(struct server *server, const struct sink *sink, const struct jsonread *id);
bool asker_has(const struct server *server, const struct sink *sink);
void asker_orphan(struct server *server, const struct sink *sink);
void asker_resume(struct server *server);
void asker_end_all(struct server *server);
