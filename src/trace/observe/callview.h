/* callview - a system call that is being turned into records, and the files that the call names. */
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "trace/observe/missing.h"
#include "trace/observe/mountwatch.h"
#include "trace/observe/recorder.h"
#include "trace/observe/syscalls.h"
#include "trace/observe/tracees.h"

#define CALLVIEW_PATH_MAX 65536 /* a longer path is not recorded */
#define CALLVIEW_LAST 1024

struct passing; /* the state of the bpf engine, which lets calls pass without a stop */

/* A system call as an engine sees it. */
struct traced_call {
	pid_t tid;
	uint32_t arch; /* AUDIT_ARCH_* */
	uint32_t nr;
	uint64_t args[6];
};

/* A call that has passed: it was not stopped, and the program has already gone on. */
struct passed_call {
	struct traced_call call;
	struct tracees_ids ids;
	struct str path;       /* ends with a NUL, which is not counted */
	uint64_t task, closes; /* see struct passing_event */
};

/*
 * A call that waits in the backlog, with its path and the base of a relative path.  The base is
 * either an entry ('base') or the name of the file behind a descriptor (in 'text').
 */
struct deferred_call {
	struct traced_call call;
	const struct syscalls_call *about;
	pid_t pid;
	uint32_t process;
	struct pathmap_entry *base;
	bool passed;           /* the call was not stopped, and 'task' and 'closes' are set */
	uint64_t task, closes; /* as in struct passed_call */
	size_t text_len, base_len;
	char text[2 * PATH_MAX]; /* the path and the base, each with a NUL at its end */
};

/* The data that are kept about the last passed call of a thread. */
struct callview_last {
	pid_t tid;
	struct record *record; /* the record that was made for the call, or NULL */
	/* record of the file to be opened if it did not exist, or NULL */
	struct record *missing;
	uint32_t process; /* index of the thread's process */
	/* entry of the opened file; NULL: no file was opened, or the file has no name */
	struct pathmap_entry *opened;
	int fd;          /* descriptor of the opened file if the call has succeeded, else -1 */
	uint64_t closes; /* as in struct passing_event, at the time when the call succeeded */
};

/* Data that the views of all calls share.  The observer owns them. */
struct callview_shared {
	struct pathmap *map;
	struct recorder *recorder;
	struct tracees *tracees;
	struct reasons *reasons;
	bool by_ptrace; /* the engine is ptrace */
	/* files are not examined, since strata and the command would wait for each other */
	bool blind;
	/* a process has called chroot, so the root of each process has to be looked up */
	bool roots;
	/* the process that will execute the command; 0: it has executed the command */
	pid_t command;
	struct mountwatch mountwatch;
	/* files that did not exist when a stopped call named them */
	struct missing missing;
	struct callview_last last[CALLVIEW_LAST]; /* the index is tid modulo CALLVIEW_LAST */
	/*
	 * has_open returns whether a thread has kept a descriptor open since an event.  passing is
	 * NULL if the engine lets no calls pass.
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
	/* NULL: the call has stopped, so the program can be examined */
	const struct deferred_call *deferred;
	struct pathmap_entry *resolved; /* the entry that the last resolved path has led to */
	bool in_root; /* the call confines its path to the directory of its descriptor */
	/* result: number of the saver's job that must be done before the call goes on; 0: none */
	uint64_t job;
	/*
	 * result: the record of the file to be opened or executed if it does not exist, and the
	 * operations that the call would do to it
	 */
	struct record *missing;
	unsigned missing_ops;
	bool may_change; /* result: the call may change a file or the meaning of a name */
};

int callview_argument(const struct callview *view, int8_t index);
unsigned callview_flags(const struct callview *view);
/* Whether the call follows a symbolic link that is the last name of its path. */
bool callview_follows(const struct callview *view);
/* Make the bundle incomplete, since strata may not look into the process that makes the call. */
void callview_add_closed_reason(struct callview *view);

/*
 * Return the entry of a file that the call names.  Return NULL if the file has no name, or if the
 * name cannot be found out.
 */
struct pathmap_entry *callview_first(struct callview *view);
struct pathmap_entry *callview_second(struct callview *view);
struct pathmap_entry *callview_named(struct callview *view, int8_t dirfd, int8_t path, bool follow);
struct pathmap_entry *callview_resolve(struct callview *view, int fd, struct str path, bool follow);
/*
 * Get the state of the file behind the descriptor that the call names.  This works even if the name
 * of the file has been removed.  Returns false if the state is not available.
 */
bool callview_nameless(struct callview *view, struct statx *stx);

/*
 * Check a file that has been opened for reading.  If the call did not wait until the content was
 * saved, and the file may be written under a name without a record, the saved content is
 * uncertain.  Then the bundle becomes incomplete.
 */
void callview_check_written_unseen(
	struct callview *view, const struct record *record, const struct statx *stx);

/*
 * Fill deferred with all data of the waiting program that a view of the call will need.  Returns
 * the size of the filled part.  Returns 0 if more data may be needed later, so that the call cannot
 * be deferred.
 */
size_t callview_defer(const struct callview_shared *shared, const struct tracee *tracee,
	const struct traced_call *call, const struct syscalls_call *about,
	struct deferred_call *deferred);
/*
 * Fill deferred for a call that has passed.  Returns the size of the filled part.  *lacks_base is
 * set if the path is relative and its base is not known.  The caller then holds the backlog and
 * calls callview_find_base.
 */
size_t callview_defer_passed(const struct callview_shared *shared, const struct tracee *tracee,
	const struct passed_call *passed, const struct syscalls_call *about,
	struct deferred_call *deferred, bool *lacks_base);
/*
 * Find the base of the path of a deferred call.  Returns whether it was found.  If the process is
 * gone, so that the base cannot be found, the bundle becomes incomplete.
 */
bool callview_find_base(struct callview *view, struct deferred_call *deferred);
/* Whether the path may lead to another file after the program has gone on. */
bool callview_is_fleeting(const struct deferred_call *deferred);
/*
 * Remember the working directory of the process, if its first thread makes the call.  The directory
 * cannot be looked up after the process has been killed, but may be needed for calls that have
 * passed.
 */
void callview_remember_cwd(struct callview *view);
