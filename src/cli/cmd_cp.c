/* cp - copy files into the live tree, and out of the live tree or a node. */
#include <string.h>

#include "cli/command.h"
#include "core/text.h"
#include "ops/requests.h"
#include "ops/table.h"

static bool raw(const void *request)
{
	return !strcmp(((const struct cp_request *)request)->to, "-");
}

static int print_result(struct output *out, const void *request, const void *result)
{
	const struct cp_result *res = result;
	int status = res->report->count[REPORT_DAMAGED] || res->report->count[REPORT_UNRESTORED];
	char bytes[16];

	if (out->json || raw(request))
		return status;
	printf("copied %llu entries, %s", (unsigned long long)res->entries,
		text_size(res->bytes, bytes));
	if (res->into) {
		printf("  [");
		output_counts(&res->changes);
		printf("]");
	}
	putchar('\n');
	return status;
}

const struct command cmd_cp = {
	.name = "cp",
	.op = &op_cp,
	.raw = raw,
	.result = print_result,
};
