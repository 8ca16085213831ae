/*
 * plan - what a sandbox is to be: its root, its ids, its network.
 *
 * Everything here is borrowed for the length of sandbox_start.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "sandbox/sandbox_user.h"

/* What becomes "/". */
struct sandbox_root {
	/*
	 * Without lower layers this directory itself.  With them an overlay, and
	 * the names below are relative to it, or absolute.
	 */
	int dir;
	const char *const *lower; /* topmost first */
	size_t n_lower;
	const char *upper, *work; /* both or neither */
	bool read_only;
};

struct sandbox_command;
/*
 * What may stand between a sandbox and a command: called inside, in the process that else would
 * execute the command's argv, with the descriptor that came for it.  It closes report when the
 * command is about to run, and then does not return; before that it may, with an enum
 * sandbox_failure (sandbox_run.h).
 */
typedef int sandbox_wrapper(
	const struct sandbox_command *command, int kept, int report, struct err *err);

struct sandbox_plan {
	int run;          /* directory of the holders' sockets */
	const char *name; /* of the workspace; its holder listens at NAME.holder */
	struct sandbox_root root;
	bool no_net; /* a network of its own, with nothing but the loopback device */
	bool scoped; /* no abstract sockets of the machine, where the kernel can (scope.h) */
	sandbox_wrapper *wrapper; /* for commands that are to be wrapped; NULL: none are */
	const char *hostname;     /* NULL: "strata" */
};
