#include "query/zfstool.h"

#include "core/own.h"
#include "core/text.h"
#include "core/when.h"

#define SHOWN 80 /* bytes of a line that a message shows */

void zfstool_blame(struct family *family, const struct tool_call *call)
{
	owned(json_release) struct json out = JSON_INIT;

	json_open(&out, NULL, '{');
	struct json_mark start = json_mark(&out);
	tool_members(&out, call);
	struct str members = json_since(&out, start);
	buf_release(&family->failure);
	family->failure = (struct buf)BUF_INIT;
	buf_add(&family->failure, members.ptr, members.len);
}

int zfstool_run(struct family *family, struct tool_call *call, struct err *err)
{
	call->limit = family->limit;
	if (!call->time_max)
		call->time_max = ZFSTOOL_SECONDS_MAX * WHEN_SECOND;
	int r = tool_run(call, err);
	if (r < 0)
		zfstool_blame(family, call);
	return r;
}

int zfstool_garbage(
	const struct tool_call *call, struct str line, const char *expected, struct err *err)
{
	owned(buf_release) struct buf shown = BUF_INIT;

	if (line.len > SHOWN)
		line.len = SHOWN;
	text_quote(&shown, line);
	return err_set(err, ERR_CORRUPT, "'%s %s' printed '%s' instead of %s", call->argv[0],
		call->argv[1], shown.data ?: "", expected);
}
