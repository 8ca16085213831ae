/* options - turns a command line into an operation's request, by the operation's parameter list. */
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
 * Fill request from a command line, whose argv[0] is the command's name.  The caller has cleared
 * its request_size bytes.  On ERR_USAGE, the message describes the right usage in one line.
 */
int options_parse(const struct op *op, int argc, char **argv, struct arena *arena, void *request,
	struct options *options, struct err *err);
