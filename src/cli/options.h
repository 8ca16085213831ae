/* options - turn a command line into an operation's request, by its parameter list. */
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
 * Fill request (request_size bytes, zeroed by the caller) from a command line, whose argv[0] is the
 * command's name.  On ERR_USAGE, the message says in one line what is right.
 */
int options_parse(const struct op *op, int argc, char **argv, struct arena *arena, void *request,
	struct options *options, struct err *err);
