/* processes - lists the processes of a sandbox, seen from outside. */
#pragma once
#include <stdint.h>

#include "core/arena.h"
#include "core/err.h"
#include "sandbox/bindspec.h"
#include "sandbox/sandbox.h"

/* bytes of arguments of one process; the rest is cut off */
#define PROCESSES_ARGS_MAX ((size_t)32 << 10)

struct processes_one {
	int pid;                 /* number in the sandbox */
	uint32_t uid;            /* user id in the sandbox */
	int64_t started;         /* ns since the epoch; 0: not known */
	unsigned long long tick; /* start time in clock ticks since boot */
	struct str args; /* arguments with zero bytes between them; if there are none, the name */
	unsigned long long mnt; /* inode number of the process's mount namespace; 0: not known */
};

/*
 * Call the function 'visit' for every process but the holder, in the order of their numbers, until
 * it returns a negative value.  *one is valid only during the call.  No process is visited if the
 * sandbox has no /proc.
 */
int processes_each(const struct sandbox *sandbox,
	int (*visit)(void *arg, const struct processes_one *one, struct err *err), void *arg,
	struct err *err);

/* A process of the sandbox, as this process sees it. */
struct processes_outside {
	int pid, parent;         /* numbers outside the sandbox: of the process, of its parent */
	int inside;              /* number in the sandbox */
	unsigned long long tick; /* start time in clock ticks since boot */
	/* known from the PID namespace; false: known only from the chain of parents */
	bool certain;
};
/*
 * List all processes including the holder, sorted by pid.  The arena owns the list.  Returns the
 * number of processes, or 0 if /proc does not show them.
 */
size_t processes_outside(
	const struct sandbox *sandbox, struct arena *arena, struct processes_outside **list);

/* List the binds that any process of the sandbox has, each bind once.  The arena owns the list. */
int processes_binds(
	const struct sandbox *sandbox, struct arena *arena, struct bindspecs *out, struct err *err);
