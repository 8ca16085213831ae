/*
 * owner - the one process that looks after a workspace: it makes nodes of what changes, serves
 * the control socket, runs the agent and starts it again after a rollback.
 *
 *	ROOT/run/NAME.owner   held (flock) by the owner
 *	ROOT/run/NAME.sock    where it listens (spec/cli.md, Control socket)
 *
 * It does no work itself: operations are done by tasks (task.h), each of which takes the
 * workspace's lock for as long as it needs it.  So nothing a client asks can block another.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "ops/op.h"
#include "ops/recording.h"

#define OWNER_SOCKET ".sock"
#define OWNER_LOCK RECORDING_LOCK

struct errand;

struct owner_options {
	const char *root;
	const char *workspace;
	struct param_texts agent; /* none: a daemon */
	const char *net;
	bool host_sockets;
	const char *user;
	const char *cwd;
	struct param_texts env;
	struct param_texts bind;
	bool leaves;  /* what the agent left running goes on */
	int64_t keep; /* retention; 0: the default */
	uint64_t max_bytes;
	/* Told every event that who subscribes is, as one line; NULL: nobody wants to know. */
	void (*tell)(void *arg, struct str line);
	void *arg;
	/* Do what another strata left to us, in a task, and print it; the exit status. */
	int (*relayed)(const struct op *op, const struct errand *errand);
};

/*
 * Own the workspace until the agent ends or a signal comes; *status is what to exit with.
 * ERR_BUSY where it has an owner.
 */
int owner_run(const struct owner_options *options, int *status, struct err *err);

/* Connect to the owner of a workspace: its socket, or -ERR_NOT_FOUND where there is none. */
int owner_dial(const char *root, const char *workspace, struct err *err);
