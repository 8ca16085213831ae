/* processes - the processes of a sandbox, seen from outside. */
#pragma once
#include <stdbool.h>
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
	unsigned long long tick; /* the same as the kernel counts it */
	struct str args; /* its arguments, a zero byte between them; its name where it has none */
	unsigned long long mnt; /* inode number of its mount namespace; 0: not known */
};

/*
 * Visit every process but the holder, as they are numbered; one and its texts live until visit
 * returns, negative stops.  Nothing is visited where the sandbox has no /proc.
 */
int processes_each(const struct sandbox *sandbox,
	int (*visit)(void *arg, const struct processes_one *one, struct err *err), void *arg,
	struct err *err);

/* A process of the sandbox as this process sees it. */
struct processes_outside {
	int pid, parent;         /* outside */
	int inside;              /* its number inside */
	unsigned long long tick; /* when it was started */
};
/* All of them, the holder too, by pid, in arena; none where /proc does not say. */
size_t processes_outside(
	const struct sandbox *sandbox, struct arena *arena, struct processes_outside **list);

/* The binds that a process inside has, in arena; each once. */
int processes_binds(
	const struct sandbox *sandbox, struct arena *arena, struct bindspecs *out, struct err *err);
