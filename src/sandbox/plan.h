/*
 * plan - the properties of a sandbox that is to be started: its root, its network and more.
 *
 * While sandbox_start runs, it borrows everything in the plan.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "sandbox/sandbox_user.h"

/* The root in the sandbox: the directory dir or, if there are lower layers, an overlay. */
struct sandbox_root {
	int dir; /* the directory; names of layers are relative to it, or absolute */
	const char *const *lower; /* layers from top to bottom */
	size_t n_lower;
	const char *upper, *work; /* both are set, or neither is */
	bool read_only;
};

struct sandbox_command;
/*
 * A function that runs a command in a special way, for example under a tracer.  It is called in the
 * sandbox, in the process that otherwise would execute the command's argv.  'kept' is the member of
 * that name of struct sandbox_command.  The function must close the socket 'report' when the
 * command is about to run, and must not return after that.  If it fails before that, it returns one
 * of enum sandbox_failure (sandbox_run.h).
 */
typedef int sandbox_wrapper(
	const struct sandbox_command *command, int kept, int report, struct err *err);

struct sandbox_plan {
	int run;          /* directory of the holders' sockets */
	const char *name; /* name of the workspace; its holder listens at NAME.holder */
	struct sandbox_root root;
	bool no_net; /* the sandbox has only a loopback device */
	bool scoped; /* block the machine's abstract sockets (scope.h) */
	/* runs commands that have 'wrapped' set; NULL: there are no such commands */
	sandbox_wrapper *wrapper;
	const char *hostname; /* NULL: "strata" */
};
