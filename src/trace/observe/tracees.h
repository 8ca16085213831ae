/*
 * tracees - the processes and threads of the traced command.
 *
 * A thread is known from its first system call on.  Processes that have ended are kept for the
 * manifest.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/err.h"
#include "trace/bundle/record.h"
#include "trace/observe/pathmap.h"

/* maximum bytes of a command line; the rest is not kept */
#define TRACEES_ARGV_MAX ((size_t)128 << 10)

struct tracee {
	struct tracee *chain; /* next thread in the same bucket */
	pid_t tid, pid;
	uint32_t process; /* index of the process that the thread belongs to */
	/*
	 * Names that the thread's last call may have changed.  That call is certainly over when the
	 * thread makes its next call.
	 */
	struct pathmap_entry *unsettled[2];
	bool forget;       /* the last call may have changed all names below a directory */
	bool changing_cwd; /* the last call may change the working directory */
	/* the last call may have executed a program that has not been recorded */
	bool executing;
	/*
	 * the working directory; valid while cwd_changes has the value of the member of struct
	 * tracees
	 */
	struct pathmap_entry *cwd;
	uint64_t cwd_changes;
	bool gone;       /* the last call has ended the thread */
	bool new_mounts; /* the last call may have given the thread another mount namespace */
	/* Number of the last call, plus 1, if it was a call of another architecture; else 0. */
	uint64_t foreign_nr;
};

struct tracees;

struct tracees *tracees_new(struct err *err);
void tracees_free(struct tracees *tracees);
/* The process id of a thread, and the process id of that process's parent. */
struct tracees_ids {
	pid_t pid, ppid;
};

/*
 * Returns the thread with the id tid.  *fresh is set to true if the thread was not known before.
 * ids may be NULL, and is then read from /proc.  Returns NULL and sets errno if the thread is
 * already gone.
 */
struct tracee *tracees_get(
	struct tracees *tracees, pid_t tid, const struct tracees_ids *ids, bool *fresh);
/*
 * Forget all working directories, since a call of the thread may change them or their names.  Until
 * that call is over, no working directory is remembered.
 */
void tracees_forget_cwds(struct tracees *tracees, struct tracee *tracee);
/*
 * Note that a thread executes a program.  If that succeeds, the thread is the only one of its
 * process.
 */
void tracees_execute(struct tracees *tracees, struct tracee *tracee);
/* Note that a thread has ended.  The kernel may reuse its id for another thread. */
void tracees_end(struct tracees *tracees, pid_t tid);
/* Returns the remembered working directory of a thread, or NULL if none is remembered. */
struct pathmap_entry *tracees_cwd(const struct tracees *tracees, const struct tracee *tracee);
void tracees_keep_cwd(
	const struct tracees *tracees, struct tracee *tracee, struct pathmap_entry *cwd);
/*
 * Whether a running call of another thread may be changing this name.  The ancestors of the calling
 * process are assumed to wait for it.  So the last call of an ancestor counts as over, even if its
 * next call has not been seen.
 */
bool tracees_is_changing(
	struct tracees *tracees, const struct tracee *caller, const struct pathmap_entry *entry);
/* Whether tracees_settle has nothing to do after the last call of a thread. */
bool tracees_is_settled(const struct tracee *tracee);
/* Settle the names that the last call of a thread may have changed, since that call is over. */
void tracees_settle(struct tracees *tracees, struct tracee *tracee, struct pathmap *map);

size_t tracees_count(const struct tracees *tracees);
struct process *tracees_process(struct tracees *tracees, size_t index);
/*
 * Returns the running process with this process id.  If there is none, returns the last one that
 * had the id, or NULL.
 */
struct process *tracees_by_pid(struct tracees *tracees, pid_t pid);
/*
 * Returns a descriptor that becomes readable when processes have ended.  tracees_reap then notes
 * their end.
 */
int tracees_fd(const struct tracees *tracees);
void tracees_reap(struct tracees *tracees, struct pathmap *map);

/* Read an argument vector at an address in the thread's memory into 'process'. */
void tracees_argv(pid_t tid, uint64_t address, struct process *process);
/* Whether the thread has ended, so that nothing can be read from its memory or from /proc. */
bool tracees_is_gone(pid_t tid);
