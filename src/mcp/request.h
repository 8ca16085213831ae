/*
 * request - a request of an MCP client, and the process that answers it.
 *
 * Each request has a process of its own.  The process writes messages to a pipe, each on a line:
 * first notifications, and at the end the reply.  The server passes the lines on to the client
 * unchanged.
 */
#pragma once
#include "core/arena.h"
#include "core/errcode.h"
#include "mcp/outgoing.h"
#include "mcp/toolset.h"

#define REQUEST_RESULT_MAX ((size_t)32 << 20) /* maximum size of a result, as CALL_RESULT_MAX */

/* The settings that a server was started with. */
struct mcp_settings {
	const char *root; /* the directory of the environment; NULL: there is none */
	const char *workspace;
	const char *policy; /* the file of the policy that commands run under; NULL: none */
	struct toolset tools;
};

struct request {
	const struct mcp_settings *settings;
	const struct jsonread *id;
	const struct jsonread *params; /* an object, or NULL */
	const struct tool *tool;       /* for tools/call: the tool that is called */
	const struct jsonread *token;  /* token of progress messages; NULL: the client wants none */
	enum outgoing_level level;     /* less severe messages are not sent */
	int out;                       /* the pipe */
	struct arena arena;            /* lives as long as the process */
	double progress;               /* number in the last progress message */
	int64_t told_at;               /* time of the last progress message */
};

/* Write a message to the pipe.  If the server has ended, this process ends as well. */
void request_send(const struct request *request, const struct json *message);
void request_log(const struct request *request, enum outgoing_level level, struct str text);
/* Send a progress message, but at most one every tenth of a second. */
void request_progress(struct request *request, double done, double total, const char *text);
/* Reply with an error of the protocol. */
void request_fail(const struct request *request, enum rpc_code code, const struct err *err);
/* Returns a text parameter, or NULL if it is missing, is not a text, or contains a NUL. */
const char *request_text(const struct jsonread *params, const char *name);
