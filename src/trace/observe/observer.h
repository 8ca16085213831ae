/*
 * observer - turns system calls into records.  This header describes the folder trace/observe.
 *
 * An engine shows the observer every call.  A call that may change something is shown before the
 * kernel executes it, and the files that it will change are saved first.  The observer is rarely
 * told whether a call has succeeded.  The state of the files afterwards usually shows this.
 *
 *	observer.c    decides when a call is examined: at once, or while the program goes on
 *	syscalls.c    the table of calls: which arguments are paths, and what kind of call it is
 *	effects.c     what each kind of call does to its files
 *	callview.c    which files a call names: reads the program's memory and its descriptors
 *	pathmap.c     gives every path in its canonical form
 *	tracees.c     the processes and threads of the command
 *	missing.c     files that did not exist when a call was examined, but may exist when the
 *	              kernel executes the call
 *	mountwatch.c  file systems that are mounted during the trace
 *	ignore.c      which paths are not recorded
 *	recorder*.c   the records (recorder.h)
 *	unrecorded.c  where files and directories without a record were moved
 *
 * Threads.  The engine's thread shows calls.  The backlog's thread turns calls that change nothing
 * into records while the program goes on.  The look queue's thread (recorder_look.c) looks at files
 * for the first time.  The saver's thread (trace/bundle) reads contents.
 *
 * Invariants:
 *
 * 1. The path map, the processes and the records belong to the backlog's thread, except while the
 *    engine's thread holds the backlog.
 * 2. A call that may change something is examined when the backlog is empty.  It goes on when the
 *    look queue is empty, too.
 * 3. A file is changed only after the saver has its content.
 * 4. If something cannot be known or saved, the bundle is marked as incomplete, with a reason.
 */
#pragma once
#include <stdint.h>
#include <sys/types.h>

#include "core/workqueue.h"
#include "trace/observe/callview.h"

struct observer {
	struct callview_shared shared;
	pid_t caller;             /* the process that made the last examined call */
	char mounts[64];          /* mount namespace of strata, as the link in /proc names it */
	_Atomic int new_names;    /* score of how many recent names were new; see observer.c */
	struct workqueue backlog; /* waiting calls, each as a struct deferred_call */
};

/* Prepare an observer.  recorder, tracees and reasons are borrowed. */
void observer_init(struct observer *observer, struct recorder *recorder, struct tracees *tracees,
	struct reasons *reasons);
void observer_release(struct observer *observer);
/*
 * Record that the process pid is about to execute the command argv.  The program is looked up now,
 * because strata may not be allowed to look into the process later: the process may change its user
 * id before it executes the command.
 */
void observer_starts(struct observer *observer, pid_t pid, char *const *argv);
/* Record that the command is started with the descriptor fd. */
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
 * Record that the last passed call of a thread has succeeded with this result.  The parameter
 * closes is the value of passing_event.closes at that time.
 */
void observer_see_success(struct observer *observer, pid_t tid, int result, uint64_t closes);
/*
 * Examine all calls that wait in the backlog.  To be called before a call that waited for the saver
 * goes on.
 */
void observer_catch_up(struct observer *observer);
/* Record which processes have ended.  To be called when tracees_fd is readable. */
void observer_reap(struct observer *observer);
/*
 * End the observation after the last call.  Afterwards the path map and the recorder belong to the
 * caller.
 */
void observer_finish(struct observer *observer);
/*
 * Record the status with which the process of the command has ended.  To be called after
 * observer_finish.
 */
void observer_ended(struct observer *observer, pid_t pid, int status);
