/* tag - list, show, set or delete tags. */
#include "cli/command.h"
#include "ops/requests.h"
#include "ops/table.h"

static const struct op *choose_tag_op(const void *request)
{
	const struct tag_request *req = request;

	if (req->name || req->remove)
		return NULL;
	return &op_tags;
}

static void print_row(struct output *out, const void *request, const void *row)
{
	const struct tag_row *tag = row;

	printf("%s  %s\n", tag->id, tag->name);
}

static int print_result(struct output *out, const void *request, const void *result)
{
	const struct tag_request *req = request;
	const struct tag_result *res = result;

	if (out->json || !req->name)
		return 0;
	if (res->removed)
		printf("deleted tag %s (was %s)\n", res->name, res->id);
	else
		printf("%s  %s\n", res->id, res->name);
	return 0;
}

const struct command cmd_tag = {
	.name = "tag",
	.op = &op_tag,
	.choose = choose_tag_op,
	.row = print_row,
	.result = print_result,
};
