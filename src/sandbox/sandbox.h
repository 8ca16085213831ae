/*
 * sandbox - a live workspace as its processes see it, and our hold on it.
 *
 * Processes of a workspace run in namespaces that a holder process (holder.h)
 * keeps: the first sandbox_start makes it, later strata processes attach to it.
 * It stays while anybody is attached or anything runs inside, and no longer.
 * A strata that is killed after it ran a command takes everything inside with it.
 *
 * The caller holds the workspace's lock while it attaches or starts, so that a
 * workspace never has two holders.
 *
 * A holder may not answer: somebody has stopped it, or it is of another version.
 * Such a sandbox is mute.  It can be killed and left; all else fails, saying why.
 */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "core/err.h"
#include "sandbox/mounts.h"
#include "sandbox/plan.h"

#define SANDBOX_KILL_MS 5000    /* until everything inside is gone */
#define SANDBOX_ANSWER_MS 10000 /* for a holder to answer; it limits itself to less */
#define SANDBOX_LOOK_MS 1000    /* the same, where one can do without */

/* What a holder hands out. */
enum sandbox_fd {
	SANDBOX_HOLDER, /* its pidfd */
	SANDBOX_OUTER,  /* the user namespace it was built in */
	SANDBOX_USER,   /* from here the namespaces of the inside */
	SANDBOX_MNT,
	SANDBOX_PID,
	SANDBOX_IPC,
	SANDBOX_UTS,
	SANDBOX_CGROUP,
	SANDBOX_ROOT,  /* its "/" */
	SANDBOX_BINDS, /* of its commands: bindlist.h */
	SANDBOX_NET,   /* -1: it shares the host's network */
	SANDBOX_JOBS,  /* directory of the cgroup of its processes; -1: there is none */
	SANDBOX_FDS,
};

struct sandbox {
	int connection; /* to the holder; -1: not attached */
	pid_t pid;      /* the holder as we see it; 0: not at all */
	int fds[SANDBOX_FDS];
	struct err mute; /* its code is 0, or why the holder does not answer */
	bool frozen;
	bool host_root; /* root inside has the id of root of the machine: see fence.h */
	bool shifted;   /* the inside has the ids of ids.h */
	bool scoped;    /* the plan's */
	char degraded[MOUNTS_DEGRADED_MAX]; /* what the inside has to do without, one a line */
};

#define SANDBOX_INIT                                                                               \
	{                                                                                          \
		.connection = -1, .fds = { [0 ... SANDBOX_FDS - 1] = -1 }                          \
	}

/* Start the holder of a workspace that has none, and attach to it. */
int sandbox_start(const struct sandbox_plan *plan, struct sandbox *out, struct err *err);

/* Before this process ends: see to the holders that it started and that end with it. */
void sandbox_bury(void);

/* Attach to the holder of a workspace: 1, or 0 when there is none. run is where its socket is. */
int sandbox_attach(int run, const char *name, struct sandbox *out, struct err *err);
/* As sandbox_attach, but one that does not answer in wait_ms is no failure: it is mute. */
int sandbox_reach(int run, const char *name, int wait_ms, struct sandbox *out, struct err *err);

/* Whether there may be a holder: cheap, and may be wrong for one that was killed. */
bool sandbox_is_there(int run, const char *name);

/*
 * Move this process, which must have one thread, into the user namespace the
 * sandbox was built in, to work on its files.  After sandbox_attach, instead of
 * sandbox_user_enter.
 */
int sandbox_join(const struct sandbox *sandbox, struct err *err);

/*
 * The root of the tree as the inside sees it, mounts included, from outside: a
 * directory, owned by the caller.  It keeps the mounts alive while it is open.
 */
int sandbox_open_root(const struct sandbox *sandbox, struct err *err);

/*
 * Stop everything inside until sandbox_thaw or the end of the attachment.
 * ERR_LIMIT names the process that would not stop in time.
 */
int sandbox_freeze(struct sandbox *sandbox, struct err *err);
int sandbox_thaw(struct sandbox *sandbox, struct err *err);

/* How many processes are inside, the holder not counted. */
int sandbox_count(struct sandbox *sandbox, struct err *err);

/* The command that a strata, or a child of it, runs: its number inside; 0: none. */
int sandbox_command_of(struct sandbox *sandbox, pid_t strata);

/*
 * Kill everything inside and the holder, wait until it is gone, and detach.  by is
 * the command that wants it, for others who are attached.
 */
int sandbox_kill(struct sandbox *sandbox, const char *by, struct err *err);

/*
 * End a sandbox in which nothing runs, and detach: 1; 0 when something does; negative when
 * another command came meanwhile, and we are detached.  Unlike sandbox_kill it does not wait until
 * the mounts are undone, which syncs a file system.
 */
int sandbox_dismiss(struct sandbox *sandbox);

/*
 * Whether nothing of a workspace without a holder can be running any more.  A holder that was
 * killed may be outlived for a moment by what it held.
 */
bool sandbox_is_over(int run, const char *name);
/* After sandbox_kill: say so to later commands. */
void sandbox_note_over(int run, const char *name);

/* Leave; what runs in the background goes on.  Accepts one that is not attached. */
void sandbox_detach(struct sandbox *sandbox);
