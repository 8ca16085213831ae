#include "mcp/outgoing.h"

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

void outgoing_begin(struct json *out, const struct jsonread *id)
{
	rpc_begin(out, id);
}

void outgoing_end(struct json *out)
{
	rpc_end(out);
}

void outgoing_error(struct json *out, const struct jsonread *id, int code, const struct err *err)
{
	rpc_error(out, id, (enum rpc_code)code, err, NULL, 0);
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
