/* grep - print matching lines in some nodes or in all nodes. */
#include "cli/command.h"
#include "ops/requests.h"
#include "ops/table.h"

#define GREP_MISSED 2 /* the exit status of grep(1) if a file could not be searched */

static void print_row(struct output *out, const void *request, const void *row)
{
	const struct grep_request *req = request;
	const struct grep_row *grep = row;

	if (req->all || req->refs.count > 1)
		printf("%s:", grep->ref);
	output_name(grep->match->path);
	printf(":%llu:", (unsigned long long)grep->match->line);
	output_text(grep->match->text);
	putchar('\n');
}

static int print_result(struct output *out, const void *request, const void *result)
{
	const struct grep_result *res = result;

	if (res->truncated)
		fprintf(stderr, "strata: there is more than the %lld matches asked for\n",
			(long long)((const struct grep_request *)request)->limit);
	return res->missed ? GREP_MISSED : 0;
}

const struct command cmd_grep = {
	.name = "grep",
	.op = &op_grep,
	.row = print_row,
	.result = print_result,
};
