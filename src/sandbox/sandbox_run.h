/*
 * sandbox_run - runs a command in a sandbox, from outside.
 *
 * The command is a child of the holder, in a session of its own.  It has the standard descriptors
 * of this process and no others, and the limits and priorities of this process.  While the command
 * runs, SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGUSR1 that are sent to this process are passed on to
 * the command's process group.  SIGUSR1 with a number (sigqueue) stands for the signal of that
 * number; if this is SIGKILL, the whole session is killed.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "sandbox/commandspace.h"
#include "sandbox/sandbox.h"

#define SANDBOX_RUN_GRACE_MS 2000 /* time between SIGTERM and SIGKILL after a timeout */

/* Exit statuses for a command that could not be run, like those of a shell. */
enum sandbox_failure {
	SANDBOX_UNCONFINED = 78,      /* a requirement of the policy cannot be enforced */
	SANDBOX_FAILED = 125,         /* strata or the sandbox failed */
	SANDBOX_NOT_EXECUTABLE = 126, /* the program was found, but cannot be executed */
	SANDBOX_NO_COMMAND = 127,     /* the program or its interpreter was not found */
};

struct restriction;

struct sandbox_command {
	const char *const *argv; /* NULL-terminated; the program is found along PATH of env */
	const char *const *env;  /* the whole environment, NULL-terminated */
	const char *cwd;         /* working directory in the sandbox; NULL: "/" */
	/*
	 * A user of the tree's /etc/passwd, in the form that account.h describes; NULL: root.  If
	 * the user is given, the variables HOME, USER, LOGNAME and SHELL get the values of this
	 * user, unless env has them.
	 */
	const char *user;
	/* the command's own namespaces; NULL: those of the sandbox */
	const struct commandspace *space;
	int64_t timeout_ms; /* 0: none */
	int64_t output_max; /* bytes on standard output and error; 0: no limit */
	bool tty;     /* standard input is a terminal: the command gets a terminal of its own */
	bool wrapped; /* the sandbox's sandbox_wrapper (plan.h) runs the command */
	int kept;     /* descriptor for the wrapper; used only if 'wrapped' is set */
	const struct restriction *restriction; /* NULL: none */
	/* set only in the sandbox: the command's network is not that of the sandbox */
	bool own_net;
};

struct sandbox_result {
	int status;  /* as in a shell: 0 to 255, or 128 + N if killed by signal N */
	int signal;  /* number N of the signal that killed the command, or 0 */
	int failure; /* 0, or one of enum sandbox_failure; the reason is in err */
	bool ended;  /* the failure is that the sandbox has ended */
	bool timed_out;
	bool output_over;   /* the command was killed, because it printed more than output_max */
	int64_t timeout_ms; /* timeout of the command */
	int points_made; /* number of mount points that were made for binds, and stay in the tree */
	int64_t duration_ns;
};

/*
 * Run a command and wait for its end.  Returns 0 if the command has run, whatever its status.  If
 * it could not be started or waited for, the result is negative, and result->failure is set.
 */
int sandbox_run(struct sandbox *sandbox, const struct sandbox_command *command,
	struct sandbox_result *result, struct err *err);
