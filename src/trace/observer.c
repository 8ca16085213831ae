#include "trace/observer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/at.h"
#include "core/own.h"
#include "sandbox/bpf.h"
#include "sandbox/procfile.h"
#include "sandbox/program.h"
#include "trace/ways.h"

/* What may wait in the backlog: of calls that stop, and of those whom nobody can slow down. */
#define WAITING_MAX ((size_t)1 << 20)
#define WAITING_PASSED_MAX ((size_t)192 << 20) /* a buffer may have more */

#define NEWS_MAX 64  /* more does not count */
#define NEWS_ONE 8   /* a name that was not known, against one that was */
#define NEWS_MANY 16 /* worth a backlog */

static void check_mounts(struct observer *observer, struct tracee *tracee)
{
	char mounts[PATH_MAX];

	tracee->new_mounts = false;
	if (tracees_link(tracee->tid, "ns/mnt", mounts) > 0 && strcmp(mounts, observer->mounts))
		reasons_add(observer->reasons,
			"process %d has mounts of its own: its paths may mean something else",
			(int)tracee->pid);
}

/* Its last call is over, and from now on the names are ours. */
static void begin_to_see(struct observer *observer, struct tracee *tracee)
{
	backlog_hold(&observer->backlog);
	mountwatch_look(&observer->mountwatch, observer->map, observer->reasons);
	tracees_settle(observer->tracees, tracee, observer->map);
}

/* Before, there were so many records. */
static void note_made(const struct sight *sight, size_t known)
{
	struct observer *observer = sight->observer;
	const struct recorder *recorder = observer->recorder;
	pid_t tid = sight->tracee->tid;

	observer->made[(unsigned)tid % OBSERVER_MADE] = (struct observer_made){
		.tid = tid,
		.record = recorder->n_records > known ? recorder->records : NULL,
		.missing = sight->missing,
		.process = sight->tracee->process,
		.opened = sight->about->does == SYSCALLS_OPEN ? sight->resolved : NULL,
		.fd = -1,
	};
}

static void see(struct sight *sight)
{
	struct observer *observer = sight->observer;
	size_t known = observer->recorder->n_records;
	int news = observer->news;

	observer->recorder->process = sight->tracee->process;
	missing_over(&observer->missing, sight->tracee->tid);
	ways_see(sight);
	if (sight->glimpse && sight->glimpse->passed)
		note_made(sight, known);
	else if (sight->missing)
		missing_add(
			&observer->missing, observer->recorder, sight->tracee->tid, sight->missing);
	news += observer->recorder->n_records > known ? NEWS_ONE : -1;
	observer->news = news < 0 ? 0 : news > NEWS_MAX ? NEWS_MAX : news;
}

/* --- beside the program --- */

const struct observer_made *observer_made_by(const struct observer *observer, pid_t tid)
{
	const struct observer_made *made = &observer->made[(unsigned)tid % OBSERVER_MADE];

	return made->tid == tid ? made : NULL;
}

/* Of two processes, both faster than we, one has taken away what the other had just used. */
static void tell_of_missed(const struct observer *observer, const struct record *record)
{
	/* What is in /proc comes and goes by itself. */
	if (!record->ignored && !record->entry->procfs)
		reasons_add(observer->reasons,
			"'%s' was there when it was used, and not when it was looked at",
			record->entry->path.ptr);
}

/* What was taken away by a call that we have seen is known, and kept. */
static void find_again(struct observer *observer, const struct observer_made *made)
{
	struct record *record = made->missing;

	if (record == made->record || !record->changing || !record->before.exists) {
		tell_of_missed(observer, record);
		return;
	}
	observer->recorder->process = made->process;
	recorder_see(observer->recorder, record->entry, BUNDLE_READ);
}

static void note_success(struct observer *observer, pid_t tid, int result, uint64_t closes)
{
	struct observer_made *made = &observer->made[(unsigned)tid % OBSERVER_MADE];

	if (made->tid != tid)
		return;
	if (made->record)
		made->record->found = true;
	if (made->missing)
		find_again(observer, made);
	if (made->opened)
		made->fd = result;
	made->closes = closes;
}

static void see_glimpse(void *arg, const void *item)
{
	struct observer *observer = arg;
	const struct glimpse *glimpse = item;
	struct tracee caller = {
		.tid = glimpse->call.tid,
		.pid = glimpse->pid,
		.process = glimpse->process,
	};
	struct sight sight = {
		.observer = observer,
		.recorder = observer->recorder,
		.tracee = &caller,
		.call = &glimpse->call,
		.about = glimpse->about,
		.glimpse = glimpse,
	};

	if (!glimpse->about)
		note_success(
			observer, glimpse->call.tid, (int)glimpse->call.args[0], glimpse->closes);
	else
		see(&sight);
}

/*
 * It changes nothing, nor does the last call of its thread, if that is still to be settled.  For
 * names that are known it is not worth it: to write down that one was used again takes less than to
 * hand it over.
 */
static bool can_wait(const struct observer *observer, const struct tracee *tracee,
	const struct observer_call *call, const struct syscalls_call *about)
{
	if (observer->news < NEWS_MANY || observer->recorder->at_once || observer->blind ||
		observer->roots || observer->command || observer->mountwatch.on ||
		!tracees_is_settled(tracee))
		return false;
	return ways_can_wait(call, about);
}

/* Whether the call has been put into the backlog. */
static bool set_aside(struct observer *observer, struct tracee *tracee,
	const struct observer_call *call, const struct syscalls_call *about)
{
	struct glimpse glimpse;

	if (!can_wait(observer, tracee, call, about))
		return false;
	size_t len = sight_glimpse(observer, tracee, call, about, &glimpse);
	if (len)
		backlog_add(&observer->backlog, &glimpse, len, WAITING_MAX);
	return len > 0;
}

/* --- calls that have passed --- */

void observer_see_passed(struct observer *observer, const struct observer_passed *passed)
{
	const struct observer_call *call = &passed->call;
	const struct syscalls_call *about = syscalls_find(call->nr);
	struct glimpse glimpse;
	bool fresh, lacks_base;
	struct tracee *tracee = tracees_get(observer->tracees, call->tid, &passed->ids, &fresh);

	/* The number of one that had stopped means another call there. */
	bool foreign = tracee->foreign_nr == (uint64_t)call->nr + 1;
	tracee->foreign_nr = 0;
	if (observer->blind || foreign)
		return;
	if (fresh || tracee->new_mounts)
		check_mounts(observer, tracee);
	if (tracee->pid == observer->command)
		observer->command = 0;
	size_t len = sight_glimpse_passed(observer, tracee, passed, about, &glimpse, &lacks_base);
	if (!lacks_base && can_wait(observer, tracee, call, about) &&
		!sight_is_fleeting(&glimpse)) {
		backlog_add(&observer->backlog, &glimpse, len, WAITING_PASSED_MAX);
		return;
	}
	struct sight sight = {
		.observer = observer,
		.recorder = observer->recorder,
		.tracee = tracee,
		.call = call,
		.about = about,
		.glimpse = &glimpse,
	};
	begin_to_see(observer, tracee);
	if (!lacks_base || sight_find_base(&sight, &glimpse))
		see(&sight);
}

void observer_see_success(struct observer *observer, pid_t tid, int result, uint64_t closes)
{
	const struct glimpse success = {
		.call = { .tid = tid, .args = { (uint64_t)result } },
		.closes = closes,
	};

	if (observer->backlog.held)
		note_success(observer, tid, result, closes);
	else
		backlog_add(&observer->backlog, &success, offsetof(struct glimpse, text),
			WAITING_PASSED_MAX);
}

/* --- while the program waits --- */

static uint64_t see_at_once(struct observer *observer, struct tracee *tracee,
	const struct observer_call *call, const struct syscalls_call *about)
{
	struct sight sight = {
		.observer = observer,
		.recorder = observer->recorder,
		.tracee = tracee,
		.call = call,
		.about = about,
	};

	begin_to_see(observer, tracee);
	tracee->foreign_nr = call->arch == BPF_NATIVE_ARCH ? 0 : (uint64_t)call->nr + 1;
	if (!about) {
		if (call->arch != BPF_NATIVE_ARCH || call->nr & BPF_X32_BIT)
			reasons_add(observer->reasons,
				"process %d uses 32-bit system calls, which are not understood",
				(int)tracee->pid);
		/* A filter would refuse it. */
		else if (call->nr == SYS_io_uring_setup)
			reasons_add(observer->reasons,
				"process %d uses io_uring: what it does to files that way is not "
				"seen",
				(int)tracee->pid);
		/* It may change anything. */
		recorder_look_at_once(observer->recorder);
		tracees_move(observer->tracees, tracee);
		return 0;
	}
	if (!observer->blind || about->does == SYSCALLS_EXIT || about->does == SYSCALLS_EXIT_GROUP)
		see(&sight);
	if (sight.may_change)
		recorder_catch_up(observer->recorder);
	return sight.number;
}

uint64_t observer_see(struct observer *observer, const struct observer_call *call)
{
	bool fresh;
	struct tracee *tracee = tracees_get(observer->tracees, call->tid, NULL, &fresh);

	if (!tracee) {
		if (at_scarce(errno)) {
			reasons_add(
				observer->reasons, "a call was not looked at: %s", strerror(errno));
			observer_catch_up(observer);
		}
		return 0;
	}
	observer->caller = tracee->pid;
	if (fresh || tracee->new_mounts)
		check_mounts(observer, tracee);
	const struct syscalls_call *about =
		call->arch == BPF_NATIVE_ARCH ? syscalls_find(call->nr) : NULL;
	if (about && set_aside(observer, tracee, call, about))
		return 0;
	return see_at_once(observer, tracee, call, about);
}

void observer_catch_up(struct observer *observer)
{
	backlog_hold(&observer->backlog);
	recorder_catch_up(observer->recorder);
}

void observer_reap(struct observer *observer)
{
	backlog_hold(&observer->backlog);
	tracees_reap(observer->tracees, observer->map);
}

/* The kernel writes the file, by a name that it makes up, and no call tells of it. */
static void tell_of_cores(struct observer *observer)
{
	owned(buf_release) struct buf pattern = BUF_INIT;
	struct err ignored = { 0 };

	/* Then a program of the machine gets it. */
	if (procfile_read("/proc/sys/kernel/core_pattern", PATH_MAX, &pattern, &ignored) >= 0 &&
		pattern.len && *pattern.data == '|')
		return;
	for (size_t i = 0; i < tracees_count(observer->tracees); i++) {
		const struct process *process = tracees_process(observer->tracees, i);

		if (process->status >= 0 && WIFSIGNALED(process->status) &&
			WCOREDUMP(process->status))
			reasons_add(observer->reasons,
				"process %d dumped core: the file is not told of",
				(int)process->pid);
	}
}

static void tell_of_all_missed(const struct observer *observer)
{
	for (const struct record *record = observer->recorder->records; record;
		record = record->next)
		if (record->found && record->looked && !record->late && !record->unknown &&
			!record->before.exists)
			tell_of_missed(observer, record);
}

void observer_finish(struct observer *observer)
{
	backlog_stop(&observer->backlog);
	recorder_catch_up(observer->recorder);
	tell_of_all_missed(observer);
}

void observer_ended(struct observer *observer, pid_t pid, int status)
{
	struct process *process = tracees_by_pid(observer->tracees, pid);

	if (process && process->status < 0)
		process->status = status;
	tell_of_cores(observer);
}

void observer_init(struct observer *observer, struct recorder *recorder, struct tracees *tracees,
	struct reasons *reasons)
{
	char mounts[PATH_MAX];

	*observer = (struct observer){
		.map = recorder->map,
		.recorder = recorder,
		.tracees = tracees,
		.reasons = reasons,
	};
	mountwatch_init(&observer->mountwatch);
	backlog_init(&observer->backlog, see_glimpse, observer);
	if (tracees_link(getpid(), "ns/mnt", mounts) > 0)
		memccpy(observer->mounts, mounts, '\0', sizeof(observer->mounts) - 1);
}

void observer_release(struct observer *observer)
{
	backlog_release(&observer->backlog);
	missing_release(&observer->missing);
	mountwatch_release(&observer->mountwatch);
}

void observer_starts(struct observer *observer, pid_t pid, char *const *argv)
{
	static const struct syscalls_call execution = { .does = SYSCALLS_EXECUTE };
	bool fresh;
	struct tracee *tracee = tracees_get(observer->tracees, pid, NULL, &fresh);
	struct sight sight = {
		.observer = observer,
		.recorder = observer->recorder,
		.tracee = tracee,
		.about = &execution,
	};
	char path[PATH_MAX];

	observer->command = pid;
	if (!tracee)
		return;
	struct process *process = tracees_process(observer->tracees, tracee->process);
	for (char *const *word = argv; *word; word++)
		buf_add(&process->argv, *word, strlen(*word) + 1);
	observer->recorder->process = tracee->process;
	if (!program_find(argv[0], path))
		return;
	struct pathmap_entry *entry = sight_resolve(&sight, AT_FDCWD, str_of(path), true);
	if (entry)
		ways_execute(&sight, entry);
}

/* Who else writes to it we do not know: a log, say, that goes on when the command has ended. */
static void inherit_writable(struct recorder *recorder, struct pathmap_entry *entry)
{
	struct record *record = recorder_see(recorder, entry, BUNDLE_WRITE);
	uint64_t number = recorder_secure(recorder, record);

	record->inherited = true;
	if (number)
		saver_wait(recorder->saver, number);
}

/* A redirection is as much the command's file as one it opens. */
void observer_inherits(struct observer *observer, int fd)
{
	int flags = fcntl(fd, F_GETFL);
	char name[32], path[PATH_MAX];
	struct recorder *recorder = observer->recorder;
	struct statx stx, named;

	snprintf(name, sizeof(name), "fd/%d", fd);
	if (flags < 0 || at_fd_stat(fd, &stx) < 0)
		return;
	bool writable = S_ISREG(stx.stx_mode) && (flags & O_ACCMODE) != O_RDONLY;
	ssize_t len = tracees_link(getpid(), name, path);
	if (len == -ENAMETOOLONG)
		reasons_add(observer->reasons,
			"descriptor %d, which the command was started with, has a path that is too "
			"long to be known: it is not told of",
			fd);
	/* Seen from inside an environment, a path of the machine is another's. */
	if (len <= 0 || *path != '/' || at_abs_stat(path, &named) < 0 ||
		stx.stx_ino != named.stx_ino || stx.stx_dev_major != named.stx_dev_major ||
		stx.stx_dev_minor != named.stx_dev_minor) {
		/* It may have another name. */
		if (writable && stx.stx_nlink)
			(void)recorder_touch(recorder, &stx, true);
		return;
	}
	struct pathmap_entry *entry = pathmap_known(observer->map, str_of(path));
	if (S_ISDIR(stx.stx_mode)) {
		recorder_see(recorder, entry, BUNDLE_DIRECTORY);
		return;
	}
	if (!S_ISREG(stx.stx_mode) || flags & O_PATH)
		return;
	if ((flags & O_ACCMODE) != O_WRONLY)
		recorder_keep(recorder, recorder_see(recorder, entry, BUNDLE_READ));
	if ((flags & O_ACCMODE) != O_RDONLY)
		inherit_writable(recorder, entry);
}
