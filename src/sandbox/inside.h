/*
 * inside - the way of a command's process into the sandbox.
 *
 * Two processes: the first joins the sandbox's namespaces, which for PIDs concerns
 * only its children, so it makes one and ends; that second one, a child of the
 * caller all the same, becomes the command, by way of the launcher.  They tell the
 * caller how far they got over a SOCK_SEQPACKET socket, which closes when the command
 * runs.  Whoever is inside may get hold of the launcher and its end of the socket, so
 * what comes there is no more to be trusted than what the command itself says.
 */
#pragma once
#include <stdint.h>

#include "core/err.h"
#include "sandbox/sandbox.h"
#include "sandbox/sandbox_run.h"

enum inside_step {
	INSIDE_MADE = 1, /* number: the second process as the caller sees it */
	INSIDE_READY,    /* number: the same inside; with its terminal where it has one */
	INSIDE_FAILED,   /* number: enum sandbox_failure */
	/* Negative: that errno came of executing the program that INSIDE_READY spoke of. */
};

struct inside_report {
	int32_t step;
	int32_t number;
	bool strayed;        /* INSIDE_MADE: it is not in the sandbox's cgroup */
	int32_t points_made; /* INSIDE_MADE: mount points for binds, in the tree */
	/* INSIDE_FAILED: why; INSIDE_READY: text is the program, hint its interpreter. */
	struct err err;
};

/* In a fresh child of the caller, which alone has the other end of report. */
_Noreturn void inside_main(
	const struct sandbox *sandbox, const struct sandbox_command *command, int report);
