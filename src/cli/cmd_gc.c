/* gc - free the disk space of data that no node needs. */
#include "cli/command.h"
#include "core/text.h"
#include "ops/requests.h"
#include "ops/table.h"

static int print_result(struct output *out, const void *request, const void *result)
{
	const struct gc_result *res = result;
	const struct {
		const char *name;
		uint64_t bytes;
	} parts[] = {
		{ "the database", res->database_freed },
		{ "layers", res->less.layers },
		{ "live trees", res->less.uppers },
		{ "traces", res->less.traces },
		{ "logs", res->less.logs },
	};
	char freed[16], left[16];

	if (out->json)
		return 0;
	printf("freed %s in %llu objects; the store now holds %s\n",
		text_size(res->freed.bytes, freed), (unsigned long long)res->freed.objects,
		text_size(res->store.bytes, left));
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].bytes)
			printf("freed %s of %s\n", text_size(parts[i].bytes, freed), parts[i].name);
	return 0;
}

const struct command cmd_gc = {
	.name = "gc",
	.op = &op_gc,
	.result = print_result,
};
