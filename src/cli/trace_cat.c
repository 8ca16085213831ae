/* trace cat - print a file as it was before or after a traced command. */
#include "cli/command.h"
#include "ops/table.h"

const struct command trace_cat = {
	.name = "cat",
	.op = &op_cat_bundle,
};
