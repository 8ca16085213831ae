/* processes - the processes of a sandbox, seen from outside. */
#pragma once
#include <stdint.h>

#include "core/arena.h"
#include "core/err.h"
#include "sandbox/bindspec.h"
#include "sandbox/sandbox.h"

#define PROCESSES_ARGS_MAX ((size_t)32 << 10) /* of one process; the rest is cut off */

struct processes_one {
	int pid;                 /* inside */
	uint32_t uid;            /* inside */
	int64_t started;         /* ns since the epoch; 0: not known */
	unsigned long long tick; /* start time in clock ticks since boot */
	struct str args; /* arguments with zero bytes between, or the name if there are none */
	unsigned long long mnt; /* inode number of its mount namespace; 0: not known */
};

/*
 * Visit every process but the holder, in the order of their numbers, until visit returns a negative
 * value.  *one is valid only during the visit.  Visits no process if the inside has no /proc.
 */
int processes_each(const struct sandbox *sandbox,
	int (*visit)(void *arg, const struct processes_one *one, struct err *err), void *arg,
	struct err *err);

/* A process of the sandbox as this process sees it. */
struct processes_outside {
	int pid, parent;         /* outside */
	int inside;              /* its number inside */
	unsigned long long tick; /* start time in clock ticks since boot */
	bool certain;            /* its PID namespace is the sandbox's; else its parents tell */
};
/*
 * List all processes, the holder among them, sorted by pid, in arena.  Returns their number; 0 if
 * /proc does not show them.
 */
size_t processes_outside(
	const struct sandbox *sandbox, struct arena *arena, struct processes_outside **list);

/* List the binds that any process inside has, each once, in arena. */
int processes_binds(
	const struct sandbox *sandbox, struct arena *arena, struct bindspecs *out, struct err *err);
