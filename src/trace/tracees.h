/*
 * tracees - the processes and threads of a traced command, and what can be
 * read of them from outside.
 *
 * A thread is known from its first call on.  Processes are kept for the manifest
 * when they have ended.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/buf.h"
#include "core/err.h"
#include "core/str.h"
#include "trace/pathmap.h"

#define TRACEES_ARGV_MAX ((size_t)128 << 10) /* of bytes kept of a command line */

struct process {
	pid_t pid, ppid;
	struct buf argv; /* NUL-separated */
	bool argv_cut;
	bool ended;
	int status; /* as wait gives it; -1: not known */
	int pidfd;
	uint32_t older; /* see tracees_by_pid */
};

struct tracee {
	struct tracee *chain;
	pid_t tid, pid;
	uint32_t process;
	/* What its last call may have changed; over when the next one comes. */
	struct pathmap_entry *unsettled[2];
	bool forget;
	bool moving;               /* its last call may change working directories */
	struct pathmap_entry *cwd; /* as of that many moves */
	uint64_t cwd_moves;
	bool gone;           /* its last call was to end */
	bool new_mounts;     /* its last call may have given it others */
	uint64_t foreign_nr; /* of its last call, if that was one of another architecture; from 1 */
};

struct tracees;

struct tracees *tracees_new(struct err *err);
void tracees_free(struct tracees *tracees);
/* Whose a thread is. */
struct tracees_ids {
	pid_t pid, ppid;
};

/*
 * The thread with this number; fresh says that it was not known.  ids: as somebody else has told;
 * NULL: it is asked.  NULL and errno if it is gone already.
 */
struct tracee *tracees_get(
	struct tracees *tracees, pid_t tid, const struct tracees_ids *ids, bool *fresh);
/*
 * Its call may change somebody's working directory, or what that is called.  Where a directory
 * is remembered it is forgotten, and none is trusted until the call is over.
 */
void tracees_move(struct tracees *tracees, struct tracee *tracee);
/* It executes something: if that works it is its process's only thread, with the first's number. */
void tracees_execute(struct tracees *tracees, struct tracee *tracee);
/* The thread is gone; its number may be another's next. */
void tracees_end(struct tracees *tracees, pid_t tid);
/* What was kept of a thread; NULL: ask. */
struct pathmap_entry *tracees_cwd(const struct tracees *tracees, const struct tracee *tracee);
void tracees_keep_cwd(
	const struct tracees *tracees, struct tracee *tracee, struct pathmap_entry *cwd);
/* Whether its last call has left nothing to tracees_settle. */
bool tracees_is_settled(const struct tracee *tracee);
/* Its last call is over. */
void tracees_settle(struct tracees *tracees, struct tracee *tracee, struct pathmap *map);

size_t tracees_count(const struct tracees *tracees);
struct process *tracees_process(struct tracees *tracees, size_t index);
/* The process with this number that is running, or the last that was. */
struct process *tracees_by_pid(struct tracees *tracees, pid_t pid);
/* Can be read when processes have ended; then call tracees_reap. */
int tracees_fd(const struct tracees *tracees);
void tracees_reap(struct tracees *tracees, struct pathmap *map);

/* A path in the thread's memory into out (PATH_MAX bytes, NUL-terminated): length, -1. */
ssize_t tracees_text(pid_t tid, uint64_t address, char *out);
bool tracees_bytes(pid_t tid, uint64_t address, void *out, size_t len);

/* An argument vector in its memory. */
void tracees_argv(pid_t tid, uint64_t address, struct process *process);
/* Whether there is nothing of it any more that could be asked, but that it has ended. */
bool tracees_is_gone(pid_t tid);
/* A link in its directory of /proc ("cwd", "fd/3"), PATH_MAX bytes: length, or -errno. */
ssize_t tracees_link(pid_t tid, const char *name, char *out);
