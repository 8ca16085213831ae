/*
 * outgoing - the JSON-RPC messages that the server of the Model Context Protocol (MCP) sends.
 *
 * Every function writes one whole message, which ends with a line feed.  rpc_read (owner/rpc.h)
 * reads the messages of clients, because requests on the control socket have the same form.
 */
#pragma once
#include "core/errcode.h"
#include "core/json.h"
#include "core/jsonread.h"

#define OUTGOING_NO_RESOURCE (-32002) /* the code that MCP has for an unknown resource */

/* Begin a reply: write {"jsonrpc":"2.0","id":ID,"result":{.  outgoing_end closes the brackets. */
void outgoing_begin(struct json *out, const struct jsonread *id);
void outgoing_end(struct json *out);
void outgoing_error(struct json *out, const struct jsonread *id, int code, const struct err *err);

/*
 * Some escapes stand for bytes that are not UTF-8 (core/json.h).  Such an escape is a lone
 * surrogate, and many clients refuse a message with a lone surrogate.  Replace each such escape by
 * the escape of U+FFFD.
 */
void outgoing_replace_bytes(struct buf *message);

/* Severities of RFC 5424, as MCP names them.  A lower number is more severe. */
enum outgoing_level {
	OUTGOING_EMERGENCY,
	OUTGOING_ALERT,
	OUTGOING_CRITICAL,
	OUTGOING_ERROR,
	OUTGOING_WARNING,
	OUTGOING_NOTICE,
	OUTGOING_INFO,
	OUTGOING_DEBUG,
	OUTGOING_LEVELS,
};
/* Returns OUTGOING_LEVELS if no level has this name. */
enum outgoing_level outgoing_level(struct str name);

/* Write a notification with a text for the log of the client. */
void outgoing_log(struct json *out, enum outgoing_level level, struct str text);

/* The progress of a request.  The token came with the request. */
struct outgoing_progress {
	const struct jsonread *token;
	double progress, total; /* total is 0 if it is not known */
	const char *text;
};
void outgoing_progress(struct json *out, const struct outgoing_progress *progress);
