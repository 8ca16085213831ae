/*
 * owner - the process that looks after a workspace.  It makes nodes of changes, serves the control
 * socket, runs the agent, and starts the agent again after a rollback.
 *
 *	ROOT/run/NAME.owner   a file that the owner keeps locked (flock)
 *	ROOT/run/NAME.sock    the control socket (docs/PROTOCOL.md)
 *
 * The owner does no work itself.  Tasks (task.h) run the operations.  A task holds the workspace's
 * lock only while it needs the lock.  So no client's request can block another client.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "ops/recording.h"
#include "ops/supervise.h"

#define OWNER_SOCKET ".sock"
#define OWNER_LOCK RECORDING_LOCK

struct relayedop;

struct owner_options {
	const char *root;
	const char *workspace;
	const struct supervise_request *request;
	/* Called with every event that subscribers get, as one line of JSON.  May be NULL. */
	void (*tell)(void *arg, struct str line);
	void *arg;
	/*
	 * Run an operation that another strata process has relayed, and print its result.  Returns
	 * the exit status.  This function is called in a task.
	 */
	int (*relayed)(const struct op *op, const struct relayedop *relayed);
};

/*
 * Own the workspace until the agent ends or a signal ends the owner.  *status is set to the exit
 * status.  Returns -ERR_BUSY if the workspace already has an owner.
 */
int owner_run(const struct owner_options *options, int *status, struct err *err);

/*
 * Connect to the owner of a workspace.  Returns the socket, or -ERR_NOT_FOUND if there is no owner.
 */
int owner_dial(const char *root, const char *workspace, struct err *err);
