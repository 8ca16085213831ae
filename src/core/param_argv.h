/*
 * param_argv - words of a command line into requests, by lists of parameters.
 */
#pragma once
#include "core/param.h"

/*
 * The first reader takes words and options of its own; options that it does not know may be of the
 * others, the face's own.  argv[0] is what messages call the command.  The texts are argv's.
 * ERR_USAGE says in one line what is right.  Whether everything needed is there is asked last,
 * unless *help is set by then, which is one of the face's flags.
 */
int param_argv_read(const struct param_reader *reader, const struct param_reader *face,
	const bool *help, int argc, char **argv, struct err *err);
