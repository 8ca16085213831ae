/* param_argv - fills in requests from the words of a command line, by lists of parameters. */
#pragma once
#include "core/param.h"

/*
 * Read a command line into two requests. reader has the parameters of the command, which are words
 * and options. face has options that all commands take; an option that reader does not know may be
 * one of these. argv[0] is the name of the command in messages.  Texts are not copied: they point
 * into argv.  Returns ERR_USAGE with a message of one line that says what is right.
 *
 * Missing parameters are refused last, and only if *help, a flag among the options of face, is not
 * set.
 */
int param_argv_read(const struct param_reader *reader, const struct param_reader *face,
	const bool *help, int argc, char **argv, struct err *err);
