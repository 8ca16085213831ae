/*
 * launch - starting the command: a child that waits until its tracer is ready,
 * lets itself be prepared by the engine, and executes.
 *
 * The child inherits descriptors, terminal, process group and signals as they
 * were: to the command it is as if it had been started without us.
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
	int channel;                                /* to the child */
	bool inside;                                /* of a sandbox: see sandbox/launcher.h */
	struct sigaction child_before, pipe_before; /* what the command is to inherit */
};

/*
 * Before anything is forked: who ignores SIGCHLD learns no status, and a warning to a closed
 * pipe must not end us.  launch_start gives the command what was before.
 */
void launch_init(struct launch *launch);

/*
 * What the child does before it executes: a descriptor for the parent, 0 for
 * none, -errno.  Async-signal-safe.
 */
typedef int launch_prepare(void *arg);

/* Whether a process could install a filter with this action: filter_try in a child. */
int launch_try(uint32_t action, struct err *err);

/* Fork the child; it waits for launch_go. */
int launch_start(struct launch *launch, char *const *argv, launch_prepare *prepare, void *arg,
	struct err *err);
/* Let it go on. */
int launch_go(struct launch *launch, struct err *err);
/* What prepare gave: a descriptor (owned), or 0. */
int launch_answer(struct launch *launch, struct err *err);
/* Never mind: the child ends without running anything. */
void launch_abandon(struct launch *launch);
/* When it has ended: why the command was not executed, as an errno; 0 if it was. */
int launch_failure(struct launch *launch);
void launch_release(struct launch *launch);

/*
 * From now on signals meant for the command that reach us go to it, and those of
 * a terminal, which it gets too, do not end us.
 */
void launch_forward_signals(const struct launch *launch);
/* The command gets its signals from elsewhere, and none of them is for us. */
void launch_ignore_signals(void);
/* The command has ended: a signal to end is from now on for us; true once there was one. */
void launch_forward_end(void);
bool launch_is_told_to_end(void);
/* A terminal's signal has stopped the child: so do we, for who waits for us; and go on together. */
void launch_stop_along(const struct launch *launch, int sig);
