/*
 * tool - runs a program of the system, such as zfs, and reads its output.
 *
 * The program is started from a list of arguments, never by a shell.  Its stdin is /dev/null.
 * The program is the leader of a process group of its own.  When the call ends, for any reason,
 * every process of this group is killed.  The kernel kills the program when this process is killed.
 *
 * The memory of a call is limited.  Lines are passed on when they come, and only the end of stderr
 * is kept.
 */
#pragma once
#include "core/buf.h"
#include "core/json.h"
#include "query/timed.h"

#define TOOL_LINE_MAX ((size_t)256 << 10) /* bytes of a line of stdout */
#define TOOL_STDERR_MAX ((size_t)4 << 10) /* bytes at the end of stderr that are kept */

struct tool_call {
	const char *const *argv;         /* ends with NULL; argv[0] is a name without a slash */
	int64_t time_max;                /* ns */
	const struct timed_limit *limit; /* this limit also ends the program; NULL: none */
	/*
	 * Called for each line of stdout, without its newline.  'visit' may return 1 to end the
	 * program without an error.  NULL: all of stdout is appended to output.
	 */
	int (*visit)(void *arg, struct str line, struct err *err);
	void *arg;
	struct buf output; /* all of stdout, if 'visit' is NULL; output.max is a limit */
	struct buf said;   /* the end of stderr, set by tool_run */
};

/*
 * Run the program.  Returns 0 if it ends with the status 0, or if 'visit' has ended it.  Errors are
 * ERR_UNSUPPORTED if there is no such program, ERR_SYSTEM with ETIMEDOUT or ECANCELED at the end of
 * the time limit, ERR_CORRUPT if the output is too long, and ERR_SYSTEM if the program fails.  The
 * caller must release the call in all cases.
 */
int tool_run(struct tool_call *call, struct err *err);
void tool_release(struct tool_call *call);
/* Write the members "stderr" and "argv", for the person who looks into a failed call. */
void tool_members(struct json *out, const struct tool_call *call);

/* Find a program along PATH, and in the directories of the system administrator's programs. */
int tool_find(const char *name, struct buf *path, struct err *err);
