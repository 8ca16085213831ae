/*
 * running - what runs in the workspace an operation works on.
 *
 * An environment opened for writing is attached to the sandbox of its workspace
 * when there is one (env.c); these do the rest.
 */
#pragma once
#include "ops/env.h"
#include "sandbox/bindspec.h"

/* What programs are to reach beside files. */
struct running_net {
	bool none;         /* nothing; else the machine's network */
	bool host_sockets; /* the machine's abstract sockets, too: scope.h */
};

/* See to it that what runs in the workspace, if anything does, reaches just that; else ERR_BUSY. */
int running_prepare(struct env *env, const struct running_net *net, struct err *err);

/*
 * Give the sandbox of the workspace to the caller, who detaches it; started if there is none.
 * running_prepare comes first.
 * The caller of an environment whose sandbox was taken sees nothing running in it.
 */
int running_take(
	struct env *env, const struct running_net *net, struct sandbox *out, struct err *err);

/* Whether programs must be run by a child, which calls running_leave before all else. */
bool running_apart(const struct env *env);
/* In that child: give up the locks, and go where programs are run from. */
int running_leave(struct env *env, struct err *err);

/* Keep everything inside still; only a moment later are files as they were. */
int running_freeze(struct env *env, struct report *report, struct err *err);
void running_thaw(struct env *env);

/* End everything inside, because the workspace will be another node: that is noted first. */
int running_roll_back(struct env *env, struct err *err);
/* End everything inside. */
int running_kill(struct env *env, struct err *err);
/* End a sandbox in which nothing runs: whether nothing does, until the lock is given back. */
bool running_dismiss(struct env *env);
/* As running_kill in another workspace, whose lock the caller has. */
int running_end(struct env *env, const char *workspace, struct err *err);
/* From now on the live tree is changed where the programs inside see it. */
int running_show(struct env *env, struct err *err);

/* Processes in a workspace of this environment; 0 where none or nobody can tell. */
int running_count(struct env *env, const char *workspace);

struct running_process {
	int pid; /* inside */
	const char *command;
};
/* The first RUNNING_LIST_MAX processes of the workspace, in arena; how many there are. */
#define RUNNING_LIST_MAX 64
size_t running_list(struct env *env, struct arena *arena, struct running_process **list);

/* The binds that programs of the workspace have, in arena. */
struct bindspecs running_binds(struct env *env, struct arena *arena);
