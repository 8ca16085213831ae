/*
 * callview - the view of one system call that is being turned into records: its arguments, and the
 * files that it names.
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

#define CALLVIEW_PATH_MAX 65536 /* a longer path is not recorded */
#define CALLVIEW_LAST 1024

struct passing; /* the state of the engine bpf, which lets calls pass without stopping them */

/* A system call as an engine sees it. */
struct traced_call {
	pid_t tid;
	uint32_t arch; /* AUDIT_ARCH_* */
	uint32_t nr;
	uint64_t args[6];
};

/* A call that has passed: it was not stopped, and the program may be past it already. */
struct passed_call {
	struct traced_call call;
	struct tracees_ids ids;
	struct str path;       /* ends with a NUL, which is not counted */
	uint64_t task, closes; /* see struct passing_event */
};

/*
 * A call that waits in the backlog.  It has the path of the call, and the base at which a relative
 * path begins.  The base is either an entry ('base'), or the path of the file behind a descriptor
 * (in 'text').
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
	/* the path, and the base if it is a path, each with a NUL at its end */
	char text[2 * PATH_MAX];
};

/* The data that are kept about the last passed call of a thread. */
struct callview_last {
	pid_t tid;
	struct record *record; /* the record that was made for the call, or NULL */
	/* record of the opened file if it was missing before the call, or NULL */
	struct record *missing;
	uint32_t process; /* index of the thread's process */
	/* entry of the opened file; NULL: the call does not open a file, or the file has no name */
	struct pathmap_entry *opened;
	int fd;          /* descriptor of the opened file if the call has succeeded, else -1 */
	uint64_t closes; /* value of passing_event.closes when the call succeeded */
};

/* Data that the views of all calls share.  The observer owns them. */
struct callview_shared {
	struct pathmap *map;
	struct recorder *recorder;
	struct tracees *tracees;
	struct reasons *reasons;
	bool by_ptrace; /* the engine is ptrace */
	/* strata may not examine files, since it and the command would wait for each other */
	bool blind;
	/* a process has called chroot, so the root of each process has to be looked up */
	bool roots;
	/* the process that will execute the command; 0: the command has been executed */
	pid_t command;
	struct mountwatch mountwatch;
	/* files that did not exist when a stopped call named them */
	struct missing missing;
	struct callview_last last[CALLVIEW_LAST]; /* the index is tid modulo CALLVIEW_LAST */
	/*
	 * has_open returns whether a thread has kept a descriptor open since a given event.
	 * 'passing' is NULL if the engine stops every call.
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
	/* NULL: the call is stopped, so the program can be examined */
	const struct deferred_call *deferred;
	struct pathmap_entry *resolved; /* the entry to which the last resolved path has led */
	bool in_root; /* the path of the call cannot leave the directory of the descriptor */
	/* result: number of the saver's job that must be done before the call goes on; 0: none */
	uint64_t job;
	/*
	 * result: record of the file to be opened or executed, if the file does not exist; and the
	 * operations that the call would do to the file
	 */
	struct record *missing;
	unsigned missing_ops;
	bool may_change; /* result: the call may change a file or the meaning of a name */
};

int callview_argument(const struct callview *view, int8_t index);
unsigned callview_flags(const struct callview *view);
/* Whether the call follows a symbolic link that is the last name of its path. */
bool callview_follows(const struct callview *view);
/* Make the bundle incomplete, since strata may not look into the calling process. */
void callview_add_closed_reason(struct callview *view);

/*
 * Return the pathmap entry of a file to which the call refers, by a path or by a descriptor. Return
 * NULL if no path leads to the file any more, or if the path cannot be found out.
 */
struct pathmap_entry *callview_first(struct callview *view);
struct pathmap_entry *callview_second(struct callview *view);
struct pathmap_entry *callview_named(struct callview *view, int8_t dirfd, int8_t path, bool follow);
struct pathmap_entry *callview_resolve(struct callview *view, int fd, struct str path, bool follow);
/*
 * Get the state of the file behind the call's descriptor.  This works even if the name of the file
 * has been removed.  Returns false if the state is not available.
 */
bool callview_nameless(struct callview *view, struct statx *stx);

/*
 * Check a file that has been opened for reading by a call that did not wait for the saver.  If the
 * command may be writing the file under a name without a record, the saved content is uncertain,
 * and the bundle becomes incomplete.
 */
void callview_check_written_unseen(
	struct callview *view, const struct record *record, const struct statx *stx);

/*
 * Fill *deferred with all data of the waiting program that are needed to turn the call into records
 * later.  Returns the size of the filled part.  Returns 0 if more data might be needed later, so
 * that the call cannot be deferred.
 */
size_t callview_defer(const struct callview_shared *shared, const struct tracee *tracee,
	const struct traced_call *call, const struct syscalls_call *about,
	struct deferred_call *deferred);
/*
 * Fill *deferred for a call that has passed.  Returns the size of the filled part.  If the path is
 * relative and its base is not known, *lacks_base is set.  The caller must then hold the backlog
 * and call callview_find_base.
 */
size_t callview_defer_passed(const struct callview_shared *shared, const struct tracee *tracee,
	const struct passed_call *passed, const struct syscalls_call *about,
	struct deferred_call *deferred, bool *lacks_base);
/*
 * Find the base of the path of a deferred call.  Returns true if it was found.  If the base cannot
 * be found because the process is gone, the bundle becomes incomplete.
 */
bool callview_find_base(struct callview *view, struct deferred_call *deferred);
/* Whether the path of a deferred call may lead to another file when the program has gone on. */
bool callview_is_fleeting(const struct deferred_call *deferred);
/*
 * Remember the working directory of the calling process if its first thread makes the call.  A
 * passed call may be examined after the process was killed.  Then the directory can no longer be
 * looked up.
 */
void callview_remember_cwd(struct callview *view);
