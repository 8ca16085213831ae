/*
 * confined - a command that runs under a policy.
 *
 * The policy is read first.  When the sandbox of the workspace is there, the namespaces and the
 * warden of the command are made.  After the command has ended, its denials are read.  The warden
 * goes on for as long as programs that the command has started.
 */
#pragma once
#include "confine/warden.h"
#include "ops/requests.h"
#include "sandbox/sandbox_run.h"

struct confined {
	struct policy policy; /* as read: not resolved */
	struct warden_orders orders;
	struct warden *warden; /* NULL: the command runs under no policy */
	struct warden_findings findings;
	struct restriction restriction;
	int told;      /* a file in memory that gets the denials of this command */
	int denials;   /* what the caller named for them; -1: nothing */
	int collected; /* see denied.h */
};

#define CONFINED_INIT ((struct confined){ .told = -1, .denials = -1, .collected = -1 })

/* Read the policy of a request, if it has one.  ERR_USAGE, ERR_INVALID. */
int confined_read(
	const struct exec_place *place, struct arena *arena, struct confined *out, struct err *err);
/*
 * Prepare for a command of this environment.  sandbox is borrowed, and so is the plan's list of
 * binds; plan gets all else.
 */
int confined_prepare(struct confined *confined, struct env *env, const struct sandbox *sandbox,
	struct commandspace_plan *plan, struct err *err);
/* When the namespaces are made: what the command's process takes on, and its variables. */
int confined_restrict(struct confined *confined, struct arena *arena,
	struct sandbox_command *command, struct err *err);
/* When the command has ended: all denials so far are in result, in arena. */
void confined_finish(struct confined *confined, struct arena *arena,
	const struct commandspace *space, struct exec_result *result);
void confined_release(struct confined *confined);
