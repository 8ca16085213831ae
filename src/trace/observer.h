/*
 * observer - turns system calls, as an engine sees them coming, into records.
 *
 * What a call will change is kept before it does.  A call that changes nothing may be over
 * when it is looked at (backlog).  Whether it succeeds is not known, but what is there now usually
 * tells.
 */
#pragma once
#include <stdint.h>
#include <sys/types.h>

#include "trace/backlog.h"
#include "trace/missing.h"
#include "trace/mountwatch.h"
#include "trace/passing.h"
#include "trace/recorder.h"
#include "trace/tracees.h"

#define OBSERVER_MADE 1024

/* What the last call of a thread that has passed was about. */
struct observer_made {
	pid_t tid;
	struct record *record;        /* that it has made, if any */
	struct record *missing;       /* that it was to open, if that was not there */
	uint32_t process;             /* index */
	struct pathmap_entry *opened; /* NULL: it has no name, or was only looked at */
	int fd;                       /* by this descriptor, if it is over; else -1 */
	uint64_t closes;              /* at that time, see passing.h */
};

struct observer {
	struct pathmap *map;
	struct recorder *recorder;
	struct tracees *tracees;
	struct reasons *reasons;
	bool blind;     /* to look would be to wait for ever */
	bool by_ptrace; /* that is how calls are caught */
	pid_t command;  /* the process that will execute the command; 0: it has */
	pid_t caller;   /* the process whose call was seen last */
	bool roots;     /* somebody has called chroot: ask each time */
	char mounts[64];
	struct mountwatch mountwatch;
	_Atomic int news;                         /* many: of the last names many were new */
	const struct passing *passing;            /* NULL: no calls pass */
	struct observer_made made[OBSERVER_MADE]; /* by tid; as map and recorder */
	struct missing missing;                   /* of calls that stop; as map and recorder */
	struct backlog backlog; /* all of map and recorder is its, unless it is held */
};

struct observer_call {
	pid_t tid;
	uint32_t arch; /* AUDIT_ARCH_* */
	uint32_t nr;
	uint64_t args[6];
};

/* A call that was not stopped: the program has gone on. */
struct observer_passed {
	struct observer_call call;
	struct tracees_ids ids;
	struct str path;       /* NUL-terminated */
	uint64_t task, closes; /* see passing.h */
};

/* Everything is borrowed. */
void observer_init(struct observer *observer, struct recorder *recorder, struct tracees *tracees,
	struct reasons *reasons);
void observer_release(struct observer *observer);
/*
 * This process is about to execute the command.  Until then it may be closed to us: whoever has
 * changed its ids is.  So what it will execute is looked up here.
 */
void observer_starts(struct observer *observer, pid_t pid, char *const *argv);
/* A descriptor that the command is started with. */
void observer_inherits(struct observer *observer, int fd);
/* The number of the saver's job that must be done before the call may go on; 0: none. */
uint64_t observer_see(struct observer *observer, const struct observer_call *call);
/*
 * The same of a call that changes nothing and has passed.  Before any call that was stopped is
 * seen, all that had passed by then have to be.
 */
void observer_see_passed(struct observer *observer, const struct observer_passed *passed);
/* The last call of the thread that has passed was a success: its result. */
void observer_see_success(struct observer *observer, pid_t tid, int result, uint64_t closes);
/* For who sees; NULL: nothing is known. */
const struct observer_made *observer_made_by(const struct observer *observer, pid_t tid);
/* What was seen up to now has been looked at: a call that had to wait for the saver may go on. */
void observer_catch_up(struct observer *observer);
/* Processes have ended: tracees_fd can be read. */
void observer_reap(struct observer *observer);
/* No call comes any more: map and recorder are the caller's. */
void observer_finish(struct observer *observer);
/* After that: how the command, whose process is pid, has ended. */
void observer_ended(struct observer *observer, pid_t pid, int status);
