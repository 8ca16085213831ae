#include "mcp/ownercall.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "core/at.h"
#include "core/own.h"
#include "core/text.h"
#include "owner/rpc.h"
#include "rpc/linereader.h"

#define CALL_ID 1 /* id of the only request on the connection */

static int send_call(int fd, const struct op *op, const void *given, struct err *err)
{
	owned(json_release) struct json out = JSON_INIT;

	json_open(&out, NULL, '{');
	json_text(&out, "jsonrpc", "2.0");
	json_int(&out, "id", CALL_ID);
	json_text(&out, "method", op->name);
	param_write(&out, "params", op->params, given);
	json_close(&out);
	(void)json_end(&out);
	struct str text = json_written(&out);
	errno = -at_write_all(fd, text.ptr, text.len);
	return errno ? err_errno(err, "ask the owner of the workspace") : 0;
}

/* Take the output of a command from a notification of the owner. */
static void take_output(const struct jsonread *message, struct exectool_output *output)
{
	const struct jsonread *params = jsonread_member(message, "params");
	owned(buf_release) struct buf bytes = BUF_INIT;
	struct str stream = STR(""), text;

	if (!params)
		return;
	(void)jsonread_get_str(params, "stream", &stream);
	if (jsonread_get_str(params, "data_b64", &text) == JSONREAD_FOUND &&
		text_unbase64(&bytes, text))
		text = (struct str){ bytes.data, bytes.len };
	else if (jsonread_get_str(params, "text", &text) != JSONREAD_FOUND)
		return;
	exectool_take(output, str_eq(stream, STR("stderr")), text);
}

/* Returns 1 if the line is the answer, or 0 if it is a notification. */
static int take_line(struct request *request, struct str line, struct exectool_output *output,
	struct buf *answer, struct err *err)
{
	owned(jsonread_freep) struct jsonread *message =
		jsonread_new_max(line, REQUEST_RESULT_MAX + 4096, err);

	if (!message)
		return err_context(err, "the owner of the workspace");
	if (!jsonread_member(message, "method")) {
		buf_add(answer, line.ptr, line.len);
		return 1;
	}
	take_output(message, output);
	exectool_tell(request, output);
	return 0;
}

/* Read more of the answer.  Send progress messages while waiting for it. */
static int read_more(struct linereader *lines, struct request *request, int fd,
	const struct exectool_output *output, struct err *err)
{
	struct pollfd more = { .fd = fd, .events = POLLIN };
	int n;

	while ((n = poll(&more, 1, EXECTOOL_QUIET_MS)) <= 0) {
		if (n < 0 && errno != EINTR)
			return err_errno(err, "wait for the owner of the workspace");
		if (n == 0)
			exectool_tell(request, output);
	}
	return linereader_fill(lines, fd, err) < 0 ? -(int)err->code : 0;
}

int ownercall_run(struct request *request, int fd, const struct op *op, const void *given,
	struct exectool_output *output, struct buf *answer, struct err *err)
{
	owned(linereader_release) struct linereader lines;
	int r = send_call(fd, op, given, err);
	struct str line;

	linereader_init(&lines, REQUEST_RESULT_MAX + 4096);
	while (r == 0) {
		enum linereader_found found = linereader_next(&lines, &line);

		if (found == LINEREADER_LINE)
			r = take_line(request, line, output, answer, err);
		else if (found == LINEREADER_MORE)
			r = read_more(&lines, request, fd, output, err);
		else if (found == LINEREADER_LONG)
			r = err_set(err, ERR_LIMIT, "the answer has more than %zu bytes",
				REQUEST_RESULT_MAX);
		else
			r = err_set(err, ERR_SYSTEM, "the owner of the workspace has ended");
	}
	return r < 0 ? r : 0;
}
