/* param_argv - fills in requests from the words of a command line, by lists of parameters. */
#pragma once
#include "core/param.h"

/*
 * Read a command line into two requests.  The request of 'reader' is for the words and options of
 * this command.  The request of 'face' is for the options that all commands take.  An option is
 * looked up in 'reader' first.  argv[0] is the name of the command in messages.  Texts are not
 * copied: they point into argv.  Returns ERR_USAGE with a message of one line, which says how the
 * command line must look.
 *
 * A missing parameter is reported only if there is no other mistake, and never if *help is set.
 * 'help' points to a flag among the options of 'face'.
 */
int param_argv_read(const struct param_reader *reader, const struct param_reader *face,
	const bool *help, int argc, char **argv, struct err *err);
