/*
 * warden - the process that keeps one command of a sandbox under its policy.
 *
 * It is forked by the strata that runs the command, lives outside of the sandbox's PID namespace,
 * and belongs to the user namespace that the sandbox was built in, so that no program inside can
 * reach it.  In a copy of the sandbox's mounts it applies the policy to files (planning.h).  While
 * the command or a descendant of it runs, the warden is the way out of the command's network
 * (proxy.h), answers accesses to masked files, explains denied calls, enforces limits that the
 * kernel does not enforce, and grants and revokes (grants.h).
 */
#pragma once
#include "confine/denials.h"
#include "confine/grantsocket.h"
#include "confine/planning.h"
#include "core/param.h"
#include "sandbox/commandspace.h"
#include "sandbox/resource.h"

/* What a warden is to do.  Everything is borrowed for as long as the warden lives. */
struct warden_orders {
	const struct policy *policy;  /* not resolved */
	const char *workspace;        /* the directory that $WORKSPACE stands for, inside */
	const char *user;             /* of the command: see sandbox_command */
	int sinks[DENIALS_SINKS_MAX]; /* descriptors that get a line for each denial; -1: none */
	/* The cgroup of the command, which the warden removes at its end; NULL or empty: none. */
	struct resource_group *group;
	/*
	 * The socket for requests to grant and revoke.  The warden removes its name at its end.
	 * NULL: none.
	 */
	const struct grantsocket *grants;
	const struct param_texts *command; /* its arguments, for answers to such requests */
	int proc;                          /* a /proc that lists the processes of the sandbox */
	int stub_locks;                    /* see struct mountplan */
	int holder;                        /* pidfd: when that process ends, the warden ends */
	int report;                        /* a file in memory for the findings */
};

/* What the strata that runs the command needs to know from the warden. */
struct warden_findings {
	struct policy policy;         /* resolved */
	struct planning planning;     /* for planning_restrict */
	struct param_texts variables; /* variables that tell programs to use the proxy */
	const char *lacks;            /* what is not enforced, one thing a line */
};

/* Requests of one byte.  The warden sends the byte back when it has handled all events so far. */
#define WARDEN_SUMMARY 's'
/* As WARDEN_END, but the warden first kills all programs of the command. */
#define WARDEN_KILL 'k'
/* As WARDEN_SUMMARY, but the warden also ends at once, unless programs of the command are left. */
#define WARDEN_END 'e'

struct warden;

/* Make a warden, whose process is still to be made.  The orders are borrowed. */
struct warden *warden_new(const struct warden_orders *orders);
/*
 * Free the warden in the process that called warden_new.  The warden's own process ends by
 * itself.
 */
void warden_free(struct warden *warden);
/*
 * Set the members of a plan that let the warden's process look at the tree, make the network and
 * serve.  Does not change binds.
 */
void warden_plan(struct warden *warden, struct commandspace_plan *plan);

/*
 * Read what the warden has written to orders->report.  Called after commandspace_make has
 * returned.
 */
int warden_findings(const struct warden_orders *orders, struct arena *arena,
	struct warden_findings *out, struct err *err);
