/*
 * command - a subcommand: an operation, and the functions that show its result to people.
 *
 * Each src/cli/cmd_*.c defines exactly one struct command.  To add a command, write that file, its
 * man page, and its line in commands[] in command.c.  tests/cli/commands.bats fails if these three
 * do not agree.  The usage text is compiled in from the man page.
 */
#pragma once
#include "cli/output.h"
#include "ops/op.h"

struct command {
	const char *name;
	/* one line for the list of commands; NULL: the line is the summary of op */
	const char *summary;
	const struct op *op;
	/*
	 * Returns whether the operation writes something other than JSON to stdout for this
	 * request.  NULL means that the operation never does this.
	 */
	bool (*raw)(const void *request);
	/*
	 * With --json, the output of the operation itself goes to standard error, since standard
	 * output is reserved for the JSON.
	 */
	bool aside;
	/* Returns another operation to run for this request, or NULL to run op. */
	const struct op *(*choose)(const void *request);
	/* Called first of all, in the process that the user has started.  May be NULL. */
	void (*before)(void);
	/*
	 * Called before the operation is run on the environment at root.  A negative result keeps
	 * the operation from being run.
	 */
	int (*confirm)(const void *request, const char *root, struct err *err);
	/* each row is printed at once, since rows arrive over a long time */
	bool live;
	/*
	 * Show the state of the operation as a table.  Called only if stderr is a terminal.  The
	 * table is cleared and drawn again at each call.
	 */
	void (*watch)(struct output *out, const void *request, const void *state);
	/* Print one row.  Not called with --json. */
	void (*row)(struct output *out, const void *request, const void *row);
	/*
	 * Print the result and return the exit status.  With --json, the function only returns the
	 * status.
	 */
	int (*result)(struct output *out, const void *request, const void *result);
	/*
	 * Exit status if strata itself fails.  0 means that the status depends on the error
	 * (errcode_status).
	 */
	int failed;
	/*
	 * The subcommands of this command: their names are the second word, as in 'trace show'.
	 * The list ends with NULL.
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
