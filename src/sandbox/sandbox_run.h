/*
 * sandbox_run - a command inside a sandbox, from outside.
 *
 * The command is a child of the holder in a session of its own.  Its standard descriptors are
 * ours; it has no other.  Limits and priorities are ours, too.  SIGINT, SIGTERM, SIGHUP, SIGQUIT
 * and SIGUSR1 sent to us while it runs go to its process group.  SIGUSR1 with a number (sigqueue)
 * is the signal of that number instead; SIGKILL then goes to all of its session.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "sandbox/bindspec.h"
#include "sandbox/sandbox.h"

#define SANDBOX_RUN_GRACE_MS 2000 /* between SIGTERM and SIGKILL when the time is up */

/* Exit statuses for a command that did not come to run, as a shell has them. */
enum sandbox_failure {
	SANDBOX_FAILED = 125,         /* strata, or the sandbox */
	SANDBOX_NOT_EXECUTABLE = 126, /* found, but cannot be executed */
	SANDBOX_NO_COMMAND = 127,     /* not found, or its interpreter is not */
};

struct sandbox_command {
	const char *const *argv; /* NULL-terminated; found along PATH of env, inside */
	const char *const *env;  /* all of the environment, NULL-terminated */
	const char *cwd;         /* inside; NULL: "/" */
	/*
	 * By the tree's /etc/passwd (account.h); NULL: root.  With one that is given, HOME, USER,
	 * LOGNAME and SHELL are this user's where env has none.
	 */
	const char *user;
	struct bindspecs binds;
	int64_t timeout_ms; /* 0: none */
	/* Our standard input is a terminal: the command gets one of its own in its place. */
	bool tty;
	bool wrapped; /* by the sandbox's sandbox_wrapper (plan.h) */
	int kept;     /* the descriptor for it; read where wrapped only */
};

struct sandbox_result {
	int status;  /* as a shell says it: 0 to 255, 128 + N when killed by signal N */
	int signal;  /* N, or 0 */
	int failure; /* 0, or enum sandbox_failure with the reason in err */
	bool ended;  /* it failed because the sandbox had ended by then */
	bool timed_out;
	int points_made; /* mount points for binds, which stay in the tree */
	int64_t duration_ns;
};

/*
 * Run it to its end.  0 when it ran, whatever came of it; negative when it could not
 * be started, or not be waited for, with result->failure set.
 */
int sandbox_run(struct sandbox *sandbox, const struct sandbox_command *command,
	struct sandbox_result *result, struct err *err);
