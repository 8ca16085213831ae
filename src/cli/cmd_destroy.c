/* destroy - remove a whole environment. */
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "ops/destroy.h"
#include "ops/requests.h"
#include "ops/table.h"

#define ANSWER_MAX 16

static bool is_yes(const char *answer)
{
	return !strcmp(answer, "y\n") || !strcmp(answer, "yes\n");
}

static int confirm(const void *request, const char *root, struct err *err)
{
	const struct destroy_request *req = request;
	char answer[ANSWER_MAX] = "";
	int r = destroy_check(root, err);

	if (r < 0 || req->yes)
		return r;
	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return err_set(err, ERR_USAGE,
			"destroy: nobody can be asked without a terminal; --yes destroys unasked");
	fprintf(stderr, "Remove the environment at ");
	output_say(str_of(root));
	fprintf(stderr, " with all its history and work? [y/N] ");
	if (fgets(answer, sizeof(answer), stdin) && is_yes(answer))
		return 0;
	return err_set(err, ERR_DENIED, "destroy: not confirmed; nothing was removed");
}

static int print_result(struct output *out, const void *request, const void *result)
{
	const struct destroy_result *res = result;

	(void)request;
	if (!out->json && res->destroyed) {
		printf("destroyed ");
		output_text(str_of(res->root));
		printf("%s\n", res->stays ? " (its empty directory stays)" : "");
	}
	if (res->destroyed)
		return 0;
	fprintf(stderr,
		"strata: destroy: not everything could be removed%s%s\n"
		"hint: see to what stays, then run 'strata destroy' again: it goes on\n",
		res->why_alone ? "; without subordinate ids: " : "",
		res->why_alone ? res->why_alone : "");
	return 1;
}

const struct command cmd_destroy = {
	.name = "destroy",
	.op = &op_destroy,
	.confirm = confirm,
	.result = print_result,
};
