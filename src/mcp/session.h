/*
 * session - the conversation with one MCP client: from 'initialize' to the end.
 *
 * Some requests need no work and are answered at once.  A request that runs an operation is given
 * to a process (calls.h).  A question about snapshots is given to an agent (asker.h).
 */
#pragma once
#include "mcp/mcpserver.h"

struct session {
	struct server *server;
	bool begun;                /* 'initialize' was answered */
	enum outgoing_level level; /* less severe log messages are not sent */
};

void session_init(struct session *session, struct server *server);
/*
 * Take one message of the client.  Returns false if the message has to wait until fewer requests
 * are being answered.
 */
bool session_take(struct session *session, struct sink *sink, struct str message);
