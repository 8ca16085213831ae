/*
 * launch - starts the command.  A child process waits until its tracer is ready, runs the
 * preparation of the engine, and executes the command.
 *
 * The child inherits descriptors, terminal, process group and signals unchanged, so the command is
 * started as it would be without strata.
 */
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/err.h"

#define LAUNCH_CANNOT_RUN 126
#define LAUNCH_NOT_FOUND 127

struct launch {
	pid_t pid;
	int channel; /* socket to the child */
	/* the command runs in a sandbox, and the launcher executes it (sandbox/launcher.h) */
	bool inside;
	/* signal actions that are restored for the command */
	struct sigaction child_before, pipe_before;
};

/*
 * Set the actions of this process for SIGCHLD and SIGPIPE.  To be called before the first fork.  A
 * process that ignores SIGCHLD does not get the status of its children.  In a process that does not
 * ignore SIGPIPE, a warning to a closed pipe would end the process.  launch_start restores the old
 * actions for the command.
 */
void launch_init(struct launch *launch);

/*
 * The type of the function that prepares the child before the child executes the command.  The
 * function returns a descriptor for the parent, 0 if there is none, or -errno.  The function must
 * be async-signal-safe.
 */
typedef int launch_prepare(void *arg);

/*
 * Check that this process can install a filter with this action, by filter_try in a forked child.
 */
int launch_try(uint32_t action, struct err *err);

/* Fork the child.  The child waits for launch_go before it prepares itself. */
int launch_start(struct launch *launch, char *const *argv, launch_prepare *prepare, void *arg,
	struct err *err);
/* Let the child prepare itself and execute the command. */
int launch_go(struct launch *launch, struct err *err);
/* Returns the result of 'prepare' in the child: a descriptor, which the caller owns, or 0. */
int launch_answer(struct launch *launch, struct err *err);
/* Kill the child before it executes the command. */
void launch_abandon(struct launch *launch);
/*
 * Returns the errno of a failed execution, or 0 if the command was executed.  To be called after
 * the child has ended.
 */
int launch_failure(struct launch *launch);
void launch_release(struct launch *launch);

/*
 * Begin to forward signals to the command.  A signal from a terminal is not forwarded, since the
 * terminal also sends it to the command.  If in_group is set, the command gets all signals
 * directly, and strata ignores the signals that it gets itself.
 */
void launch_forward_signals(const struct launch *launch, bool in_group);
/*
 * Stop forwarding signals, since the command has ended.  From now on, a signal such as SIGTERM is
 * meant for strata itself.
 */
void launch_forward_end(void);
/* Whether strata has received a signal such as SIGTERM since launch_forward_end was called. */
bool launch_is_told_to_end(void);
/*
 * If a signal from the terminal has stopped the child, stop this process as well, since the shell
 * waits for this process.  When this process is continued, it continues the child.
 */
void launch_stop_along(const struct launch *launch, int sig);
