/* export - write a node as a tar file or a directory. */
#include <string.h>

#include "cli/command.h"
#include "core/text.h"
#include "ops/requests.h"
#include "ops/table.h"

static bool raw(const void *request)
{
	return !strcmp(((const struct export_request *)request)->output, "-");
}

static int print_result(struct output *out, const void *request, const void *result)
{
	const struct export_request *req = request;
	const struct export_result *res = result;
	char bytes[16];

	/* Print nothing if the archive itself is written to standard output. */
	if (!out->json && strcmp(req->output, "-"))
		printf("exported %s: %llu entries, %s\n", res->id, (unsigned long long)res->entries,
			text_size(res->bytes, bytes));
	return res->report->count[REPORT_DAMAGED] ? 1 : 0;
}

const struct command cmd_export = {
	.name = "export",
	.op = &op_export,
	.raw = raw,
	.result = print_result,
};
