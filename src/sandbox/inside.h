/*
 * inside - how the process of a command enters the sandbox.
 *
 * The holder forks the process, so that it is in the sandbox's PID namespace, cgroup and Landlock
 * domain from the start.  The process then joins the other namespaces.  The user namespace comes
 * last: until then the process belongs to the user namespace above, and programs inside may not
 * look at it.  Finally it executes the launcher, which executes the command.
 *
 * The process reports to the strata that runs the command over a SOCK_SEQPACKET socket, which
 * closes when the command starts to run.  Programs inside may get hold of the launcher and of its
 * end of the socket, so reports deserve no more trust than the output of the command.
 */
#pragma once
#include <stdint.h>

#include "core/err.h"
#include "sandbox/plan.h"
#include "sandbox/process.h"
#include "sandbox/sandbox.h"
#include "sandbox/sandbox_run.h"

enum inside_step {
	INSIDE_READY = 1, /* comes with the master of the command's terminal, if it has one */
	INSIDE_FAILED,    /* failure is one of enum sandbox_failure */
	/* Negative: executing the program named by INSIDE_READY failed with this -errno. */
};

struct inside_report {
	int32_t step;
	int32_t failure;
	/* INSIDE_FAILED: the reason.  INSIDE_READY: text is the program, hint its interpreter. */
	struct err err;
};

/* The descriptors that a strata sends with a command. */
enum inside_fd {
	INSIDE_STDIN,
	INSIDE_STDOUT,
	INSIDE_STDERR,
	INSIDE_REPORT, /* the command process's end of the socket for reports */
	INSIDE_TEXT,   /* commandfile.h */
	INSIDE_STATUS, /* pipe to which the holder writes the status of wait(2) */
	INSIDE_MNT,    /* a mount namespace instead of the sandbox's; -1: none */
	INSIDE_KEPT,   /* a descriptor for the wrapper; -1: none */
	INSIDE_NET,    /* a network namespace instead of the sandbox's; -1: none */
	INSIDE_WARDEN, /* socket to the command's warden (commandspace.h); -1: none */
	INSIDE_KEEPER, /* pidfd of that warden, for the holder (guarded.h); -1: none */
	INSIDE_GROUP,  /* cgroup to fork the command into (restriction.h); -1: the sandbox's */
	INSIDE_FDS,
};

/* The holder's descriptors and settings, which the process of a command inherits. */
struct inside_place {
	const int *namespaces; /* by enum sandbox_fd */
	int launcher;
	bool host_root, shifted, no_net; /* sandbox.h, plan.h */
	sandbox_wrapper *wrapper;
	struct process_arguments arguments;
};

/* Enter the sandbox and become the command, in a fresh child of the holder. */
_Noreturn void inside_main(const struct inside_place *place, int given[INSIDE_FDS]);
