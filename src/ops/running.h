/*
 * running - the programs that run in a workspace.
 *
 * When env_open opens an environment for writing, it also attaches the environment to the sandbox
 * of the workspace, if the workspace has a sandbox (env.c).
 */
#pragma once
#include "ops/env.h"
#include "sandbox/bindspec.h"

/* The network of programs. */
struct running_net {
	bool none;         /* true: no network; false: the machine's network */
	bool host_sockets; /* the machine's abstract sockets can be reached, too (scope.h) */
};

/*
 * Check whether programs can have this network.  Fails with ERR_BUSY if programs with another
 * network run in the workspace.
 */
int running_prepare(struct env *env, const struct running_net *net, struct err *err);

/*
 * Attach the caller to the sandbox of the workspace, and detach env.  The caller detaches *out at
 * the end.  A sandbox is started if there is none.  Call running_prepare first.
 */
int running_take(
	struct env *env, const struct running_net *net, struct sandbox *out, struct err *err);

/* Whether programs must be run by a child.  That child must call running_leave first. */
bool running_needs_child(const struct env *env);
/*
 * Close the locks and enter the user namespace in which programs run.  To be called in that child.
 */
int running_leave(struct env *env, struct err *err);

/*
 * Freeze all programs, so that files do not change.  If this machine cannot freeze programs, a note
 * in report says so.
 */
int running_freeze(struct env *env, struct report *report, struct err *err);
void running_thaw(struct env *env);

/*
 * Record that a rollback begins (history_begin_rollback), and kill all programs.  The record tells
 * a supervisor why its agent ends.
 */
int running_roll_back(struct env *env, struct err *err);
/* Kill all programs. */
int running_kill(struct env *env, struct err *err);
/*
 * End the sandbox if no program runs in it.  Returns true if no program runs.  In that case no
 * program can start before the lock on the workspace is released.
 */
bool running_dismiss(struct env *env);
/* Kill the programs of another workspace.  The caller must hold the lock of that workspace. */
int running_end(struct env *env, const char *workspace, struct err *err);
/*
 * Attach the live tree to the mount that the running programs see.  They then see later changes of
 * the live tree.
 */
int running_show(struct env *env, struct err *err);

/*
 * Returns the number of processes in a workspace.  The number is 0 if its sandbox cannot be
 * reached, and 1 if the processes cannot be counted.
 */
int running_count(struct env *env, const char *workspace);

struct running_process {
	int pid; /* pid inside the sandbox */
	const char *command;
};
/* List the first RUNNING_LIST_MAX processes, in arena.  Returns the number of all processes. */
#define RUNNING_LIST_MAX 64
size_t running_list(struct env *env, struct arena *arena, struct running_process **list);

/* Returns the binds that programs of the workspace have, in arena. */
struct bindspecs running_binds(struct env *env, struct arena *arena);
