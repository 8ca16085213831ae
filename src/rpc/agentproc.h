/*
 * agentproc - runs the process through which an agent is reached: ssh, or the agent itself.
 *
 * The stdin and stdout of this process carry the protocol.  The last bytes of its stderr are kept
 * for messages.  The process has a process group of its own, so an interrupt that is typed at the
 * terminal reaches only the caller.  The caller can then close the stdin of the process and let it
 * end by itself.  If the caller is killed, the kernel kills the process.
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
	int out;                 /* our end of its stdout, non-blocking */
	int said_fd;             /* our end of its stderr, non-blocking; -1: closed */
	struct buf said;         /* the last bytes of stderr */
	int status;              /* wait status; valid when pid is 0 again */
};

/*
 * Start a program.  argv[0] is an absolute path, or a name that is looked up in $PATH.  argv must
 * live as long as the process.
 */
int agentproc_start(struct agentproc *proc, const char *const *argv, struct err *err);
/*
 * Write as many bytes as the process takes now.  Returns their number, or -1 if the process has
 * closed its stdin.
 */
ssize_t agentproc_write(struct agentproc *proc, struct str bytes);
void agentproc_close_input(struct agentproc *proc);
/* Read what the process has written to its stderr so far. */
void agentproc_listen(struct agentproc *proc);
/*
 * Close the stdin and stdout of the process, and give the process grace_ms to end by itself.  Then
 * kill its whole group, and collect its status.  Afterwards, the buffer 'said' has the last
 * AGENTPROC_SAID_MAX bytes that the process has written to stderr.
 */
void agentproc_finish(struct agentproc *proc, int grace_ms);
void agentproc_release(struct agentproc *proc); /* also ends the process */

/*
 * Returns the last max bytes of stderr for a message, without control characters and without blanks
 * at both ends.
 */
const char *agentproc_tail(const struct agentproc *proc, size_t max, struct arena *arena);
/* Write "stderr" and "argv" as members of the object that is open in out. */
void agentproc_members(struct json *out, const struct agentproc *proc);
