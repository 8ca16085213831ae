/*
 * sandbox_run - runs a command in a sandbox, from outside.
 *
 * The command is a child of the holder in a session of its own.  It has our standard descriptors
 * and no others, and our limits and priorities.  While it runs, SIGINT, SIGTERM, SIGHUP, SIGQUIT
 * and SIGUSR1 that are sent to us are passed on to its process group.  SIGUSR1 with a number
 * (sigqueue) stands for the signal of that number; if this is SIGKILL, the whole session is killed.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "sandbox/commandspace.h"
#include "sandbox/sandbox.h"

#define SANDBOX_RUN_GRACE_MS 2000 /* between SIGTERM and SIGKILL after a timeout */

/* Exit statuses for a command that could not be run, like those of a shell. */
enum sandbox_failure {
	SANDBOX_UNCONFINED = 78,      /* something that the policy requires cannot be enforced */
	SANDBOX_FAILED = 125,         /* strata or the sandbox failed */
	SANDBOX_NOT_EXECUTABLE = 126, /* the program was found, but cannot be executed */
	SANDBOX_NO_COMMAND = 127,     /* the program or its interpreter was not found */
};

struct restriction;

struct sandbox_command {
	const char *const *argv; /* NULL-terminated; the program is found along PATH of env */
	const char *const *env;  /* the whole environment, NULL-terminated */
	const char *cwd;         /* inside; NULL: "/" */
	/*
	 * A user of the tree's /etc/passwd, in the form that account.h describes; NULL: root.  If
	 * it is set, variables of HOME, USER, LOGNAME and SHELL that are not in env get the values
	 * of this user.
	 */
	const char *user;
	const struct commandspace *space; /* its own namespaces; NULL: those of the sandbox */
	int64_t timeout_ms;               /* 0: none */
	int64_t output_max;               /* bytes on standard output and error; 0: no limit */
	bool tty;     /* our standard input is a terminal: the command gets one of its own */
	bool wrapped; /* run by the sandbox's sandbox_wrapper (plan.h) */
	int kept;     /* descriptor for the wrapper; used if wrapped only */
	const struct restriction *restriction; /* NULL: none */
	bool own_net; /* set inside only: its network is not that of the sandbox */
};

struct sandbox_result {
	int status;  /* as in a shell: 0 to 255, 128 + N if killed by signal N */
	int signal;  /* N, or 0 */
	int failure; /* 0, or one of enum sandbox_failure with the reason in err */
	bool ended;  /* the failure is that the sandbox has ended */
	bool timed_out;
	bool output_over;   /* it was killed, because it printed more than output_max */
	int64_t timeout_ms; /* of the command */
	int points_made;    /* mount points that were made for binds, and stay in the tree */
	int64_t duration_ns;
};

/*
 * Run a command and wait for its end.  Returns 0 if it ran, whatever its status.  Negative, with
 * result->failure set, if it could not be started or waited for.
 */
int sandbox_run(struct sandbox *sandbox, const struct sandbox_command *command,
	struct sandbox_result *result, struct err *err);
