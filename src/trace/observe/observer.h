/*
 * observer - turns system calls into records.  This header describes the folder trace/observe.
 *
 * An engine shows the observer every call before the kernel executes it.  Files that the call will
 * change are saved first.  The observer does not learn whether the call succeeds.  It can usually
 * tell that from the state of the files.
 *
 *	observer.c    decides when a call is looked at: at once, or later beside the program
 *	syscalls.c    the table of calls: which arguments are paths, and what a call does to them
 *	effects.c     what each kind of call does to its files
 *	callview.c    which files a call names: reads the program's memory, asks for descriptors
 *	pathmap.c     every path under its one true name
 *	tracees.c     the processes and threads of the command
 *	missing.c     opens of files that do not exist yet, and may exist when the kernel looks
 *	mountwatch.c  file systems that are mounted during the trace
 *	ignore.c      which paths are not recorded
 *	recorder*.c   the records (recorder.h)
 *	unrecorded.c  where things without a record went
 *
 * Threads.  The engine's thread shows calls.  The backlog's thread turns calls that change nothing
 * into records while the program goes on.  The look queue's thread (recorder_look.c) looks at files
 * for the first time.  The saver's thread (trace/bundle) reads contents.
 *
 * Invariants:
 *
 * 1. The path map, the processes and the records belong to the backlog's thread, except while the
 *    engine's thread holds the backlog.
 * 2. A call that may change something is looked at when the backlog is empty, and goes on when the
 *    look queue is empty, too.
 * 3. A file is changed only after the saver has its content.
 * 4. If something cannot be known or saved, that becomes a reason, and the bundle is incomplete.
 */
#pragma once
#include <stdint.h>
#include <sys/types.h>

#include "core/workqueue.h"
#include "trace/observe/callview.h"

struct observer {
	struct callview_shared shared;
	pid_t caller;             /* the process that made the last examined call */
	char mounts[64];          /* strata's mount namespace, as the link in /proc names it */
	_Atomic int new_names;    /* score of how many of the last names were new */
	struct workqueue backlog; /* waiting calls, each as a struct deferred_call */
};

/* Prepare an observer.  The other arguments are borrowed. */
void observer_init(struct observer *observer, struct recorder *recorder, struct tracees *tracees,
	struct reasons *reasons);
void observer_release(struct observer *observer);
/*
 * Note that the process pid is about to execute the command argv.  The program is looked up now.
 * Later, strata may not be allowed to look into the process, since the process may have changed its
 * user id before it executes the command.
 */
void observer_starts(struct observer *observer, pid_t pid, char *const *argv);
/* Note that the command is started with the descriptor fd. */
void observer_inherits(struct observer *observer, int fd);
/*
 * Examine a call that has stopped.  Returns the number of the saver's job that must be done before
 * the call goes on, or 0.
 */
uint64_t observer_see(struct observer *observer, const struct traced_call *call);
/*
 * Examine a call that changes nothing and has passed.  The engine must report all passed calls
 * before it reports the next call that has stopped.
 */
void observer_see_passed(struct observer *observer, const struct passed_call *passed);
/*
 * Note that the last passed call of a thread has succeeded with this result.  closes is as in
 * struct passing_event.
 */
void observer_see_success(struct observer *observer, pid_t tid, int result, uint64_t closes);
/*
 * Examine all calls that wait in the backlog.  Called before a call that waited for the saver goes
 * on.
 */
void observer_catch_up(struct observer *observer);
/* Note the processes that have ended.  Called when tracees_fd is readable. */
void observer_reap(struct observer *observer);
/*
 * End the observation after the last call.  From then on the path map and the recorder belong to
 * the caller.
 */
void observer_finish(struct observer *observer);
/*
 * Note the status with which the process of the command has ended.  Called after observer_finish.
 */
void observer_ended(struct observer *observer, pid_t pid, int status);
