/*
 * observer - turns system calls into records.  This header describes the folder trace/observe.
 *
 * An engine shows the observer every call before the kernel executes it.  Files that the call will
 * change are saved first.  The observer does not learn whether the call succeeds.  It can usually
 * tell from the present state of the files.
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
	pid_t caller;             /* the process whose call was seen last */
	char mounts[64];          /* our mount namespace, as /proc names it */
	_Atomic int new_names;    /* a score: how many of the last names were new */
	struct workqueue backlog; /* of struct deferred_call */
};

/* Everything is borrowed. */
void observer_init(struct observer *observer, struct recorder *recorder, struct tracees *tracees,
	struct reasons *reasons);
void observer_release(struct observer *observer);
/*
 * This process is about to execute the command.  Until then we may not be allowed to look into it,
 * since it may have changed its ids.  So the program is looked up here, and not when it is
 * executed.
 */
void observer_starts(struct observer *observer, pid_t pid, char *const *argv);
/* The command is started with this descriptor. */
void observer_inherits(struct observer *observer, int fd);
/* A call has stopped.  Returns the saver's job to be done before the call goes on; 0: none. */
uint64_t observer_see(struct observer *observer, const struct traced_call *call);
/*
 * A call that changes nothing has passed.  The engine must show all calls that have passed before
 * it shows the next call that has stopped.
 */
void observer_see_passed(struct observer *observer, const struct passed_call *passed);
/* The thread's last call that passed has succeeded, with this result. */
void observer_see_success(struct observer *observer, pid_t tid, int result, uint64_t closes);
/* Finish looking at all calls so far, since a call that waited for the saver goes on next. */
void observer_catch_up(struct observer *observer);
/* Processes have ended: tracees_fd is readable. */
void observer_reap(struct observer *observer);
/* No more calls come.  The path map and the recorder belong to the caller from now on. */
void observer_finish(struct observer *observer);
/* After observer_finish: the command's process has ended with this status. */
void observer_ended(struct observer *observer, pid_t pid, int status);
