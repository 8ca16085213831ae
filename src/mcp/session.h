/*
 * session - the conversation with one MCP client: from 'initialize' to the end.
 *
 * Some requests need no work and are answered at once.  A request that runs an operation is given
 * to a process (calls.h).  A question about snapshots is given to an agent (asker.h).
 */
#pragma once
#include "mcp/mcpserver.h"

/* Maximum total size in bytes of the requests that wait until fewer requests are being answered. */
#define SESSION_WAITING_MAX ((size_t)1 << 20)

struct session {
	struct server *server;
	struct waiting *first, **last; /* requests that wait, the oldest first */
	size_t waiting;                /* bytes of their messages */
	bool begun;                    /* 'initialize' was answered */
	enum outgoing_level level;     /* less severe log messages are not sent */
};

void session_init(struct session *session, struct server *server);
void session_release(struct session *session);
/*
 * Take one message of the client.  A request that cannot be answered yet is kept until
 * session_resume is called.  Returns false if too many requests are kept already: the caller must
 * then try again later with the same message.
 */
bool session_take(struct session *session, struct sink *sink, struct str message);
/* Begin to answer requests that were kept.  To be called after a request was answered. */
void session_resume(struct session *session);
bool session_waits(const struct session *session); /* whether a request is kept */
