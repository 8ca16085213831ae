#include "mcp/outgoing.h"

#include <string.h>

#include "owner/rpc.h"

static const char *const levels[OUTGOING_LEVELS] = {
	[OUTGOING_EMERGENCY] = "emergency",
	[OUTGOING_ALERT] = "alert",
	[OUTGOING_CRITICAL] = "critical",
	[OUTGOING_ERROR] = "error",
	[OUTGOING_WARNING] = "warning",
	[OUTGOING_NOTICE] = "notice",
	[OUTGOING_INFO] = "info",
	[OUTGOING_DEBUG] = "debug",
};

/* Whether the backslash at 'at' begins an escape, and is not itself escaped. */
static bool begins_escape(const char *start, const char *at)
{
	size_t before = 0;

	while (at - before > start && at[-1 - (ptrdiff_t)before] == '\\')
		before++;
	return before % 2 == 0;
}

void outgoing_replace_bytes(struct buf *message)
{
	static const char mark[] = "\\udc", replacement[] = "\\ufffd";
	char *at = message->data, *end = message->data + message->len;

	while (end - at >= (ptrdiff_t)strlen(replacement) &&
		(at = memmem(at, (size_t)(end - at), mark, strlen(mark)))) {
		if (begins_escape(message->data, at) && end - at >= (ptrdiff_t)strlen(replacement))
			memcpy(at, replacement, strlen(replacement));
		at += strlen(mark);
	}
}

enum outgoing_level outgoing_level(struct str name)
{
	enum outgoing_level level = 0;

	while (level < OUTGOING_LEVELS && !str_eq(name, str_of(levels[level])))
		level++;
	return level;
}

void outgoing_log(struct json *out, enum outgoing_level level, struct str text)
{
	rpc_notify(out, "notifications/message");
	json_text(out, "level", levels[level]);
	json_text(out, "logger", "strata");
	json_str(out, "data", text);
	rpc_end(out);
}

void outgoing_progress(struct json *out, const struct outgoing_progress *progress)
{
	rpc_notify(out, "notifications/progress");
	jsonread_write(out, "progressToken", progress->token);
	json_double(out, "progress", progress->progress);
	if (progress->total > 0)
		json_double(out, "total", progress->total);
	if (progress->text)
		json_text(out, "message", progress->text);
	rpc_end(out);
}
