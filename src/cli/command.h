/*
 * command - a subcommand: an operation, and the way in which its result is shown to people.
 *
 * Each src/cli/cmd_*.c defines exactly one struct command.  To add a command, write that file, its
 * man page, and its line in commands[] in command.c.  tests/cli/commands.bats fails while the three
 * disagree.  The usage text is compiled in from the man page.
 */
#pragma once
#include "cli/output.h"
#include "ops/op.h"

struct command {
	const char *name;
	/* one line for the list of commands; NULL: the summary of op is used */
	const char *summary;
	const struct op *op;
	/*
	 * Returns whether this request writes something other than JSON to stdout.  NULL means that
	 * no request does.
	 */
	bool (*raw)(const void *request);
	/*
	 * With --json, the operation's own output goes to standard error instead of standard
	 * output.
	 */
	bool aside;
	/* Returns another operation to run for this request, or NULL to run op. */
	const struct op *(*choose)(const void *request);
	/*
	 * Called once before anything else, in the process that the user has started.  May be NULL.
	 */
	void (*before)(void);
	/*
	 * Called before the operation is run on the environment at root.  If it returns a negative
	 * number, the operation is not run.
	 */
	int (*confirm)(const void *request, const char *root, struct err *err);
	/* Rows arrive over a long time, so each row is printed at once. */
	bool live;
	/*
	 * Show the state of the operation on a terminal, as a table of lines on stderr.  The table
	 * is cleared and drawn anew each time.
	 */
	void (*watch)(struct output *out, const void *request, const void *state);
	/* Print one row.  Not called with --json. */
	void (*row)(struct output *out, const void *request, const void *row);
	/* Print the result and return the exit status.  With --json, only return the status. */
	int (*result)(struct output *out, const void *request, const void *result);
	/*
	 * Exit status if strata itself fails.  0 means that the error determines the status
	 * (errcode_status).
	 */
	int failed;
	/*
	 * The commands whose name is a second word, as in 'trace show'.  The list ends with NULL.
	 */
	const struct command *const *group;
	/* Runs a command that has no operation. */
	int (*run)(int argc, char **argv, struct err *err);
};

extern const struct command *const commands[];
extern const size_t commands_count;
const struct command *command_find(const char *name);
/* Find a command in a group.  Returns NULL if the group does not have it. */
const struct command *command_find_in(const struct command *const *group, const char *name);
