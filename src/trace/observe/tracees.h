/*
 * tracees - the processes and threads of the traced command.
 *
 * A thread becomes known with its first system call.  Processes that have ended are kept for the
 * manifest.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/err.h"
#include "trace/bundle/record.h"
#include "trace/observe/pathmap.h"

/* maximum number of bytes of a command line that are kept */
#define TRACEES_ARGV_MAX ((size_t)128 << 10)

struct tracee {
	struct tracee *chain; /* next thread in the same bucket */
	pid_t tid, pid;
	uint32_t process; /* index of the process that the thread belongs to */
	/*
	 * Names that the last call of the thread may have changed.  When the thread makes its next
	 * call, its last call is certainly over.
	 */
	struct pathmap_entry *unsettled[2];
	bool forget;       /* the last call may have changed all names below some directory */
	bool changing_cwd; /* the last call may change the working directory */
	/* the last call may have executed a program, and the program has not been recorded */
	bool executing;
	/*
	 * the working directory; valid only if cwd_changes equals the same member of struct tracees
	 */
	struct pathmap_entry *cwd;
	uint64_t cwd_changes;
	bool gone;       /* the last call has ended the thread */
	bool new_mounts; /* the last call may have given the thread another mount namespace */
	/* If the last call was a call of another architecture: its number plus 1.  Otherwise 0. */
	uint64_t foreign_nr;
};

struct tracees;

struct tracees *tracees_new(struct err *err);
void tracees_free(struct tracees *tracees);
/* The id of a thread's process, and the id of its parent process. */
struct tracees_ids {
	pid_t pid, ppid;
};

/*
 * Returns the thread with the id tid.  *fresh is set to true if the thread was not known before.
 * If 'ids' is NULL, the ids are read from /proc.  If the thread is already gone, errno is set and
 * NULL is returned.
 */
struct tracee *tracees_get(
	struct tracees *tracees, pid_t tid, const struct tracees_ids *ids, bool *fresh);
/*
 * Forget the working directories of all threads, since a call of this thread may change a working
 * directory or its name.  No working directory is remembered until that call is over.
 */
void tracees_forget_cwds(struct tracees *tracees, struct tracee *tracee);
/*
 * Record that a thread executes a program.  If the call succeeds, no other thread of the process is
 * left.
 */
void tracees_execute(struct tracees *tracees, struct tracee *tracee);
/* Record that a thread has ended.  The kernel may reuse its id for another thread. */
void tracees_end(struct tracees *tracees, pid_t tid);
/* Returns the remembered working directory of a thread, or NULL if none is remembered. */
struct pathmap_entry *tracees_cwd(const struct tracees *tracees, const struct tracee *tracee);
void tracees_keep_cwd(
	const struct tracees *tracees, struct tracee *tracee, struct pathmap_entry *cwd);
/*
 * Whether a call of another thread may be changing this name at the moment.  Ancestors of the
 * caller's process are assumed to wait for the caller.  So the last call of an ancestor counts as
 * over, even if strata has not seen its next call.
 */
bool tracees_is_changing(
	struct tracees *tracees, const struct tracee *caller, const struct pathmap_entry *entry);
/* Whether the last call of a thread has left nothing for tracees_settle to do. */
bool tracees_is_settled(const struct tracee *tracee);
/*
 * Settle the names that the last call of a thread may have changed.  To be called when that call is
 * over.
 */
void tracees_settle(struct tracees *tracees, struct tracee *tracee, struct pathmap *map);

size_t tracees_count(const struct tracees *tracees);
struct process *tracees_process(struct tracees *tracees, size_t index);
/*
 * Returns the running process with this process id.  If there is none, returns the latest process
 * that had the id, or NULL if no process had it.
 */
struct process *tracees_by_pid(struct tracees *tracees, pid_t pid);
/*
 * Returns a descriptor that becomes readable when processes have ended.  tracees_reap then records
 * that they have ended.
 */
int tracees_fd(const struct tracees *tracees);
void tracees_reap(struct tracees *tracees, struct pathmap *map);

/* Read an argument vector at an address in the thread's memory into 'process'. */
void tracees_argv(pid_t tid, uint64_t address, struct process *process);
/* Whether the thread has ended, so that nothing can be read from its memory or from /proc. */
bool tracees_is_gone(pid_t tid);
