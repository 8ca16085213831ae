/*
 * tracees - the processes and threads of the command.
 *
 * A thread is known from its first call on.  Processes that have ended are kept for the manifest.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/err.h"
#include "trace/bundle/record.h"
#include "trace/observe/pathmap.h"

#define TRACEES_ARGV_MAX ((size_t)128 << 10) /* bytes of a command line that are kept */

struct tracee {
	struct tracee *chain; /* next thread in its bucket */
	pid_t tid, pid;
	uint32_t process; /* index of the thread's process */
	/*
	 * Names that the thread's last call may have changed.  That call is over when the next one
	 * comes.
	 */
	struct pathmap_entry *unsettled[2];
	bool forget;       /* the last call may have changed whole directories */
	bool changing_cwd; /* the last call may change working directories */
	bool executing;    /* the last call may have executed a program that is not known */
	/* the working directory, valid while cwd_changes of struct tracees is the same as here */
	struct pathmap_entry *cwd;
	uint64_t cwd_changes;
	bool gone;       /* the last call has ended the thread */
	bool new_mounts; /* the last call may have given the thread other mounts */
	/* If the last call was of another architecture, the number of that call, plus 1; else 0. */
	uint64_t foreign_nr;
};

struct tracees;

struct tracees *tracees_new(struct err *err);
void tracees_free(struct tracees *tracees);
/* The process of a thread, and the parent of that process. */
struct tracees_ids {
	pid_t pid, ppid;
};

/*
 * Returns the thread tid.  *fresh is set to true if the thread was not known before.  If the caller
 * does not know the thread's process, ids is NULL, and the process is read from /proc.  Returns
 * NULL and sets errno if the thread is gone already.
 */
struct tracee *tracees_get(
	struct tracees *tracees, pid_t tid, const struct tracees_ids *ids, bool *fresh);
/*
 * Forget all working directories, since a call of the thread may change them or their names.  No
 * directory is remembered until that call is over.
 */
void tracees_forget_cwds(struct tracees *tracees, struct tracee *tracee);
/*
 * Note that a thread executes a program.  If the execution succeeds, the thread is the only one of
 * its process.
 */
void tracees_execute(struct tracees *tracees, struct tracee *tracee);
/* Note that a thread has ended.  Its number may be used for another thread. */
void tracees_end(struct tracees *tracees, pid_t tid);
/* Returns the working directory that is remembered for a thread, or NULL. */
struct pathmap_entry *tracees_cwd(const struct tracees *tracees, const struct tracee *tracee);
void tracees_keep_cwd(
	const struct tracees *tracees, struct tracee *tracee, struct pathmap_entry *cwd);
/*
 * Whether a call of another thread may be changing this name right now.  A process above the caller
 * in the tree of processes counts as waiting for the caller.  So its last call is over, although we
 * have not seen its next one.
 */
bool tracees_is_changing(
	struct tracees *tracees, const struct tracee *caller, const struct pathmap_entry *entry);
/* Whether the last call of a thread has left nothing for tracees_settle to do. */
bool tracees_is_settled(const struct tracee *tracee);
/* Settle what the last call of a thread may have changed, since that call is over. */
void tracees_settle(struct tracees *tracees, struct tracee *tracee, struct pathmap *map);

size_t tracees_count(const struct tracees *tracees);
struct process *tracees_process(struct tracees *tracees, size_t index);
/* Returns the running process with this number, or the last process that had it, or NULL. */
struct process *tracees_by_pid(struct tracees *tracees, pid_t pid);
/*
 * Returns a descriptor that is readable when processes have ended.  tracees_reap notes their end.
 */
int tracees_fd(const struct tracees *tracees);
void tracees_reap(struct tracees *tracees, struct pathmap *map);

/* Read an argument vector from the thread's memory into process. */
void tracees_argv(pid_t tid, uint64_t address, struct process *process);
/* Whether the thread has ended, so that nothing can be read from it. */
bool tracees_is_gone(pid_t tid);
