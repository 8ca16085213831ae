/*
 * asker - the processes that answer questions about snapshots, one for each host.
 *
 * Such a process is 'strata agent': it keeps lists of snapshots and the connection to its host from
 * one question to the next, and answers several questions at a time.  It is started with the first
 * question.
 */
#pragma once
#include "mcp/mcpserver.h"

/*
 * Ask a host, or this machine if host is NULL.  The tool of the request is a query method.  The
 * reply to the request goes to sink.  On failure, the caller replies.
 */
int asker_ask(struct server *server, struct sink *sink, const struct request *request,
	const char *host, const struct jsonread *arguments, struct err *err);
/* As calls_cancel, calls_has, calls_orphan and calls_end_all. */
bool asker_cancel(struct server *server, const struct sink *sink, const struct jsonread *id);
bool asker_has(const struct server *server, const struct sink *sink);
void asker_orphan(struct server *server, const struct sink *sink);
void asker_end_all(struct server *server);
