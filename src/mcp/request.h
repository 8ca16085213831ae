/*
 * request - a request of an MCP client that a process of its own answers.
 *
 * The process writes whole messages, each on a line, to a pipe: notifications first, and the reply
 * at the end.  The server passes each line on to the client as it is.
 */
#pragma once
#include "core/arena.h"
#include "mcp/outgoing.h"
#include "mcp/toolset.h"

#define REQUEST_RESULT_MAX ((size_t)32 << 20) /* bytes of a result, as of an owner's answer */

/* What a server was started with. */
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
	const struct tool *tool;       /* for tools/call */
	const struct jsonread *token;  /* for notifications of progress; NULL: none are wanted */
	enum outgoing_level level;     /* less severe messages are not sent */
	int out;                       /* the pipe */
	struct arena arena;            /* lives as long as the process */
	double progress;               /* the progress that was told last */
	int64_t told_at;               /* the time of that */
};

/* Writes a message to the pipe.  If the server is gone, the process ends. */
void request_send(const struct request *request, const struct json *message);
void request_log(const struct request *request, enum outgoing_level level, struct str text);
/* Tell progress, unless less than a tenth of a second has passed since the last one. */
void request_progress(struct request *request, double done, double total, const char *text);
/* Reply with an error of the protocol. */
void request_fail(const struct request *request, int code, const struct err *err);
/* A text parameter, or NULL if it is missing, is no text or contains a NUL. */
const char *request_text(const struct jsonread *params, const char *name);
