/*
 * inside - how the process of a command enters the sandbox.
 *
 * The holder forks the process, so that the process is in the sandbox's PID namespace, cgroup and
 * Landlock domain from the start.  The process then joins the other namespaces.  The user namespace
 * comes last.  Until then the process belongs to the parent user namespace, and programs of the
 * sandbox cannot inspect it.  Finally the process executes the launcher, which executes the
 * command.
 *
 * The process sends reports to the strata process that runs the command, over a SOCK_SEQPACKET
 * socket.  The socket closes when the command starts to run.  Programs of the sandbox may get
 * access to the launcher, and to its end of the socket.  So a report deserves no more trust than
 * the output of the command.
 */
#pragma once
#include <stdint.h>

#include "core/err.h"
#include "sandbox/plan.h"
#include "sandbox/process.h"
#include "sandbox/sandbox.h"
#include "sandbox/sandbox_run.h"

/*
 * The step that a report is about.  If the program named by INSIDE_READY could not be executed, the
 * step is -errno instead.
 */
enum inside_step {
	INSIDE_READY = 1, /* sent with the master of the command's terminal, if there is one */
	INSIDE_FAILED,    /* 'failure' is one of enum sandbox_failure */
};

struct inside_report {
	int32_t step;
	int32_t failure;
	/*
	 * With INSIDE_FAILED: the reason.  With INSIDE_READY: 'text' is the path of the program,
	 * and 'hint' is the path of its interpreter.
	 */
	struct err err;
};

/* The descriptors that a strata process sends with a command. */
enum inside_fd {
	INSIDE_STDIN,
	INSIDE_STDOUT,
	INSIDE_STDERR,
	INSIDE_REPORT, /* the command process's end of the socket for reports */
	INSIDE_TEXT,   /* file with the command's texts: commandfile.h */
	INSIDE_STATUS, /* pipe to which the holder writes the status of wait(2) */
	INSIDE_MNT,    /* mount namespace of the command; -1: that of the sandbox */
	INSIDE_KEPT,   /* a descriptor for the wrapper; -1: none */
	INSIDE_NET,    /* network namespace of the command; -1: that of the sandbox */
	INSIDE_WARDEN, /* socket to the command's warden (commandspace.h); -1: none */
	INSIDE_KEEPER, /* pidfd of that warden, for the holder (guarded.h); -1: none */
	/* cgroup that the command is forked into (restriction.h); -1: the sandbox's */
	INSIDE_GROUP,
	INSIDE_FDS,
};

/* The holder's descriptors and settings, which the process of a command inherits. */
struct inside_place {
	const int *namespaces; /* descriptors of namespaces, indexed by enum sandbox_fd */
	int launcher;
	bool host_root, shifted, no_net; /* see sandbox.h and plan.h */
	sandbox_wrapper *wrapper;
	struct process_arguments arguments;
};

/* Enter the sandbox and become the command.  Call this only in a new child of the holder. */
_Noreturn void inside_main(const struct inside_place *place, int given[INSIDE_FDS]);
