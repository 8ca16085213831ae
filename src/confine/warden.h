/*
 * warden - the process that keeps one command of a sandbox under its policy.
 *
 * It is forked by the strata that runs the command, lives outside of the sandbox's PID namespace,
 * and belongs to the user namespace that the sandbox was built in, so that no program inside can
 * reach it.  In a copy of the sandbox's mounts it applies the policy to files (planning.h).  While
 * the command or a descendant of it runs, the warden is the way out of the command's network
 * (proxy.h), answers looks at masked files, explains denied calls, enforces limits that the kernel
 * does not, and grants and revokes (grants.h).
 */
#pragma once
#include "confine/denials.h"
#include "confine/grantsocket.h"
#include "confine/planning.h"
#include "core/param.h"
#include "sandbox/commandspace.h"
#include "sandbox/resource.h"

/* What a warden is to do.  Everything is borrowed while the warden works. */
struct warden_orders {
	const struct policy *policy;  /* not resolved */
	const char *workspace;        /* the directory that $WORKSPACE stands for, inside */
	const char *user;             /* of the command: see sandbox_command */
	int sinks[DENIALS_SINKS_MAX]; /* get a line for each denial; -1: none */
	/* The cgroup of the command, which the warden removes at its end; NULL or empty: none. */
	struct resource_group *group;
	/* What those who grant and revoke connect to.  The warden removes its name at its end. */
	const struct grantsocket *grants;
	const struct param_texts *command; /* for those who grant */
	int proc;                          /* a /proc that lists the processes of the sandbox */
	int stub_locks;                    /* see struct mountplan */
	int holder;                        /* pidfd: when that process ends, the warden does */
	int report;                        /* a file in memory for the findings */
};

/* What the strata that runs the command has to know of the tree. */
struct warden_findings {
	struct policy policy;         /* resolved */
	struct planning planning;     /* for planning_restrict */
	struct param_texts variables; /* that lead programs to the proxy */
	const char *lacks;            /* what is not enforced, a line each */
};

/* Messages of one byte, which the warden sends back when it has handled all that has happened. */
#define WARDEN_SUMMARY 's'
/* As WARDEN_END, and all programs of the command are killed first. */
#define WARDEN_KILL 'k'
/* The warden also ends at once, unless programs in the background are left. */
#define WARDEN_END 'e'

struct warden;

/* A warden that has not begun.  The orders are borrowed, and its process is still to be made. */
struct warden *warden_new(const struct warden_orders *orders);
/* Of the process that called warden_new; the warden's own process ends by itself. */
void warden_free(struct warden *warden);
/* Set what makes the process of the warden look, make the network and serve.  Leaves binds alone.
 */
void warden_plan(struct warden *warden, struct commandspace_plan *plan);

/* What the warden has written to orders->report, when commandspace_make has returned. */
int warden_findings(const struct warden_orders *orders, struct arena *arena,
	struct warden_findings *out, struct err *err);
