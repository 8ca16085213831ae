/*
 * command - a subcommand: an operation, and the way in which it is shown to people.
 *
 * Each src/cli/cmd_*.c defines exactly one struct command.  To add one, write the file, its man
 * page, and its line in commands[] in command.c; tests/cli/commands.bats fails while the three
 * disagree.  The usage text is compiled in from the man page.
 */
#pragma once
#include "cli/output.h"
#include "ops/op.h"

struct command {
	const char *name;
	const char *summary; /* one line for the list of commands; NULL: that of op */
	const struct op *op;
	/* Whether this request puts something other than JSON on stdout; NULL: never. */
	bool (*raw)(const void *request);
	/* With --json, output of the operation itself goes to standard error instead. */
	bool aside;
	/* Returns another operation for this request, or NULL to keep op. */
	const struct op *(*choose)(const void *request);
	/* Called once before all else, in the process the user started; NULL: nothing to do. */
	void (*before)(void);
	/*
	 * Called before the operation is run on the environment at root.  If this returns a
	 * negative number, the operation is not run.
	 */
	int (*confirm)(const void *request, const char *root, struct err *err);
	/* Rows come now and then, so each is shown at once. */
	bool live;
	/*
	 * Show the state of the operation on a terminal, as a table of lines on stderr.  The table
	 * is cleared and drawn again each time.
	 */
	void (*watch)(struct output *out, const void *request, const void *state);
	/* Print one row; not called with --json. */
	void (*row)(struct output *out, const void *request, const void *row);
	/*
	 * Print the result and return the exit status.  With --json, print nothing and only return
	 * the status.
	 */
	int (*result)(struct output *out, const void *request, const void *result);
	/* Exit status if strata itself fails; 0: that of the error (errcode_status). */
	int failed;
	/* Commands whose name is a second word, as in 'trace show'; NULL at the end. */
	const struct command *const *group;
	/* Runs a command that is no operation. */
	int (*run)(int argc, char **argv, struct err *err);
};

extern const struct command *const commands[];
extern const size_t commands_count;
const struct command *command_find(const char *name);
/* Find a command in a group.  Returns NULL if there is none. */
const struct command *command_find_in(const struct command *const *group, const char *name);
