/* init - make an environment from a directory or a tar file. */
#include "cli/command.h"
#include "core/text.h"
#include "ops/requests.h"
#include "ops/table.h"

static int print_result(struct output *out, const void *request, const void *result)
{
	const struct init_result *res = result;
	char bytes[16], stored[16];

	if (!out->json) {
		printf("environment ");
		output_text(str_of(res->root));
		putchar('\n');
		printf("node %s: %llu entries, %s, stored in %s\n", res->node.id,
			(unsigned long long)res->entries, text_size(res->bytes, bytes),
			text_size(res->store.bytes, stored));
		printf("live tree ");
		output_text(str_of(
			res->work_path ? res->work_path : "for 'strata exec' and 'strata shell'"));
		printf(" (%s: %s)\n", res->backend, res->reason);
	}
	if (!res->incomplete)
		return 0;
	fprintf(stderr,
		"strata: init: some files were not captured whole (--skip-unreadable accepts "
		"that)\n");
	return 1;
}

const struct command cmd_init = {
	.name = "init",
	.summary = "make an environment from a directory or a tar file",
	.op = &op_init,
	.result = print_result,
};
