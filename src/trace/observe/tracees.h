/*
 * tracees - the processes and threads of the command, and access to their memory and links in
 * /proc.
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
	struct tracee *chain; /* in its bucket */
	pid_t tid, pid;
	uint32_t process; /* index */
	/* Names that its last call may have changed.  The call is over when the next one comes. */
	struct pathmap_entry *unsettled[2];
	bool forget;               /* its last call may have changed whole directories */
	bool changing_cwd;         /* its last call may change working directories */
	bool executing;            /* its last call may have executed a program that is not known */
	struct pathmap_entry *cwd; /* valid for this value of the counter cwd_changes */
	uint64_t cwd_changes;
	bool gone;       /* its last call has ended it */
	bool new_mounts; /* its last call may have given it other mounts */
	/* Number of its last call, plus 1, if that call was of another architecture. */
	uint64_t foreign_nr;
};

struct tracees;

struct tracees *tracees_new(struct err *err);
void tracees_free(struct tracees *tracees);
/* The process of a thread, and its parent. */
struct tracees_ids {
	pid_t pid, ppid;
};

/*
 * The thread with this number; fresh: it was not known before.  ids: its process, if the caller
 * knows it; NULL: read from /proc.  Returns NULL and sets errno if the thread is gone already.
 */
struct tracee *tracees_get(
	struct tracees *tracees, pid_t tid, const struct tracees_ids *ids, bool *fresh);
/*
 * The thread's call may change working directories, or their names.  All of them are forgotten, and
 * none is remembered until the call is over.
 */
void tracees_forget_cwds(struct tracees *tracees, struct tracee *tracee);
/* The thread executes a program.  If that succeeds, it is the only thread of its process. */
void tracees_execute(struct tracees *tracees, struct tracee *tracee);
/* The thread has ended; its number may be used for another thread. */
void tracees_end(struct tracees *tracees, pid_t tid);
/* The working directory that is remembered for a thread, or NULL. */
struct pathmap_entry *tracees_cwd(const struct tracees *tracees, const struct tracee *tracee);
void tracees_keep_cwd(
	const struct tracees *tracees, struct tracee *tracee, struct pathmap_entry *cwd);
/*
 * Whether a call of another thread may be changing this name right now.  A process that waits for
 * the caller's process has no such call, although we have not seen its next one.
 */
bool tracees_is_changing(
	struct tracees *tracees, const struct tracee *caller, const struct pathmap_entry *entry);
/* Whether its last call has left nothing for tracees_settle to do. */
bool tracees_is_settled(const struct tracee *tracee);
/* The thread's last call is over. */
void tracees_settle(struct tracees *tracees, struct tracee *tracee, struct pathmap *map);

size_t tracees_count(const struct tracees *tracees);
struct process *tracees_process(struct tracees *tracees, size_t index);
/* The running process with this number, or the last process that had it, or NULL. */
struct process *tracees_by_pid(struct tracees *tracees, pid_t pid);
/* A descriptor that is readable when processes have ended; then call tracees_reap. */
int tracees_fd(const struct tracees *tracees);
void tracees_reap(struct tracees *tracees, struct pathmap *map);

/* Read a path from the thread's memory into out (PATH_MAX bytes).  Its length, or -1. */
ssize_t tracees_text(pid_t tid, uint64_t address, char *out);
bool tracees_bytes(pid_t tid, uint64_t address, void *out, size_t len);

/* Read an argument vector from the thread's memory. */
void tracees_argv(pid_t tid, uint64_t address, struct process *process);
/* Whether the thread has ended, so that nothing can be read from it. */
bool tracees_is_gone(pid_t tid);
/* Read a link in its directory of /proc, such as "cwd" or "fd/3": length, or -errno. */
ssize_t tracees_link(pid_t tid, const char *name, char *out);
