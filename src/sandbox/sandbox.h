/*
 * sandbox - the namespaces that programs of a workspace run in, and a connection to them.
 *
 * A holder process (holder.h) keeps the namespaces alive.  The first sandbox_start makes the
 * holder, and later strata processes attach to it.  The holder stays while a strata is attached or
 * a program runs inside, and no longer.  A strata that is killed after it ran a command takes
 * everything inside with it.
 *
 * The caller holds the workspace's lock while it attaches or starts, so that a workspace never has
 * two holders.
 *
 * A holder may not answer, because it is stopped or belongs to another version of strata.  Such a
 * sandbox is called mute.  It can be killed and detached from; all other operations fail with the
 * reason.
 */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "core/err.h"
#include "sandbox/mounts.h"
#include "sandbox/plan.h"

#define SANDBOX_KILL_MS 5000    /* time for all processes inside to end */
#define SANDBOX_ANSWER_MS 10000 /* time for a holder to answer, which needs less */
#define SANDBOX_LOOK_MS 1000    /* time for an answer that the caller can do without */

/* The descriptors that a holder gives to those who attach. */
enum sandbox_fd {
	SANDBOX_HOLDER, /* pidfd of the holder */
	SANDBOX_OUTER,  /* the user namespace that the sandbox was built in */
	SANDBOX_USER,   /* this and the next ones up to SANDBOX_CGROUP: namespaces of the inside */
	SANDBOX_MNT,
	SANDBOX_PID,
	SANDBOX_IPC,
	SANDBOX_UTS,
	SANDBOX_CGROUP,
	SANDBOX_ROOT,  /* "/" of the inside */
	SANDBOX_BINDS, /* the list of the commands' binds: bindlist.h */
	SANDBOX_NET,   /* network namespace; -1: the inside shares the host's network */
	SANDBOX_JOBS,  /* directory of the cgroup of the processes inside; -1: there is none */
	SANDBOX_FDS,
};

struct sandbox {
	int connection; /* to the holder; -1: not attached */
	pid_t pid;      /* the holder's number in our PID namespace; 0: it has none there */
	int fds[SANDBOX_FDS];
	struct err mute; /* why the holder does not answer; code 0: it does */
	bool frozen;
	bool host_root; /* root inside has the id of root of the machine: see fence.h */
	bool shifted;   /* the inside has the ids of ids.h */
	bool scoped;    /* as in the plan */
	char degraded[MOUNTS_DEGRADED_MAX]; /* what the inside lacks, one thing a line */
};

#define SANDBOX_INIT ((struct sandbox){ .connection = -1, .fds = { [0 ... SANDBOX_FDS - 1] = -1 } })

/* Start the holder of a workspace that has none, and attach to it. */
int sandbox_start(const struct sandbox_plan *plan, struct sandbox *out, struct err *err);

/*
 * Reap holders that this process has started and that end at the same time as it.  Called before
 * this process ends.
 */
void sandbox_bury(void);

/* Attach to a workspace's holder, whose socket is in run.  Returns 1, or 0 if it has none. */
int sandbox_attach(int run, const char *name, struct sandbox *out, struct err *err);
/*
 * As sandbox_attach, but if the holder does not answer within wait_ms, the result is a mute
 * sandbox.
 */
int sandbox_reach(int run, const char *name, int wait_ms, struct sandbox *out, struct err *err);

/* Whether there may be a holder.  This is cheap; it is also true after a holder was killed. */
bool sandbox_is_there(int run, const char *name);

/*
 * Move this process, which must have one thread, into the user namespace that the sandbox was
 * built in, to work on its files.  Called after sandbox_attach, instead of sandbox_user_enter.
 */
int sandbox_join(const struct sandbox *sandbox, struct err *err);

/*
 * Open the root of the tree as programs inside see it, mounts included.  The descriptor belongs to
 * the caller, and keeps the mounts alive while it is open.
 */
int sandbox_open_root(const struct sandbox *sandbox, struct err *err);

/*
 * Stop all processes inside until sandbox_thaw or sandbox_detach.  ERR_LIMIT if one does not
 * stop.
 */
int sandbox_freeze(struct sandbox *sandbox, struct err *err);
int sandbox_thaw(struct sandbox *sandbox, struct err *err);

/* Returns the number of processes inside, without the holder. */
int sandbox_count(struct sandbox *sandbox, struct err *err);

/*
 * Find the command that the strata process with the number strata, or a child of it, runs.  Returns
 * the command's number inside, or 0 if there is none.
 */
int sandbox_command_of(struct sandbox *sandbox, pid_t strata);

/*
 * Kill all processes inside and the holder, wait for their end, and detach.  Other strata processes
 * that are attached are told that the command named by did this.
 */
int sandbox_kill(struct sandbox *sandbox, const char *by, struct err *err);

/*
 * End a sandbox in which nothing runs, and detach.  Returns 1, or 0 if something runs inside.  If
 * another command attached meanwhile, detaches without ending the sandbox and returns a negative
 * number.  Unlike sandbox_kill, it does not wait for the unmounting, which syncs a file system.
 */
int sandbox_dismiss(struct sandbox *sandbox);

/*
 * Whether no program of a workspace without a holder can be running any more.  If a holder was
 * killed, its programs may live a moment longer.
 */
bool sandbox_is_over(int run, const char *name);
/*
 * Note for later commands that no program of the workspace is running any more.  Called after
 * sandbox_kill.
 */
void sandbox_note_over(int run, const char *name);

/* Detach.  Programs in the background go on.  Does nothing if not attached. */
void sandbox_detach(struct sandbox *sandbox);
