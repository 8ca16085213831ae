/*
 * warden - the process that keeps one command of a sandbox under its policy.
 *
 * The warden is forked by the strata process that runs the command.  It stays outside of the
 * sandbox's PID namespace, and belongs to the user namespace that the sandbox was built in.  So no
 * program of the sandbox can reach it.  In a copy of the sandbox's mounts, it applies the policy to
 * files (planning.h).
 *
 * While the command or a descendant of it runs, the warden has these tasks.  It forwards
 * connections from the command's network (proxy.h).  It answers accesses to masked files, and
 * explains denied calls.  It enforces limits that the kernel does not enforce.  It grants and
 * revokes access (grants.h).
 */
#pragma once
#include "confine/denials.h"
#include "confine/grantsocket.h"
#include "confine/planning.h"
#include "core/param.h"
#include "sandbox/commandspace.h"
#include "sandbox/resource.h"

/* The task of a warden.  Everything is borrowed for as long as the warden lives. */
struct warden_orders {
	const struct policy *policy; /* as read from its text: the warden resolves its paths */
	const char *workspace;       /* the directory in the sandbox that $WORKSPACE stands for */
	const char *user;            /* the user of the command (see struct sandbox_command) */
	/*
	 * Descriptors that each denial is written to; -1: none.  The first is the caller's, the
	 * others are files of strata.
	 */
	int sinks[DENIALS_SINKS_MAX];
	/*
	 * The cgroup of the command.  The warden removes the cgroup at its own end.  NULL or empty:
	 * none.
	 */
	struct resource_group *group;
	/*
	 * The socket for requests to grant and revoke.  The warden removes the socket's name when
	 * it ends.  NULL: none.
	 */
	const struct grantsocket *grants;
	/* The arguments of the command, for answers to these requests. */
	const struct param_texts *command;
	/*
	 * The file in which the warden records the stubs in the command's binds, before it makes
	 * them.  The record of a stub is two texts: the host's directory of the bind, and the path
	 * of the stub below that directory.  -1: stubs are not recorded.
	 */
	int stub_record;
	const struct bindspecs *binds; /* the binds of the command; NULL: none */
	int proc;                      /* a /proc that lists the processes of the sandbox */
	int stub_locks;                /* see struct mountplan */
	int holder; /* pidfd of a process; when that process ends, the warden ends */
	int report; /* a file in memory for the report of the warden (findings.h) */
};

/*
 * A request of one byte.  The warden handles all events that have already happened, and then sends
 * the same byte back.
 */
#define WARDEN_SUMMARY 's'
/* As WARDEN_END (below), but the warden first kills all programs of the command. */
#define WARDEN_KILL 'k'
/*
 * Like WARDEN_SUMMARY, but the warden also ends at once, unless programs of the command are left.
 */
#define WARDEN_END 'e'

struct warden;

/* Returns a warden whose process has not been started yet.  The orders are borrowed. */
struct warden *warden_new(const struct warden_orders *orders);
/*
 * Free the warden in the process that called warden_new.  The process of the warden ends by itself.
 */
void warden_free(struct warden *warden);
/*
 * Set the members of a plan that let the warden's process look at the tree, make the network and
 * serve.  Does not change the binds.
 */
void warden_plan(struct warden *warden, struct commandspace_plan *plan);
/*
 * Set the members of a plan for a process that removes the stubs of a killed warden.  The process
 * makes the same mounts as the warden did, so that its plan holds these stubs (core/stub.h).
 */
void warden_plan_removal(struct warden *warden, struct commandspace_plan *plan);
