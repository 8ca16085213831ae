/*
 * engine - starts the command and catches its calls.  This header describes trace/engine.
 *
 * There are three engines, each a struct engine.  The first engine whose probe succeeds is used.
 *
 *	engine_bpf.c     calls that change nothing are seen without being stopped
 *	engine_notify.c  every call that names a file stops, by seccomp user notification
 *	engine_ptrace.c  for machines on which neither of these works
 *	filter.c         the seccomp filter, made from the table of trace/observe/syscalls.c
 *	launch.c         forks the command, prepares it and forwards signals to it
 *	guardian.c       a process that answers the command's calls if strata is killed
 *	passing.c        loads the eBPF programs and reads their ring of events
 *	passing_code.c   the eBPF programs, written with the assembler ebpf.c
 *
 * Threads.  The engines bpf and notify have one more thread, the server, which takes calls from the
 * kernel and shows them to the observer.  The first thread does everything else.  A mutex keeps
 * the two from using the observer at the same time.  The engine ptrace has one thread.
 *
 * Invariants:
 *
 * 1. A call that has stopped goes on only when the observer has looked at it and the saver has done
 *    the job that the observer named.
 * 2. All calls that have passed are shown before a call that has stopped is shown or goes on.
 * 3. Every call that was taken from the kernel is answered, by the guardian if strata is killed.
 */
#pragma once
#include "core/err.h"
#include "trace/engine/launch.h"
#include "trace/engine/passing.h"
#include "trace/observe/observer.h"

#define ENGINE_LOOK_AROUND_MS 100 /* between two checks for things that no descriptor reports */

struct engine_run {
	struct observer *observer;
	struct saver *saver;
	struct launch *launch;
	bool in_group;           /* the command gets its signals without strata's help */
	bool listings;           /* see filter.h */
	bool filtered;           /* engine ptrace: there is a seccomp filter */
	struct passing *passing; /* engine bpf: reports calls that pass; the session frees it */
	bool left;               /* processes of the command are still running */
	int status;              /* result: the command's status, of wait(2) */
	int64_t ended_at;        /* when the command ended (when_monotonic); 0: it has not */
};

struct engine {
	const char *name;
	/* Returns 0 if the engine works here.  May set members of run for the engine. */
	int (*probe)(struct engine_run *run, struct err *err);
	/* Called in the child before it executes the command (launch.h); arg: struct engine_run. */
	launch_prepare *prepare;
	/*
	 * Let the child go on, and handle all calls until the last process has ended.  An error
	 * means that the command did not run.
	 */
	int (*run)(struct engine_run *run, struct err *err);
};

/* Engines call this when the first process of the command has ended; others may still run. */
void engine_ended(struct engine_run *run, int status);
/*
 * Returns the reason why an engine must stop waiting for the last process, or NULL if there is
 * none.
 */
const char *engine_why_leave(const struct engine_run *run);

extern const struct engine engine_bpf;
extern const struct engine engine_notify;
extern const struct engine engine_ptrace;
