/*
 * engine - starts the command and catches its calls.  This header describes the folder
 * trace/engine.
 *
 * There are three engines, each a struct engine.  The first engine whose probe succeeds is used.
 *
 *	engine_bpf.c     calls that change nothing are reported without stopping
 *	engine_notify.c  every call that names a file stops, by seccomp user notification
 *	engine_ptrace.c  for machines on which neither of these works
 *	filter.c         the seccomp filter, made from the table of trace/observe/syscalls.c
 *	launch.c         forks the command, prepares it and forwards signals to it
 *	guardian.c       a process that answers the command's calls if strata is killed
 *	passing.c        loads the eBPF programs and reads their ring of events
 *	passing_code.c   the eBPF programs, written with the assembler ebpf.c
 *
 * Threads.  The engines bpf and notify have a second thread, the server.  The server takes calls
 * from the kernel and shows them to the observer.  The first thread does everything else.  A mutex
 * keeps the two threads from using the observer at the same time.  The engine ptrace has one
 * thread.
 *
 * Invariants:
 *
 * 1. A call that has stopped goes on only after the observer has examined the call, and after the
 *    saver has done the job whose number the observer returned.
 * 2. A call that is not stopped is said to pass.  Before a stopped call is shown to the observer,
 *    all calls that have passed by then are shown.  Before the stopped call goes on, all calls that
 *    have passed since then are shown, too.
 * 3. Every call that was taken from the kernel is answered, by the guardian if strata is killed.
 */
#pragma once
#include "core/err.h"
#include "trace/engine/launch.h"
#include "trace/engine/passing.h"
#include "trace/observe/observer.h"

/* time between two checks of the conditions that no descriptor reports */
#define ENGINE_LOOK_AROUND_MS 100

struct engine_run {
	struct observer *observer;
	struct saver *saver;
	struct launch *launch;
	/*
	 * the command is in the process group of strata, so it gets signals from the terminal
	 * directly
	 */
	bool in_group;
	bool listings; /* calls that list a directory stop; see filter.h */
	/* engine ptrace: a seccomp filter chooses the calls that stop */
	bool filtered;
	struct passing *passing; /* engine bpf: reports the calls that pass; the session frees it */
	/* result: the engine gave up before the last process of the command had ended */
	bool left;
	int status;       /* result: wait status of the command's first process */
	int64_t ended_at; /* time at which that process ended (when_monotonic); 0: it is running */
};

struct engine {
	const char *name;
	/*
	 * Check whether the engine works on this machine.  Returns 0 if the engine works.  The
	 * function may set the members of *run that belong to the engine.
	 */
	int (*probe)(struct engine_run *run, struct err *err);
	/*
	 * Prepares the child before it executes the command (launch.h).  The argument is the struct
	 * engine_run.
	 */
	launch_prepare *prepare;
	/*
	 * Let the child execute the command, and handle its calls until the last process has
	 * ended.  Returns an error if the command did not run.
	 */
	int (*run)(struct engine_run *run, struct err *err);
};

/*
 * To be called by an engine when the first process of the command has ended.  Other processes of
 * the command may still be running.
 */
void engine_ended(struct engine_run *run, int status);
/*
 * Returns the reason why an engine must no longer wait for the last process of the command, or NULL
 * if the engine may go on waiting.
 */
const char *engine_why_leave(const struct engine_run *run);

extern const struct engine engine_bpf;
extern const struct engine engine_notify;
extern const struct engine engine_ptrace;
