/*
 * confined - a command that runs under a policy.
 *
 * The functions are called in this order: confined_read, confined_prepare, confined_restrict,
 * confined_settle, confined_report.  Between confined_prepare and confined_restrict, the caller
 * makes the namespaces and the warden of the command.  confined_settle asks the warden for the
 * denials that it has not reported yet.  The warden goes on until all programs of the command have
 * ended.
 *
 * The process that reports the result may run the command in a child (exec.c).  So denials are
 * collected in a file in memory that both processes have open.  Another such file collects the
 * parts of the policy that cannot be enforced.
 */
#pragma once
#include "confine/findings.h"
#include "confine/warden.h"
#include "ops/requests.h"
#include "sandbox/sandbox_run.h"

struct confined {
	bool active;          /* there is a policy, and it must be enforced */
	struct policy policy; /* the policy as it was read, not resolved */
	struct warden_orders orders;
	struct warden *warden;
	struct findings findings;
	struct restriction restriction;
	struct resource_group group;
	int told; /* file in memory with the denials of this command */
	/* file in memory with the parts of the policy that cannot be enforced, one on each line */
	int unenforced;
	int denials;   /* descriptor that gets the denials for the caller (--denials); -1: none */
	int collected; /* file for the denials of the workspace (denied.h) */
	int stubs;     /* file with the names of stubs in binds (wardens.h) */
	int joined;    /* the shared lock that the warden inherits (wardens.h) */
	struct grantsocket grants;
};

#define CONFINED_INIT                                                                              \
	((struct confined){                                                                        \
		.group = RESOURCE_GROUP_INIT,                                                      \
		.told = -1,                                                                        \
		.unenforced = -1,                                                                  \
		.denials = -1,                                                                     \
		.collected = -1,                                                                   \
		.stubs = -1,                                                                       \
		.joined = -1,                                                                      \
		.grants = GRANTSOCKET_INIT,                                                        \
	})

/*
 * Read the policy that 'place' names, and open the file for denials.  This is done once, so that no
 * program can change the policy for programs that run later.  The policy lies in arena.  The
 * descriptor of the file stays open in this process.  A child process that runs a command closes
 * its own copy of the descriptor in confined_release.
 */
int confined_ready(struct exec_place *place, struct arena *arena, struct err *err);

/*
 * Take the policy of a request, if the request has one.  'command' is borrowed.  Returns ERR_USAGE
 * or ERR_INVALID if the request or the policy is wrong.
 */
int confined_read(const struct exec_place *place, const struct param_texts *command,
	struct arena *arena, struct confined *out, struct err *err);
/*
 * Prepare for a command of env that will run in *sandbox.  *sandbox is borrowed.  Fills in plan,
 * except its binds.
 */
int confined_prepare(struct confined *confined, struct env *env, const struct sandbox *sandbox,
	struct commandspace_plan *plan, struct err *err);
/*
 * Set the restriction of a command, its variables and its limits.  To be called when the namespaces
 * of the command have been made.  Returns ERR_UNSUPPORTED if the policy requires something that
 * this machine cannot enforce.
 */
int confined_restrict(struct confined *confined, struct arena *arena,
	struct sandbox_command *command, struct err *err);
/*
 * Wait until the warden has reported all denials.  To be called when the command has ended.  Closes
 * the mount namespace of 'space', so that the warden can remove its stubs.  Returns false if the
 * warden was killed or has failed.  In that case the stubs are still there.
 */
bool confined_settle(
	struct confined *confined, struct commandspace *space, const struct sandbox_result *result);
/*
 * Remove the stubs of a killed warden.  To do so, make the mounts of the command once more.
 * 'sandbox' and 'binds' must be those of the command.
 */
int confined_remove_stubs(struct confined *confined, struct env *env, const struct sandbox *sandbox,
	const struct bindspecs *binds, struct err *err);
/*
 * Write the denials into result, and also the parts of the policy that are not enforced.  The texts
 * are in arena.
 */
void confined_report(
	const struct confined *confined, struct arena *arena, struct exec_result *result);
/*
 * If denials cannot be written to the place that the caller named, returns a line, in arena, that
 * says why.  Returns NULL if no problem is known.
 */
const char *confined_describe_loss(const struct confined *confined, struct arena *arena);
void confined_release(struct confined *confined);
