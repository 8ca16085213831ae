/*
 * launch - starts the command.  A child waits until its tracer is ready, is prepared by the engine,
 * and executes the command.
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
	int channel; /* a socket to the child */
	bool inside; /* the command runs in a sandbox (sandbox/launcher.h) */
	struct sigaction child_before, pipe_before; /* actions that the command inherits */
};

/*
 * Set strata's actions for SIGCHLD and SIGPIPE, before the first fork.  A process that ignores
 * SIGCHLD does not get the status of its children, and a warning to a closed pipe must not end
 * strata.  launch_start gives the command the old actions.
 */
void launch_init(struct launch *launch);

/*
 * Called in the child before it executes the command.  Returns a descriptor for the parent, 0 for
 * none, or -errno.  Async-signal-safe.
 */
typedef int launch_prepare(void *arg);

/* Check that a process can install a filter with this action.  Calls filter_try in a child. */
int launch_try(uint32_t action, struct err *err);

/* Fork the child, which waits for launch_go. */
int launch_start(struct launch *launch, char *const *argv, launch_prepare *prepare, void *arg,
	struct err *err);
/* Let the child go on. */
int launch_go(struct launch *launch, struct err *err);
/* Returns the result of prepare: a descriptor (owned), or 0. */
int launch_answer(struct launch *launch, struct err *err);
/* End the child before it executes the command. */
void launch_abandon(struct launch *launch);
/*
 * After the child has ended, returns the errno of a failed execution; 0: the command was executed.
 */
int launch_failure(struct launch *launch);
void launch_release(struct launch *launch);

/*
 * From now on forward signals to the command.  A signal from a terminal is not forwarded, since the
 * command gets it from the terminal, too.  in_group: the command gets all its signals by itself, so
 * strata ignores all of them.
 */
void launch_forward_signals(const struct launch *launch, bool in_group);
/*
 * Stop forwarding, since the command has ended.  From now on a signal to end is meant for strata.
 */
void launch_forward_end(void);
/* Whether strata has got a signal to end since launch_forward_end. */
bool launch_is_told_to_end(void);
/*
 * Stop this process, since a signal from a terminal has stopped the child and the shell waits for
 * this process.  When this process is continued, continue the child.
 */
void launch_stop_along(const struct launch *launch, int sig);
