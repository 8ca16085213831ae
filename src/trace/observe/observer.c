#include "trace/observe/observer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/at.h"
#include "core/own.h"
#include "core/procfile.h"
#include "core/when.h"
#include "sandbox/bpf.h"
#include "sandbox/program.h"
#include "sandbox/threadview.h"
#include "trace/observe/effects.h"

/*
 * Limits of the backlog in bytes.  The greater limit is for passed calls, which were not stopped.
 * Their programs do not wait for the backlog, so more of these calls may be in it.
 */
#define BACKLOG_MAX ((size_t)1 << 20)
#define BACKLOG_PASSED_MAX ((size_t)192 << 20) /* below the maximum size of a buffer */
#define BACKLOG_PAUSE_NS WHEN_MS
/*
 * When the backlog has this many bytes, its thread is woken.  The thread is not woken for each
 * call, since one wake-up costs as much as many calls.
 */
#define BACKLOG_ENOUGH ((size_t)32 << 10)

/*
 * The score new_names shows how many of the recent names were new.  A new name adds NEW_NAMES_ONE
 * to it, and a known name subtracts 1.
 */
#define NEW_NAMES_MAX 64
#define NEW_NAMES_ONE 8
#define NEW_NAMES_MANY 16 /* from this score on, calls are deferred */

static struct callview make_view(struct observer *observer, struct tracee *tracee,
	const struct traced_call *call, const struct syscalls_call *about,
	const struct deferred_call *deferred)
{
	return (struct callview){
		.shared = &observer->shared,
		.recorder = observer->shared.recorder,
		.tracee = tracee,
		.call = call,
		.about = about,
		.deferred = deferred,
	};
}

static void check_mounts(struct observer *observer, struct tracee *tracee)
{
	char mounts[PATH_MAX];

	tracee->new_mounts = false;
	if (threadview_link(tracee->tid, "ns/mnt", mounts) > 0 && strcmp(mounts, observer->mounts))
		reasons_add(observer->shared.reasons,
			"process %d has its own mounts: its paths may stand for other files",
			(int)tracee->pid);
}

/*
 * Hold the backlog, so that this thread may use the path map and the records.  The tracee has begun
 * its next call, so its last call is over: settle the names that the last call has changed.
 */
static void hold_names(struct observer *observer, struct tracee *tracee)
{
	struct callview_shared *shared = &observer->shared;

	workqueue_hold(&observer->backlog);
	mountwatch_look(&shared->mountwatch, shared->map, shared->reasons);
	for (int i = 0; i < 2; i++)
		if (tracee->unsettled[i])
			recorder_name_settle(shared->recorder, tracee->unsettled[i]);
	tracees_settle(shared->tracees, tracee, shared->map);
}

/*
 * Keep data about a passed call, as the last call of its thread.  n_before is the number of records
 * before the call was examined.
 */
static void note_last_passed(const struct callview *view, size_t n_before)
{
	const struct recorder *recorder = view->recorder;
	pid_t tid = view->tracee->tid;

	view->shared->last[(unsigned)tid % CALLVIEW_LAST] = (struct callview_last){
		.tid = tid,
		.record = recorder->n_records > n_before ? recorder->records : NULL,
		.missing = view->missing,
		.process = view->tracee->process,
		.opened = view->about->does == SYSCALLS_OPEN ? view->resolved : NULL,
		.fd = -1,
	};
}

static void note_effects(struct observer *observer, struct callview *view)
{
	struct recorder *recorder = view->recorder;
	size_t n_before = recorder->n_records;
	int new_names = observer->new_names;

	recorder->process = view->tracee->process;
	struct record *program = missing_over(&view->shared->missing, view->tracee->tid);
	if (program && !view->shared->blind)
		effects_note_execution(view, program->entry);
	effects_note(view);
	if (view->deferred && view->deferred->passed)
		note_last_passed(view, n_before);
	else if (view->missing)
		missing_add(&view->shared->missing, recorder, view->tracee->tid, view->missing,
			view->missing_ops);
	new_names += recorder->n_records > n_before ? NEW_NAMES_ONE : -1;
	observer->new_names = new_names < 0               ? 0
			      : new_names > NEW_NAMES_MAX ? NEW_NAMES_MAX
							  : new_names;
}

/* --- calls that are examined while the program goes on --- */

/*
 * Make the bundle incomplete, since a file that a process has used was removed before strata could
 * examine the file.
 */
static void add_missed_reason(const struct observer *observer, const struct record *record)
{
	/* No reason is given for files in /proc, which the kernel makes and removes at any time. */
	if (!record->ignored && !record->entry->procfs)
		reasons_add(observer->shared.reasons,
			"'%s' was there when a process used it, and gone when it was examined",
			record->path.ptr);
}

/*
 * Record that a thread has opened a file that did not exist when strata examined the path.  If an
 * examined call has removed the file in between, the state and the content of the file are known.
 * Otherwise the bundle becomes incomplete.
 */
static void note_found_file(struct observer *observer, const struct callview_last *last)
{
	struct recorder *recorder = observer->shared.recorder;
	struct record *record = last->missing;

	if (record == last->record || !record->changing || !record->before.exists) {
		add_missed_reason(observer, record);
		return;
	}
	recorder->process = last->process;
	recorder_note(recorder, record->entry, BUNDLE_READ);
}

static void note_success(struct observer *observer, pid_t tid, int result, uint64_t closes)
{
	struct callview_last *last = &observer->shared.last[(unsigned)tid % CALLVIEW_LAST];

	if (last->tid != tid)
		return;
	if (last->record)
		last->record->found = true;
	if (last->missing)
		note_found_file(observer, last);
	if (last->opened)
		last->fd = result;
	last->closes = closes;
}

/*
 * Handle an item of the backlog.  An item whose member 'about' is NULL is not a call: it reports
 * that the last call of the thread has succeeded.
 */
static void see_deferred(void *arg, const void *item)
{
	struct observer *observer = arg;
	const struct deferred_call *deferred = item;
	struct tracee caller = {
		.tid = deferred->call.tid,
		.pid = deferred->pid,
		.process = deferred->process,
	};
	struct callview view =
		make_view(observer, &caller, &deferred->call, deferred->about, deferred);

	if (!deferred->about)
		note_success(observer, deferred->call.tid, (int)deferred->call.args[0],
			deferred->closes);
	else
		note_effects(observer, &view);
}

/*
 * Whether the call can be deferred.  The call must change nothing.  The previous call of its thread
 * must have changed no name, since a changed name is settled only when the thread makes its next
 * call.  If most of the recent names were known, no call is deferred: recording another use of a
 * known name takes less time than deferring the call.
 */
static bool can_defer(const struct observer *observer, const struct tracee *tracee,
	const struct traced_call *call, const struct syscalls_call *about)
{
	const struct callview_shared *shared = &observer->shared;

	if (observer->new_names < NEW_NAMES_MANY || shared->recorder->at_once || shared->blind ||
		shared->roots || shared->command || shared->mountwatch.on ||
		!tracees_is_settled(tracee))
		return false;
	return effects_can_wait(call, about);
}

/* Put the call into the backlog if it can be deferred.  Returns true if the call was put there. */
static bool try_defer(struct observer *observer, struct tracee *tracee,
	const struct traced_call *call, const struct syscalls_call *about)
{
	struct deferred_call deferred;

	if (!can_defer(observer, tracee, call, about))
		return false;
	size_t len = callview_defer(&observer->shared, tracee, call, about, &deferred);
	if (len)
		(void)workqueue_add(&observer->backlog, &deferred, len, BACKLOG_MAX);
	return len > 0;
}

/* --- calls that have passed --- */

void observer_see_passed(struct observer *observer, const struct passed_call *passed)
{
	struct callview_shared *shared = &observer->shared;
	const struct traced_call *call = &passed->call;
	const struct syscalls_call *about = syscalls_find(call->nr);
	struct deferred_call deferred;
	bool fresh, lacks_base;
	struct tracee *tracee = tracees_get(shared->tracees, call->tid, &passed->ids, &fresh);

	/*
	 * Skip a call of another architecture, because strata has examined it already when it
	 * stopped.  The tracepoint reports the call a second time, with a number that means another
	 * call on this architecture.
	 */
	bool foreign = tracee->foreign_nr == (uint64_t)call->nr + 1;
	tracee->foreign_nr = 0;
	if (shared->blind || foreign)
		return;
	if (fresh || tracee->new_mounts)
		check_mounts(observer, tracee);
	if (tracee->pid == shared->command)
		shared->command = 0;
	size_t len = callview_defer_passed(shared, tracee, passed, about, &deferred, &lacks_base);
	if (!lacks_base && can_defer(observer, tracee, call, about) &&
		!callview_is_fleeting(&deferred)) {
		(void)workqueue_add(&observer->backlog, &deferred, len, BACKLOG_PASSED_MAX);
		return;
	}
	struct callview view = make_view(observer, tracee, call, about, &deferred);
	hold_names(observer, tracee);
	if (!lacks_base || callview_find_base(&view, &deferred))
		note_effects(observer, &view);
}

void observer_see_success(struct observer *observer, pid_t tid, int result, uint64_t closes)
{
	const struct deferred_call success = {
		.call = { .tid = tid, .args = { (uint64_t)result } },
		.closes = closes,
	};

	if (observer->backlog.held)
		note_success(observer, tid, result, closes);
	else
		(void)workqueue_add(&observer->backlog, &success,
			offsetof(struct deferred_call, text), BACKLOG_PASSED_MAX);
}

/* --- calls that have stopped --- */

/* Handle a call that is not in the table.  Such a call may change anything. */
static void see_unknown(
	struct callview_shared *shared, struct tracee *tracee, const struct traced_call *call)
{
	if (call->arch != BPF_NATIVE_ARCH || call->nr & BPF_X32_BIT)
		reasons_add(shared->reasons,
			"process %d uses 32-bit system calls, which strata does not understand",
			(int)tracee->pid);
	/* This call appears only in a trace without a filter.  A filter refuses it. */
	else if (call->nr == SYS_io_uring_setup)
		reasons_add(shared->reasons,
			"process %d uses io_uring: what it does to files that way is not recorded",
			(int)tracee->pid);
	recorder_look_at_once(shared->recorder);
	tracees_forget_cwds(shared->tracees, tracee);
}

static uint64_t see_at_once(struct observer *observer, struct tracee *tracee,
	const struct traced_call *call, const struct syscalls_call *about)
{
	struct callview_shared *shared = &observer->shared;
	struct callview view = make_view(observer, tracee, call, about, NULL);

	hold_names(observer, tracee);
	tracee->foreign_nr = call->arch == BPF_NATIVE_ARCH ? 0 : (uint64_t)call->nr + 1;
	if (!about) {
		see_unknown(shared, tracee, call);
		return 0;
	}
	if (!shared->blind || about->does == SYSCALLS_EXIT || about->does == SYSCALLS_EXIT_GROUP)
		note_effects(observer, &view);
	if (view.may_change)
		recorder_catch_up(shared->recorder);
	return view.job;
}

uint64_t observer_see(struct observer *observer, const struct traced_call *call)
{
	bool fresh;
	struct tracee *tracee = tracees_get(observer->shared.tracees, call->tid, NULL, &fresh);

	if (!tracee) {
		if (at_scarce(errno)) {
			reasons_add(observer->shared.reasons, "a call was not examined: %s",
				strerror(errno));
			observer_catch_up(observer);
		}
		return 0;
	}
	observer->caller = tracee->pid;
	if (fresh || tracee->new_mounts)
		check_mounts(observer, tracee);
	const struct syscalls_call *about =
		call->arch == BPF_NATIVE_ARCH ? syscalls_find(call->nr) : NULL;
	if (about && try_defer(observer, tracee, call, about))
		return 0;
	return see_at_once(observer, tracee, call, about);
}

void observer_catch_up(struct observer *observer)
{
	workqueue_hold(&observer->backlog);
	recorder_catch_up(observer->shared.recorder);
}

void observer_reap(struct observer *observer)
{
	workqueue_hold(&observer->backlog);
	tracees_reap(observer->shared.tracees, observer->shared.map);
}

/* --- when the command has ended --- */

/*
 * Make the bundle incomplete if a process has dumped core.  The kernel chooses the name of the core
 * file and writes it without a system call of the process.
 */
static void check_cores(struct callview_shared *shared)
{
	owned(buf_release) struct buf pattern = BUF_INIT;
	struct err ignored = { 0 };

	/*
	 * If the pattern begins with "|", the kernel pipes the core to a program of the machine and
	 * writes no file.
	 */
	if (procfile_read("/proc/sys/kernel/core_pattern", PATH_MAX, &pattern, &ignored) >= 0 &&
		pattern.len && *pattern.data == '|')
		return;
	for (size_t i = 0; i < tracees_count(shared->tracees); i++) {
		const struct process *process = tracees_process(shared->tracees, i);

		if (process->status >= 0 && WIFSIGNALED(process->status) &&
			WCOREDUMP(process->status))
			reasons_add(shared->reasons,
				"process %d dumped core: the core file is not recorded",
				(int)process->pid);
	}
}

static void check_missed(const struct observer *observer)
{
	for (const struct record *record = observer->shared.recorder->records; record;
		record = record->next)
		if (record->found && record->looked && !record->late && !record->unknown &&
			!record->before.exists)
			add_missed_reason(observer, record);
}

void observer_finish(struct observer *observer)
{
	workqueue_stop(&observer->backlog);
	recorder_catch_up(observer->shared.recorder);
	check_missed(observer);
}

void observer_ended(struct observer *observer, pid_t pid, int status)
{
	struct process *process = tracees_by_pid(observer->shared.tracees, pid);

	if (process && process->status < 0)
		process->status = status;
	check_cores(&observer->shared);
}

/* --- before the command starts --- */

void observer_init(struct observer *observer, struct recorder *recorder, struct tracees *tracees,
	struct reasons *reasons)
{
	char mounts[PATH_MAX];

	*observer = (struct observer){
		.shared = {
			.map = recorder->map,
			.recorder = recorder,
			.tracees = tracees,
			.reasons = reasons,
		},
	};
	mountwatch_init(&observer->shared.mountwatch);
	workqueue_init(&observer->backlog, see_deferred, observer);
	observer->backlog.pause_ns = BACKLOG_PAUSE_NS;
	observer->backlog.enough = BACKLOG_ENOUGH;
	if (threadview_link(getpid(), "ns/mnt", mounts) > 0)
		memccpy(observer->mounts, mounts, '\0', sizeof(observer->mounts) - 1);
}

void observer_release(struct observer *observer)
{
	workqueue_release(&observer->backlog);
	missing_release(&observer->shared.missing);
	mountwatch_release(&observer->shared.mountwatch);
}

void observer_starts(struct observer *observer, pid_t pid, char *const *argv)
{
	static const struct syscalls_call execution = { .does = SYSCALLS_EXECUTE };
	struct callview_shared *shared = &observer->shared;
	bool fresh;
	struct tracee *tracee = tracees_get(shared->tracees, pid, NULL, &fresh);
	struct callview view = make_view(observer, tracee, NULL, &execution, NULL);
	char path[PATH_MAX];

	shared->command = pid;
	if (!tracee)
		return;
	struct process *process = tracees_process(shared->tracees, tracee->process);
	for (char *const *word = argv; *word; word++)
		buf_add(&process->argv, *word, strlen(*word) + 1);
	shared->recorder->process = tracee->process;
	if (!program_find(argv[0], path))
		return;
	struct pathmap_entry *entry = callview_resolve(&view, AT_FDCWD, str_of(path), true);
	if (entry)
		effects_note_execution(&view, entry);
}

/*
 * Record a file that the command inherits open for writing, for example a log file.  Other
 * processes may also write to it.
 */
static void inherit_writable(struct recorder *recorder, struct pathmap_entry *entry)
{
	struct record *record = recorder_note(recorder, entry, BUNDLE_WRITE);
	uint64_t number = recorder_content_secure(recorder, record);

	record->inherited = true;
	if (number)
		saver_wait(recorder->saver, number);
}

static bool is_same_file(const struct statx *a, const struct statx *b)
{
	return a->stx_ino == b->stx_ino && a->stx_dev_major == b->stx_dev_major &&
	       a->stx_dev_minor == b->stx_dev_minor;
}

/*
 * Record the file of a descriptor with which the command is started, such as a redirected standard
 * stream.  The file is recorded as if the command had opened it.
 */
void observer_inherits(struct observer *observer, int fd)
{
	int flags = fcntl(fd, F_GETFL);
	char name[32], path[PATH_MAX];
	struct recorder *recorder = observer->shared.recorder;
	struct statx stx, named;

	snprintf(name, sizeof(name), "fd/%d", fd);
	if (flags < 0 || at_fd_stat(fd, &stx) < 0)
		return;
	bool writable = S_ISREG(stx.stx_mode) && (flags & O_ACCMODE) != O_RDONLY;
	ssize_t len = threadview_link(getpid(), name, path);
	if (len == -ENAMETOOLONG)
		reasons_add(observer->shared.reasons,
			"descriptor %d, which the command was started with, is not recorded: its "
			"path is too long to be known",
			fd);
	/*
	 * If strata runs inside an environment, the kernel may report a path of the host.  Inside
	 * the environment, this path may lead to another file.
	 */
	if (len <= 0 || *path != '/' || at_abs_stat(path, &named) < 0 ||
		!is_same_file(&stx, &named)) {
		/* The file may have a record under another name. */
		if (writable && stx.stx_nlink)
			(void)recorder_content_touch(recorder, &stx, true);
		return;
	}
	struct pathmap_entry *entry = pathmap_known(observer->shared.map, str_of(path));
	if (S_ISDIR(stx.stx_mode)) {
		recorder_note(recorder, entry, BUNDLE_DIRECTORY);
		return;
	}
	if (!S_ISREG(stx.stx_mode) || flags & O_PATH)
		return;
	if ((flags & O_ACCMODE) != O_WRONLY)
		recorder_content_keep(recorder, recorder_note(recorder, entry, BUNDLE_READ));
	if ((flags & O_ACCMODE) != O_RDONLY)
		inherit_writable(recorder, entry);
}
