/* du - print how much disk space each part of the environment takes. */
#include "cli/command.h"
#include "core/text.h"
#include "ops/requests.h"
#include "ops/table.h"

static void print_part(const char *name, uint64_t bytes, const char *what)
{
	char size[16];

	printf("%-7s %10s  %s\n", name, text_size(bytes, size), what);
}

static int print_result(struct output *out, const void *request, const void *result)
{
	const struct usage *usage = &((const struct du_result *)result)->usage;
	char limit[16];

	if (out->json)
		return 0;
	print_part("base", usage->base, "whole trees that live trees stand on");
	print_part("layers", usage->layers, "differences between trees, a cache");
	print_part("uppers", usage->uppers, "live trees");
	print_part("store", usage->store, "the history");
	print_part("traces", usage->traces, "what 'exec --trace' recorded");
	print_part("logs", usage->logs, "what tournaments said");
	print_part("total", usage_sum(usage), "");
	if (usage->layers_limit)
		printf("layers may take %s\n", text_size(usage->layers_limit, limit));
	if (usage->unread)
		fprintf(stderr, "strata: %llu directories could not be looked into\n",
			(unsigned long long)usage->unread);
	return 0;
}

const struct command cmd_du = {
	.name = "du",
	.op = &op_du,
	.result = print_result,
};
