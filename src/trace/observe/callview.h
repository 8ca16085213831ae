/*
 * callview - a system call that is being turned into records, and the files that it names.
 */
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "trace/observe/missing.h"
#include "trace/observe/mountwatch.h"
#include "trace/observe/recorder.h"
#include "trace/observe/syscalls.h"
#include "trace/observe/tracees.h"

#define CALLVIEW_PATH_MAX 65536 /* longer paths are in no bundle */
#define CALLVIEW_LAST 1024

struct passing; /* the state of the bpf engine, which lets calls pass without a stop */

/* A call as an engine sees it. */
struct traced_call {
	pid_t tid;
	uint32_t arch; /* AUDIT_ARCH_* */
	uint32_t nr;
	uint64_t args[6];
};

/* A call that was not stopped, so the program has gone on. */
struct passed_call {
	struct traced_call call;
	struct tracees_ids ids;
	struct str path;       /* NUL-terminated */
	uint64_t task, closes; /* see struct passing_event */
};

/*
 * A call that waits in the backlog, with its path and with the base of a relative path.  The base
 * is an entry (base), or the name of the file behind a descriptor (in text).
 */
struct deferred_call {
	struct traced_call call;
	const struct syscalls_call *about;
	pid_t pid;
	uint32_t process;
	struct pathmap_entry *base;
	bool passed;           /* the call has passed, so task and closes are set */
	uint64_t task, closes; /* as in struct passed_call */
	size_t text_len, base_len;
	char text[2 * PATH_MAX]; /* path and base, each with a NUL at its end */
};

/* What is remembered of the last of a thread's calls that have passed. */
struct callview_last {
	pid_t tid;
	struct record *record;        /* the record that the call made, or NULL */
	struct record *missing;       /* if the file to open did not exist: its record */
	uint32_t process;             /* index of its process */
	struct pathmap_entry *opened; /* entry of the opened file; NULL: none, or it has no name */
	int fd;          /* descriptor of the file, once the call has succeeded; else -1 */
	uint64_t closes; /* as in struct passing_event, when the call succeeded */
};

/* Shared by the views of all calls.  The observer owns it. */
struct callview_shared {
	struct pathmap *map;
	struct recorder *recorder;
	struct tracees *tracees;
	struct reasons *reasons;
	bool by_ptrace; /* calls are caught by ptrace */
	/* files are not looked at, since the command and we would wait for each other */
	bool blind;
	bool roots;    /* a process has called chroot, so roots have to be looked up */
	pid_t command; /* the process that will execute the command; 0: it has done so */
	struct mountwatch mountwatch;
	struct missing missing;                   /* files that a stopped call did not find */
	struct callview_last last[CALLVIEW_LAST]; /* the index is tid modulo CALLVIEW_LAST */
	/*
	 * has_open asks the engine whether a thread has kept a descriptor open since an event.  If
	 * passing is NULL, no calls pass.
	 */
	const struct passing *passing;
	bool (*has_open)(
		const struct passing *passing, uint64_t task, uint64_t closes, unsigned fd);
};

struct callview {
	struct callview_shared *shared;
	struct recorder *recorder;
	struct tracee *tracee;
	const struct traced_call *call;
	const struct syscalls_call *about;
	const struct deferred_call *deferred; /* NULL: the program waits, so it can be examined */
	struct pathmap_entry *resolved;       /* the entry that the last resolved path led to */
	bool in_root; /* a path cannot leave the directory that the call names */
	uint64_t job; /* result: number of the job that the saver must do before the call */
	/*
	 * result: the record of the file to open or execute, if that file does not exist, and what
	 * the call would do to it
	 */
	struct record *missing;
	unsigned missing_ops;
	bool may_change; /* result: the call may change a file or the meaning of a name */
};

int callview_argument(const struct callview *view, int8_t index);
unsigned callview_flags(const struct callview *view);
/* Whether the call follows a link that is the last name of its path. */
bool callview_follows(const struct callview *view);
/* Make the bundle incomplete, since we may not look into the process that makes the call. */
void callview_add_closed_reason(struct callview *view);

/*
 * Return the entry of a file that the call names, or NULL if the file has no name, or if its name
 * cannot be known.
 */
struct pathmap_entry *callview_first(struct callview *view);
struct pathmap_entry *callview_second(struct callview *view);
struct pathmap_entry *callview_named(struct callview *view, int8_t dirfd, int8_t path, bool follow);
struct pathmap_entry *callview_resolve(struct callview *view, int fd, struct str path, bool follow);
/*
 * Get the state of the file behind the descriptor that the call names, even if the name of the file
 * is gone.  Returns false if that is not possible.
 */
bool callview_nameless(struct callview *view, struct statx *stx);

/*
 * Check a file that was opened for reading.  If the call did not wait for us, and the file may be
 * written under a name without a record, the saved content is uncertain, and the bundle becomes
 * incomplete.
 */
void callview_check_written_unseen(
	struct callview *view, const struct record *record, const struct statx *stx);

/*
 * Fill deferred with all that a view will need from the waiting program.  Returns its length, or 0
 * if the view will have to read more, so that the call cannot be deferred.
 */
size_t callview_defer(const struct callview_shared *shared, const struct tracee *tracee,
	const struct traced_call *call, const struct syscalls_call *about,
	struct deferred_call *deferred);
/*
 * Fill deferred for a call that has passed.  Returns its length.  *lacks_base is set if the path is
 * relative and its base is not known.  Then callview_find_base has to be called while the backlog
 * is held.
 */
size_t callview_defer_passed(const struct callview_shared *shared, const struct tracee *tracee,
	const struct passed_call *passed, const struct syscalls_call *about,
	struct deferred_call *deferred, bool *lacks_base);
/*
 * Look up the base of a deferred call, and return whether it was found.  If it cannot be found
 * because the process is gone, the bundle becomes incomplete.
 */
bool callview_find_base(struct callview *view, struct deferred_call *deferred);
/* Whether the path may lead to another file once the program has gone on. */
bool callview_is_fleeting(const struct deferred_call *deferred);
/*
 * Remember the working directory of the process if its first thread makes the call.  After the
 * process was killed, the directory cannot be looked up any more, but may be needed for calls that
 * have passed.
 */
void callview_remember_cwd(struct callview *view);
