/*
 * agentproc - a process at whose other end an agent is: ssh, or the agent itself.
 *
 * Its stdin and stdout carry the protocol; of its stderr the last bytes are kept, for messages.
 * The process has a process group of its own, so that an interrupt typed at the terminal reaches
 * only this program, which then ends the process in order.  The kernel kills the process when this
 * program is killed.
 */
#pragma once
#include <sys/types.h>

#include "core/arena.h"
#include "core/buf.h"
#include "core/err.h"
#include "core/json.h"

#define AGENTPROC_SAID_MAX ((size_t)4 << 10)

struct agentproc {
	const char *const *argv; /* ends with NULL */
	pid_t pid;               /* 0: not started, or its status has been collected */
	int end;                 /* pidfd, readable when the process has ended */
	int in;                  /* our end of its stdin, non-blocking; -1: closed */
	int out;                 /* of its stdout, non-blocking */
	int said_fd;             /* of its stderr, non-blocking; -1: closed */
	struct buf said;         /* the last bytes of stderr */
	int status;              /* the wait status, when pid is 0 again */
};

/*
 * Start a program.  argv[0] is an absolute path, or a name that is looked up in $PATH.  argv must
 * live as long as the process.
 */
int agentproc_start(struct agentproc *proc, const char *const *argv, struct err *err);
/* Write as much as the process takes now.  Returns the bytes, or -1 if it has closed its stdin. */
ssize_t agentproc_write(struct agentproc *proc, struct str bytes);
void agentproc_close_input(struct agentproc *proc);
/* Read what the process has written to its stderr so far. */
void agentproc_listen(struct agentproc *proc);
/*
 * Collect the status: after grace_ms, the processes of the group are killed.  Afterwards, said has
 * everything that the process has said.
 */
void agentproc_finish(struct agentproc *proc, int grace_ms);
void agentproc_release(struct agentproc *proc); /* ends the process, too */

/* The last lines of stderr for a message: without control characters and blank ends. */
const char *agentproc_tail(const struct agentproc *proc, size_t max, struct arena *arena);
/* Write "stderr" and "argv" as members of the object that is open in out. */
void agentproc_members(struct json *out, const struct agentproc *proc);
