/*
 * outgoing - notifications of the server of the Model Context Protocol (MCP).
 *
 * Requests and replies have the same form as on the control socket, so owner/rpc.h reads and writes
 * them.
 */
#pragma once
#include "core/json.h"
#include "core/jsonread.h"

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
