/*
 * callview - one system call while it is turned into records, and the files that it names.
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

struct passing; /* of the engine that lets calls pass */

/* A call as an engine sees it. */
struct traced_call {
	pid_t tid;
	uint32_t arch; /* AUDIT_ARCH_* */
	uint32_t nr;
	uint64_t args[6];
};

/* A call that was not stopped: the program has gone on. */
struct passed_call {
	struct traced_call call;
	struct tracees_ids ids;
	struct str path;       /* NUL-terminated */
	uint64_t task, closes; /* see struct passing_event */
};

/*
 * A call that waits in the backlog: with the path that it names, and with what a relative path
 * begins at.  That is an entry, or the name of the file behind a descriptor.
 */
struct deferred_call {
	struct traced_call call;
	const struct syscalls_call *about;
	pid_t pid;
	uint32_t process;
	struct pathmap_entry *base;
	bool passed;           /* the call was not stopped: */
	uint64_t task, closes; /* as in struct passed_call */
	size_t text_len, base_len;
	char text[2 * PATH_MAX]; /* path and base, each with a NUL */
};

/* The last call of a thread that has passed. */
struct callview_last {
	pid_t tid;
	struct record *record;        /* that the call made, if any */
	struct record *missing;       /* of the file that the call opens, if it was not there */
	uint32_t process;             /* index */
	struct pathmap_entry *opened; /* NULL: the file has no name, or was not opened */
	int fd;                       /* of the file, once the call has succeeded; else -1 */
	uint64_t closes;              /* at that time */
};

/* What the views of all calls share.  The observer has it. */
struct callview_shared {
	struct pathmap *map;
	struct recorder *recorder;
	struct tracees *tracees;
	struct reasons *reasons;
	bool by_ptrace; /* calls are caught by ptrace */
	bool blind;     /* looking at a file would wait for the command for ever */
	bool roots;     /* a process has called chroot: ask for the root each time */
	pid_t command;  /* the process that will execute the command; 0: it has done so */
	struct mountwatch mountwatch;
	struct missing missing;                   /* opens by calls that stop */
	struct callview_last last[CALLVIEW_LAST]; /* by tid */
	/* The engine's record of descriptors and how to ask it; NULL: no calls pass. */
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
	const struct deferred_call *deferred; /* NULL: the program waits, and can be asked */
	struct pathmap_entry *resolved; /* the last path, unless it was a descriptor's alone */
	bool in_root;                   /* paths cannot leave the directory that the call names */
	uint64_t number;                /* result: the saver's job that must be done first */
	struct record *missing; /* result: of the file that the call opens, if it is not there */
	bool may_change;        /* result: a file, or what a name stands for, may change */
};

int callview_argument(const struct callview *view, int8_t index);
unsigned callview_flags(const struct callview *view);
/* Whether the call follows a link as the last name. */
bool callview_follows(const struct callview *view);
/* The process cannot be looked into: note that its trace is not complete. */
void callview_add_closed_reason(struct callview *view);

/* The files that a call names; NULL: the file has no name, or it cannot be known. */
struct pathmap_entry *callview_first(struct callview *view);
struct pathmap_entry *callview_second(struct callview *view);
struct pathmap_entry *callview_named(struct callview *view, int8_t dirfd, int8_t path, bool follow);
struct pathmap_entry *callview_resolve(struct callview *view, int fd, struct str path, bool follow);
/* The file behind the descriptor that the call names, if that file has no name any more. */
bool callview_nameless(struct callview *view, struct statx *stx);

/*
 * The file was opened to be read.  Note if the call did not wait for us while others may write to
 * the file.
 */
void callview_check_written_unseen(
	struct callview *view, const struct record *record, const struct statx *stx);

/* What is known of the thread's last call that has passed; NULL: nothing. */
const struct callview_last *callview_last_of(const struct callview_shared *shared, pid_t tid);

/*
 * Read from the waiting program what a view needs later.  Returns the length of deferred; 0: the
 * view will have to ask the program for more, so the call cannot be deferred.
 */
size_t callview_defer(const struct callview_shared *shared, const struct tracee *tracee,
	const struct traced_call *call, const struct syscalls_call *about,
	struct deferred_call *deferred);
/*
 * The same for a call that has passed.  lacks_base: it is not known where the path begins, so
 * callview_find_base has to be called while the backlog is held.
 */
size_t callview_defer_passed(const struct callview_shared *shared, const struct tracee *tracee,
	const struct passed_call *passed, const struct syscalls_call *about,
	struct deferred_call *deferred, bool *lacks_base);
/* Whether the base is known now.  If it should be and is not, that becomes a reason. */
bool callview_find_base(struct callview *view, struct deferred_call *deferred);
/* Whether the path may lead to something else once the program has gone on. */
bool callview_is_fleeting(const struct deferred_call *deferred);
/*
 * Remember the working directory of a process that has only this thread.  Calls of it may pass, and
 * after it has been killed it cannot be asked.
 */
void callview_remember_cwd(struct callview *view);
