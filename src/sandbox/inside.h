/*
 * inside - the way of a command's process into the sandbox.
 *
 * The holder forks it, so that it is in the sandbox's PID namespace, in its cgroup and in its
 * Landlock domain from the start.  It joins the rest, of the namespaces the user namespace last:
 * up to then it belongs to the one above, and nobody inside may look at it.  It becomes the
 * command by way of the launcher.  It tells the strata that asked for the command how far it got
 * over a SOCK_SEQPACKET socket, which closes when the command runs.  Whoever is inside may get
 * hold of the launcher and its end of the socket, so what comes there is no more to be trusted
 * than what the command itself says.
 */
#pragma once
#include <stdint.h>

#include "core/err.h"
#include "sandbox/plan.h"
#include "sandbox/process.h"
#include "sandbox/sandbox.h"
#include "sandbox/sandbox_run.h"

enum inside_step {
	INSIDE_READY = 1, /* with the command's terminal where it has one */
	INSIDE_FAILED,    /* failure: enum sandbox_failure */
	/* Negative: that errno came of executing the program that INSIDE_READY spoke of. */
};

struct inside_report {
	int32_t step;
	int32_t failure;
	/* INSIDE_FAILED: why; INSIDE_READY: text is the program, hint its interpreter. */
	struct err err;
};

/* The descriptors that a strata sends along with a command. */
enum inside_fd {
	INSIDE_STDIN,
	INSIDE_STDOUT,
	INSIDE_STDERR,
	INSIDE_REPORT, /* the process's end of the socket */
	INSIDE_TEXT,   /* commandfile.h */
	INSIDE_STATUS, /* for the holder, who writes the status of wait(2) to it */
	INSIDE_MNT,    /* a mount namespace in place of the sandbox's; -1: none */
	INSIDE_KEPT,   /* for a wrapper; -1: none */
	INSIDE_FDS,
};

/* What the holder knows of the way in. */
struct inside_place {
	const int *namespaces; /* by enum sandbox_fd */
	int launcher;
	bool host_root, shifted, no_net; /* sandbox.h, plan.h */
	sandbox_wrapper *wrapper;
	struct process_arguments arguments;
};

/* In a fresh child of the holder. */
_Noreturn void inside_main(const struct inside_place *place, int given[INSIDE_FDS]);
