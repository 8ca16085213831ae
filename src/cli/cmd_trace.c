/* trace - record what a command does to files, and make use of such records. */
#include <string.h>

#include "cli/command.h"
#include "cli/trace_record.h"

extern const struct command trace_cat, trace_diff, trace_replay, trace_restore, trace_show,
	trace_verify;

/* Known only as the first word: anything else is a command to run. */
static const struct command *const group[] = {
	&trace_cat,
	&trace_diff,
	&trace_replay,
	&trace_restore,
	&trace_show,
	&trace_verify,
	NULL,
};

static int run(int argc, char **argv, struct err *err)
{
	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		char *help[] = { (char *)"help", argv[0], NULL };

		return command_find("help")->run(2, help, err);
	}
	return trace_record_run(argc, argv, err);
}

const struct command cmd_trace = {
	.name = "trace",
	.summary = "record what a command does to files, look at it, undo it",
	.group = group,
	.run = run,
};
