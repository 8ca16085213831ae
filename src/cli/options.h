/*
 * options - fills the request of an operation from a command line, according to the operation's
 * list of parameters.
 */
#pragma once
#include <stdbool.h>

#include "core/arena.h"
#include "ops/op.h"

struct options {
	bool json;
	bool jsonl;
	bool help;
};

/*
 * Fill request from a command line.  argv[0] is the name of the command.  The caller must have set
 * the request to zeros.  On ERR_USAGE, the message describes the right usage in one line.
 */
int options_parse(const struct op *op, int argc, char **argv, struct arena *arena, void *request,
	struct options *options, struct err *err);
