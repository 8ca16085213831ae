/*
 * plan - the properties of a sandbox to start: its root, its network and more.
 *
 * sandbox_start borrows everything here while it runs.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "sandbox/sandbox_user.h"

/* The root of the inside: the directory dir, or, with lower layers, an overlay. */
struct sandbox_root {
	int dir;                  /* names of layers are relative to it, or absolute */
	const char *const *lower; /* topmost first */
	size_t n_lower;
	const char *upper, *work; /* both or neither */
	bool read_only;
};

struct sandbox_command;
/*
 * A function that runs a command in a special way, such as tracing it.  It is called inside, in the
 * process that otherwise would execute the command's argv.  kept is the member of that name of
 * struct sandbox_command.  The function closes report when the command is about to run, and does
 * not return after that.  On failure before that it returns one of enum sandbox_failure
 * (sandbox_run.h).
 */
typedef int sandbox_wrapper(
	const struct sandbox_command *command, int kept, int report, struct err *err);

struct sandbox_plan {
	int run;          /* directory of the holders' sockets */
	const char *name; /* of the workspace; its holder listens at NAME.holder */
	struct sandbox_root root;
	bool no_net;              /* the inside has only a loopback device */
	bool scoped;              /* keep the machine's abstract sockets out (scope.h) */
	sandbox_wrapper *wrapper; /* runs commands that are wrapped; NULL: there are none */
	const char *hostname;     /* NULL: "strata" */
};
