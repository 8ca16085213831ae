#include "mcp/request.h"

#include <string.h>
#include <unistd.h>

#include "core/at.h"
#include "core/own.h"
#include "core/when.h"
#include "owner/rpc.h"

#define PROGRESS_INTERVAL (WHEN_SECOND / 10)

void request_send(const struct request *request, const struct json *message)
{
	struct str text = json_written(message);

	if (at_write_all(request->out, text.ptr, text.len) < 0)
		_exit(1);
}

void request_log(const struct request *request, enum outgoing_level level, struct str text)
{
	owned(json_release) struct json out = JSON_INIT;

	if (level > request->level)
		return;
	outgoing_log(&out, level, text);
	request_send(request, &out);
}

void request_progress(struct request *request, double done, double total, const char *text)
{
	owned(json_release) struct json out = JSON_INIT;
	int64_t now = when_monotonic();

	if (!request->token || (request->told_at && now - request->told_at < PROGRESS_INTERVAL))
		return;
	/*
	 * MCP demands that the number of a progress message grows, but each stage of an operation
	 * counts from 0.
	 */
	if (done <= request->progress) {
		done = request->progress + 1;
		total = 0;
	}
	request->progress = done;
	request->told_at = now;
	outgoing_progress(&out, &(struct outgoing_progress){ request->token, done, total, text });
	request_send(request, &out);
}

void request_fail(const struct request *request, enum rpc_code code, const struct err *err)
{
	owned(json_release) struct json out = JSON_INIT;

	rpc_error(&out, request->id, code, err, NULL, 0);
	request_send(request, &out);
}

const char *request_text(const struct jsonread *params, const char *name)
{
	struct str text;

	if (!params || jsonread_get_str(params, name, &text) != JSONREAD_FOUND ||
		memchr(text.ptr, 0, text.len))
		return NULL;
	return text.ptr;
}
