/*
 * confined - a command that runs under a policy.
 *
 * The policy is read first.  When the sandbox of the workspace is there, the namespaces and the
 * warden of the command are made.  After the command has ended, the warden is asked for what it has
 * yet to tell.  It goes on for as long as programs that the command has started.
 *
 * The command may be run by a child of the process that reports its end (exec.c).  So what was
 * denied, and what cannot be enforced, is collected in files in memory that both have.
 */
#pragma once
#include "confine/warden.h"
#include "ops/requests.h"
#include "sandbox/sandbox_run.h"

struct confined {
	bool active;          /* there is a policy, and it is to be enforced */
	struct policy policy; /* as read: not resolved */
	struct warden_orders orders;
	struct warden *warden;
	struct warden_findings findings;
	struct restriction restriction;
	struct resource_group group;
	int told;       /* file in memory: the denials of this command */
	int unenforced; /* file in memory: what cannot be enforced, a line each */
	int denials;    /* what the caller named for them; -1: nothing */
	int collected;  /* see denied.h */
	int joined;     /* the lock that the warden inherits (wardens.h) */
	struct grantsocket grants;
};

#define CONFINED_INIT                                                                              \
	((struct confined){                                                                        \
		.group = RESOURCE_GROUP_INIT,                                                      \
		.told = -1,                                                                        \
		.unenforced = -1,                                                                  \
		.denials = -1,                                                                     \
		.collected = -1,                                                                   \
		.joined = -1,                                                                      \
		.grants = GRANTSOCKET_INIT,                                                        \
	})

/*
 * Read the policy of a place once, so that no program can change it for those that run later, and
 * open where denials go.  Both lie in arena and stay for as long as this process.
 */
int confined_ready(struct exec_place *place, struct arena *arena, struct err *err);

/* Take the policy of a request, if it has one.  command is borrowed.  ERR_USAGE, ERR_INVALID. */
int confined_read(const struct exec_place *place, const struct param_texts *command,
	struct arena *arena, struct confined *out, struct err *err);
/*
 * Prepare for a command of this environment.  sandbox is borrowed, and so is the plan's list of
 * binds; plan gets all else.
 */
int confined_prepare(struct confined *confined, struct env *env, const struct sandbox *sandbox,
	struct commandspace_plan *plan, struct err *err);
/*
 * When the namespaces are made: what the command's process takes on, its variables and limits.
 * ERR_UNSUPPORTED: the policy requires something that this machine cannot enforce.
 */
int confined_restrict(struct confined *confined, struct arena *arena,
	struct sandbox_command *command, struct err *err);
/*
 * When the command has ended: wait for what the warden has yet to tell.  The space loses its
 * mounts, which the warden takes apart.
 */
void confined_settle(
	struct confined *confined, struct commandspace *space, const struct sandbox_result *result);
/* Fill in what was denied and what is not enforced, in arena. */
void confined_report(
	const struct confined *confined, struct arena *arena, struct exec_result *result);
void confined_release(struct confined *confined);
