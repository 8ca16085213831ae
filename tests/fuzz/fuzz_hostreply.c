/*
 * The messages of a host are taken apart without harm: the lines of the bootstrap, which a login
 * file may have printed, and the replies of an agent, which may be another program.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/own.h"
#include "rpc/bootstrap.h"
#include "rpc/hostreply.h"
#include "rpc/linereader.h"

static void take_reply(struct str line)
{
	owned(buf_release) struct buf data = BUF_INIT;
	struct hostreply reply;
	struct err err = { 0 };

	if (!hostreply_read(line, &reply))
		return;
	if (!reply.value.len || reply.value.ptr < line.ptr ||
		reply.value.ptr + reply.value.len > line.ptr + line.len)
		abort();
	if (hostreply_error("nas", reply.value, &data, &err) >= 0 || !err.text[0])
		abort();
}

static void take_bootstrap(struct bootstrap *bootstrap, struct str line)
{
	struct err err = { 0 };
	bool greeted = bootstrap->greeted;
	int r = bootstrap_line(bootstrap, line, &err);

	if (r < 0 && !err.text[0])
		abort();
	/* Nothing is sent, and nothing runs, before the host has said hello. */
	if (r == BOOTSTRAP_READY && !greeted)
		abort();
	if (r == BOOTSTRAP_SEND && greeted)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	owned(linereader_release) struct linereader lines;
	struct agentfile file = { .path = (char *)(uintptr_t) "agent", .fd = -1 };
	struct bootstrap bootstrap = { .file = &file };
	struct str line;

	linereader_init(&lines, 4096);
	linereader_add(&lines, (struct str){ (const char *)data, size });
	linereader_end(&lines);
	for (;;) {
		enum linereader_found found = linereader_next(&lines, &line);

		if (found == LINEREADER_END || found == LINEREADER_MORE)
			return 0;
		if (found == LINEREADER_LONG)
			continue;
		take_bootstrap(&bootstrap, line);
		take_reply(line);
	}
}
