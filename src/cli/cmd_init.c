/* init - make an environment from a directory or a tar file. */
#include <string.h>

#include "cli/command.h"
#include "core/text.h"
#include "ops/requests.h"
#include "ops/table.h"

#define INDENT "      "
#define WIDTH 74 /* maximum number of columns of a line, without its indent */
#define STATUS_USAGE 2

static bool says_nothing(const struct init_request *req)
{
	return !req->from && !req->tarball && !req->empty && !req->in_place && !req->exclude.count;
}

static const struct op *choose_init_op(const void *request)
{
	return says_nothing(request) ? &op_choices : NULL;
}

/* Print an explanation on separate lines below the choice that it explains. */
static void print_wrapped(const char *text)
{
	while (*text) {
		size_t len = strlen(text);

		if (len > WIDTH) {
			for (len = WIDTH; len && text[len] != ' '; len--)
				;
			len = len ? len : WIDTH;
		}
		fprintf(stderr, INDENT "%.*s\n", (int)len, text);
		text += len + strspn(text + len, " ");
	}
}

static int print_choices(struct output *out, const struct choices_result *res)
{
	if (out->json)
		return STATUS_USAGE;
	fprintf(stderr, "strata: init: say what the environment begins with\n");
	for (size_t i = 0; i < res->n; i++) {
		fprintf(stderr, "  strata init %s\n", res->list[i].arguments);
		print_wrapped(res->list[i].gives);
	}
	fprintf(stderr,
		"%s '%s'.\n'strata --root .strata init ...' makes one for this directory.\n",
		res->exists ? "There is an environment at" : "The environment would be at",
		res->root);
	return STATUS_USAGE;
}

static int print_result(struct output *out, const void *request, const void *result)
{
	const struct init_result *res = result;
	char bytes[16], stored[16];

	if (says_nothing(request))
		return print_choices(out, result);
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
	.op = &op_init,
	.choose = choose_init_op,
	.result = print_result,
};
