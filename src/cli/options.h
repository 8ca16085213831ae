/*
 * options - a command line into an operation's request, by its parameter list.
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
 * argv[0] is the command's name.  Fills request (request_size bytes, zeroed by
 * the caller).  ERR_USAGE says in one line what is right.
 */
int options_parse(const struct op *op, int argc, char **argv, struct arena *arena, void *request,
	struct options *options, struct err *err);
