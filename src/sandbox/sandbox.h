/*
 * sandbox - the namespaces that programs of a workspace run in, and a connection to them.
 *
 * A holder process (holder.h) keeps the namespaces alive.  The first sandbox_start makes the
 * holder, and later strata processes attach to it.  The holder stays while a strata process is
 * attached or a program runs in the sandbox, and no longer.  If a strata process that has run a
 * command is killed, all processes of the sandbox are killed.
 *
 * The caller must hold the workspace's lock during sandbox_start and sandbox_attach, so that a
 * workspace never has two holders.
 *
 * A holder that is stopped, or that belongs to another version of strata, does not answer.  The
 * sandbox of such a holder is called mute.  A process can only kill a mute sandbox or detach from
 * it.  All other operations fail, and the error says why the holder does not answer.
 */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "core/err.h"
#include "sandbox/mounts.h"
#include "sandbox/plan.h"

#define SANDBOX_KILL_MS 5000    /* time for all processes of the sandbox to end */
#define SANDBOX_ANSWER_MS 10000 /* time for a holder to answer; usually it needs much less */
#define SANDBOX_LOOK_MS 1000    /* time for an answer that the caller can do without */

/* The descriptors that a holder gives to each process that attaches. */
enum sandbox_fd {
	SANDBOX_HOLDER, /* pidfd of the holder */
	SANDBOX_OUTER,  /* the user namespace that the sandbox was built in */
	SANDBOX_USER, /* from here to SANDBOX_CGROUP: the inner namespaces, in which programs run */
	SANDBOX_MNT,
	SANDBOX_PID,
	SANDBOX_IPC,
	SANDBOX_UTS,
	SANDBOX_CGROUP,
	SANDBOX_ROOT,  /* "/" of the sandbox */
	SANDBOX_BINDS, /* list of the commands' binds: bindlist.h */
	SANDBOX_NET,   /* network namespace; -1: the sandbox shares the host's network */
	SANDBOX_JOBS,  /* directory of the cgroup of the sandbox's processes; -1: none */
	SANDBOX_FDS,
};

struct sandbox {
	int connection; /* socket to the holder; -1: not attached */
	pid_t pid; /* the holder's number in this process's PID namespace; 0: it has none there */
	int fds[SANDBOX_FDS];
	struct err mute; /* reason why the holder does not answer; code 0: it does answer */
	bool frozen;
	bool host_root; /* root in the sandbox has the id of the machine's root: see fence.h */
	bool shifted;   /* the sandbox has the ids of ids.h */
	bool scoped;    /* as in the plan: abstract sockets are blocked */
	char degraded[MOUNTS_DEGRADED_MAX]; /* features that the sandbox lacks, one on each line */
};

#define SANDBOX_INIT ((struct sandbox){ .connection = -1, .fds = { [0 ... SANDBOX_FDS - 1] = -1 } })

/* Start the holder of a workspace that has none, and attach to it. */
int sandbox_start(const struct sandbox_plan *plan, struct sandbox *out, struct err *err);

/*
 * Reap holders that this process has started and that are ending now.  Call this before this
 * process ends.
 */
void sandbox_bury(void);

/*
 * Attach to a workspace's holder, whose socket is in the directory 'run'.  Returns 1, or 0 if the
 * workspace has no holder.
 */
int sandbox_attach(int run, const char *name, struct sandbox *out, struct err *err);
/*
 * As sandbox_attach, but if the holder does not answer within wait_ms, *out becomes a mute sandbox
 * (see above).
 */
int sandbox_reach(int run, const char *name, int wait_ms, struct sandbox *out, struct err *err);

/*
 * Whether there may be a holder.  This check is cheap.  It returns true even after a holder was
 * killed.
 */
bool sandbox_is_there(int run, const char *name);

/*
 * Move this process, which must have one thread, into the user namespace that the sandbox was built
 * in.  There it can work on the sandbox's files.  Call this after sandbox_attach, instead of
 * sandbox_user_enter.
 */
int sandbox_join(const struct sandbox *sandbox, struct err *err);

/*
 * Open the root of the tree as programs of the sandbox see it, including mounts.  The descriptor
 * belongs to the caller.  It keeps the mounts alive while it is open.
 */
int sandbox_open_root(const struct sandbox *sandbox, struct err *err);

/*
 * Stop all processes of the sandbox until sandbox_thaw or sandbox_detach.  ERR_LIMIT: a process
 * does not stop.
 */
int sandbox_freeze(struct sandbox *sandbox, struct err *err);
int sandbox_thaw(struct sandbox *sandbox, struct err *err);

/* Returns the number of processes in the sandbox, without the holder. */
int sandbox_count(struct sandbox *sandbox, struct err *err);

/*
 * Find the command that a strata process or its child runs.  'strata' is the number of the strata
 * process.  Returns the command's number in the sandbox, or 0 if there is no such command.
 */
int sandbox_command_of(struct sandbox *sandbox, pid_t strata);

/*
 * Kill all processes of the sandbox and the holder, wait for their end, and detach.  'by' is the
 * name of the command that does this.  The other attached strata processes get a reason that
 * contains this name.
 */
int sandbox_kill(struct sandbox *sandbox, const char *by, struct err *err);

/*
 * End a sandbox in which no program runs, and detach.  Returns 1, or 0 if a program runs in it.  If
 * another command has attached meanwhile, this process detaches, the sandbox goes on, and the
 * result is negative.  Unlike sandbox_kill, this function does not wait for the unmounting, which
 * syncs a file system.
 */
int sandbox_dismiss(struct sandbox *sandbox);

/*
 * Whether all programs of a workspace without a holder have certainly ended.  If a holder was
 * killed, its programs may live a moment longer.
 */
bool sandbox_is_over(int run, const char *name);
/*
 * Record, for later commands, that all programs of the workspace have ended.  Call this after
 * sandbox_kill.
 */
void sandbox_note_over(int run, const char *name);

/*
 * Detach from the sandbox.  Programs in the background go on.  If this process is not attached,
 * nothing is done.
 */
void sandbox_detach(struct sandbox *sandbox);
