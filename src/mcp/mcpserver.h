/*
 * mcpserver - the server of the Model Context Protocol (MCP), by which a model uses strata.
 *
 * struct server has the parts that all clients share: the event loop, the processes that answer
 * requests (calls.h), and the agents that answer questions (asker.h).
 */
#pragma once
#include "mcp/request.h"
#include "ops/op.h"
#include "owner/task.h"
#include "query/families.h"

struct asker;
struct pending;
struct loop;

/* The connection to a client, for messages of the server. */
struct sink {
	/* Send one message, which ends with a line feed. */
	void (*send)(struct sink *sink, struct str message);
	/* Whether the client reads so slowly that further messages should wait. */
	bool (*is_full)(const struct sink *sink);
};

struct server {
	struct mcp_settings settings;
	const struct families_options *families;
	struct loop *loop;
	struct task_list tasks;
	struct pending *calls;
	struct asker *askers;
	/* Called by mcpserver_answered; may be NULL. */
	void (*answered)(void *arg);
	void *arg;
};

void mcpserver_send(struct sink *sink, const struct json *message);
/* Must be called after a request was answered, or ended without a reply. */
void mcpserver_answered(struct server *server);

/* Serve one client on standard input and output until it hangs up or a signal ends the server. */
int mcpserver_run(struct op_context *ctx, const struct mcp_request *request, struct err *err);
