/*
 * daemon - serve a workspace without an agent: make nodes of changes, and answer requests on the
 * control socket.
 */
#include "core/jsonread.h"
#include "core/own.h"
#include "ops/supervise.h"

static const struct param params[] = {
	PARAM(supervise_request, keep, COUNT, 0, "the last nodes to keep whatever their age"),
	PARAM(supervise_request, max_bytes, BYTES, 0,
		"thin out further until the store is below this size"),
	{ 0 },
};

/* Write a row.  A row is an event: one line of JSON, as the control socket sends it. */
static void event_json(struct json *out, const void *row)
{
	struct err ignored = { 0 };
	owned(jsonread_freep) struct jsonread *event =
		jsonread_new(*(const struct str *)row, &ignored);

	if (event)
		jsonread_write(out, NULL, event);
}

const struct op op_daemon = {
	.name = "daemon",
	.summary = "keep every change by itself and serve the control socket",
	.flags = OP_NO_ENV | OP_LOCAL,
	.params = params,
	.request_size = sizeof(struct supervise_request),
	.result_size = sizeof(struct supervise_result),
	.rows = "events",
	.row = "any",
	.run = supervise_run,
	.row_json = event_json,
};
