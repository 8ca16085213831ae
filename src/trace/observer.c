#include "trace/observer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/fanotify.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/at.h"
#include "core/own.h"
#include "sandbox/bpf.h"
#include "sandbox/interpreter.h"
#include "sandbox/program.h"
#include "trace/sight.h"

#define OPEN_CHANGES (O_ACCMODE | O_CREAT | O_TRUNC)
#define NEWS_MAX 64        /* more does not count */
#define NEWS_ONE 8         /* a name that was not known, against one that was */
#define NEWS_MANY 16       /* worth a backlog */
#define INTERPRETERS_MAX 5 /* one script run by another; the kernel allows fewer */

static void wait_for(struct sight *sight, uint64_t number)
{
	if (number > sight->number)
		sight->number = number;
}

/* --- what happens to it --- */

/* Its name comes or goes: the directory it is in changes, and what the name means. */
static void name_changes(struct sight *sight, struct pathmap_entry *entry)
{
	struct tracee *tracee = sight->tracee;
	int slot = tracee->unsettled[0] ? 1 : 0;

	if (entry->parent)
		recorder_see(sight->recorder, entry->parent, BUNDLE_DIRECTORY);
	if (tracee->unsettled[slot])
		pathmap_settle(sight->observer->map, tracee->unsettled[slot]);
	tracee->unsettled[slot] = entry;
	pathmap_unsettle(sight->observer->map, entry);
}

/* Whole directories come or go. */
static void names_change(struct sight *sight)
{
	sight->tracee->forget = true;
	tracees_move(sight->observer->tracees, sight->tracee);
}

static void make(struct sight *sight, struct pathmap_entry *entry, unsigned ops)
{
	struct statx stx;

	if (recorder_exists(sight->recorder, entry, &stx)) {
		recorder_see(sight->recorder, entry, BUNDLE_EXISTENCE);
		return;
	}
	recorder_see(sight->recorder, entry, BUNDLE_CREATE | ops);
	name_changes(sight, entry);
}

static void write_to(struct sight *sight, struct pathmap_entry *entry, unsigned ops)
{
	wait_for(sight, recorder_secure(sight->recorder,
				recorder_see(sight->recorder, entry, BUNDLE_WRITE | ops)));
}

static void open_existing(
	struct sight *sight, struct pathmap_entry *entry, const struct statx *stx, unsigned flags)
{
	bool reads = (flags & O_ACCMODE) != O_WRONLY;
	bool writes = (flags & O_ACCMODE) != O_RDONLY || flags & O_TRUNC;
	struct record *record;

	/* What is written to a device (/dev/null, a terminal) is in no file. */
	if (S_ISCHR(stx->stx_mode))
		sight->may_change = false;

	if (S_ISDIR(stx->stx_mode)) {
		recorder_see(sight->recorder, entry, BUNDLE_DIRECTORY);
	} else if ((flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL) || S_ISLNK(stx->stx_mode)) {
		recorder_see(sight->recorder, entry, BUNDLE_EXISTENCE);
	} else if (writes) {
		/* Also of one that is ignored: its other names may not be. */
		if (stx->stx_nlink > 1)
			recorder_look_at_once(sight->recorder);
		write_to(sight, entry, reads ? BUNDLE_READ : 0);
	} else {
		record = recorder_see(sight->recorder, entry, BUNDLE_READ);
		recorder_keep(sight->recorder, record);
		/* Who has it open by another name may write to it at once. */
		if (sight->recorder->at_once && stx->stx_nlink > 1)
			wait_for(sight, record->saving);
	}
}

/* Read before, by whomever: its state is known, and its content kept if it has to be. */
static bool is_read_again(const struct pathmap_entry *entry, unsigned flags)
{
	const struct record *record = entry->record;

	return record && !(flags & OPEN_CHANGES) && (record->ignored || record->key);
}

static void see_open(struct sight *sight, unsigned flags)
{
	bool exclusive = (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
	struct pathmap_entry *entry = sight_named(sight, sight->about->dirfd, sight->about->path,
		!(flags & O_NOFOLLOW) && !exclusive);
	struct statx stx;

	sight->may_change = flags & OPEN_CHANGES;
	if (!entry)
		return;
	if (flags & O_PATH)
		recorder_see(sight->recorder, entry, BUNDLE_EXISTENCE);
	else if ((flags & O_TMPFILE) == O_TMPFILE)
		recorder_see(sight->recorder, entry, BUNDLE_DIRECTORY);
	else if (is_read_again(entry, flags))
		recorder_see(sight->recorder, entry, BUNDLE_READ);
	else if (recorder_exists(sight->recorder, entry, &stx))
		open_existing(sight, entry, &stx, flags);
	else if (flags & O_CREAT)
		make(sight, entry, BUNDLE_WRITE);
	else
		recorder_see(sight->recorder, entry, BUNDLE_EXISTENCE);
}

static void see_open_how(struct sight *sight)
{
	struct open_how how = { 0 };

	if (!tracees_bytes(sight->tracee->tid, sight->call->args[sight->about->flags], &how,
		    sizeof(how))) {
		if (errno == EPERM)
			sight_cannot_look(sight);
		return;
	}
	if (how.resolve & RESOLVE_IN_ROOT)
		reasons_add(sight->observer->reasons,
			"openat2 with RESOLVE_IN_ROOT: links below it may be followed wrongly");
	see_open(sight, (unsigned)how.flags);
}

static void see_unlink(struct sight *sight, bool directory)
{
	struct pathmap_entry *entry = sight_first(sight);
	struct statx stx;

	if (!entry)
		return;
	if (!recorder_exists(sight->recorder, entry, &stx) || S_ISDIR(stx.stx_mode) != directory) {
		recorder_see(sight->recorder, entry, BUNDLE_EXISTENCE);
		return;
	}
	/* It could be read later through the saver's descriptor, but also written through others.
	 */
	wait_for(sight, recorder_secure(sight->recorder,
				recorder_see(sight->recorder, entry, BUNDLE_DELETE)));
	name_changes(sight, entry);
	if (directory)
		names_change(sight);
}

static void move_directory(
	struct sight *sight, struct pathmap_entry *from, struct pathmap_entry *to)
{
	wait_for(sight, recorder_move(sight->recorder, from, to));
	pathmap_forget(sight->observer->map);
	names_change(sight);
}

/* What is called from is to be called to; waited for, since it may be written by that name next. */
static void move(struct sight *sight, struct pathmap_entry *from, struct pathmap_entry *to,
	const struct statx *stx)
{
	if (S_ISDIR(stx->stx_mode))
		move_directory(sight, from, to);
	else
		wait_for(sight, recorder_secure(sight->recorder,
					recorder_see(sight->recorder, from, BUNDLE_RENAME)));
	recorder_see(sight->recorder, to, BUNDLE_RENAME);
}

static void see_rename(struct sight *sight)
{
	struct pathmap_entry *from = sight_first(sight), *to = sight_second(sight);
	struct statx stx, other;

	if (!from || !to)
		return;
	bool there = recorder_exists(sight->recorder, to, &other);
	bool exchange = sight_flags(sight) & RENAME_EXCHANGE;
	if (!recorder_exists(sight->recorder, from, &stx) || (exchange && !there) ||
		(there && sight_flags(sight) & RENAME_NOREPLACE)) {
		recorder_see(sight->recorder, from, BUNDLE_EXISTENCE);
		recorder_see(sight->recorder, to, BUNDLE_EXISTENCE);
		return;
	}
	move(sight, from, to, &stx);
	if (exchange)
		move(sight, to, from, &other);
	else if (there)
		wait_for(sight, recorder_secure(sight->recorder, to->record));
	name_changes(sight, from);
	name_changes(sight, to);
}

static void see_link(struct sight *sight)
{
	struct pathmap_entry *from = sight_first(sight), *to = sight_second(sight);

	if (to)
		make(sight, to, 0);
	/* A file without a name yet may get one. */
	if (!from)
		return;
	struct record *record = recorder_see(sight->recorder, from, BUNDLE_EXISTENCE);
	/* It can be written by its new name before the saver has read it. */
	recorder_catch_up(sight->recorder);
	wait_for(sight, record->saving);
	if (to)
		recorder_link(sight->recorder, record, to->record);
}

static void see_chroot(struct sight *sight)
{
	struct pathmap_entry *entry = sight_first(sight);

	sight->observer->roots = true;
	tracees_move(sight->observer->tracees, sight->tracee);
	if (entry)
		recorder_see(sight->recorder, entry, BUNDLE_DIRECTORY);
}

static void see_mount(struct sight *sight)
{
	struct pathmap_entry *entry = sight_first(sight);

	if (entry)
		recorder_see(sight->recorder, entry, BUNDLE_DIRECTORY);
	names_change(sight);
	sight->observer->roots = true;
	/* What is there then may be the program's own to answer for. */
	recorder_look_at_once(sight->recorder);
	mountwatch_begin(&sight->observer->mountwatch);
	reasons_add(sight->observer->reasons, "mounts were changed (%s by process %d)",
		sight->about->name, (int)sight->tracee->pid);
}

static struct pathmap_entry *socket_name(struct sight *sight)
{
	struct sockaddr_un address = { 0 };
	size_t len = (size_t)sight->call->args[sight->about->flags];

	if (len > sizeof(address))
		len = sizeof(address);
	if (len <= offsetof(struct sockaddr_un, sun_path) ||
		!tracees_bytes(
			sight->tracee->tid, sight->call->args[sight->about->path], &address, len))
		return NULL;
	if (address.sun_family != AF_UNIX || !address.sun_path[0])
		return NULL;
	struct str path = { address.sun_path,
		strnlen(address.sun_path, len - offsetof(struct sockaddr_un, sun_path)) };
	return sight_resolve(sight, AT_FDCWD, path, sight_follows(sight));
}

/* --- running --- */

static struct record *execute(struct sight *sight, struct pathmap_entry *entry)
{
	struct record *record = recorder_see(sight->recorder, entry, BUNDLE_EXECUTE);

	recorder_keep(sight->recorder, record);
	return record;
}

/* The kernel opens these itself: a script's interpreter, a program's loader. */
static void see_interpreters(struct sight *sight, struct pathmap_entry *entry)
{
	char path[PATH_MAX];

	for (int i = 0; i < INTERPRETERS_MAX; i++) {
		owned_fd int fd = at_abs_read(entry->path.ptr);

		if (fd < 0 || !interpreter_of(fd, path))
			return;
		entry = sight_resolve(sight, AT_FDCWD, str_of(path), true);
		if (!entry)
			return;
		execute(sight, entry);
	}
}

static void see_execute(struct sight *sight)
{
	struct pathmap_entry *entry = sight_first(sight);
	struct process *process = tracees_process(sight->observer->tracees, sight->tracee->process);
	int8_t argv = (int8_t)(sight->about->path + 1);
	struct statx stx;

	if (!entry)
		return;
	if (!recorder_exists(sight->recorder, entry, &stx) || !S_ISREG(stx.stx_mode) ||
		!(stx.stx_mode & 0111)) {
		recorder_see(sight->recorder, entry, BUNDLE_EXISTENCE);
		return;
	}
	execute(sight, entry);
	tracees_execute(sight->observer->tracees, sight->tracee);
	tracees_argv(sight->tracee->tid, sight->call->args[argv], process);
	see_interpreters(sight, entry);
	if ((stx.stx_mode & S_ISUID && stx.stx_uid != sight->recorder->uid) ||
		(stx.stx_mode & S_ISGID && stx.stx_gid != getegid()))
		reasons_add(sight->observer->reasons,
			"'%s' is set-user-ID or set-group-ID: traced, it may have run without "
			"that",
			entry->path.ptr);
}

/* Each file we open would wait for its permission, and it for us. */
static void see_permit(struct sight *sight)
{
	if (!(sight_flags(sight) & (FAN_CLASS_CONTENT | FAN_CLASS_PRE_CONTENT)))
		return;
	sight->observer->blind = true;
	reasons_add(sight->observer->reasons,
		"process %d gives permission to open files: nothing is told of what came after",
		(int)sight->tracee->pid);
}

static void see_exit(struct sight *sight)
{
	struct process *process = tracees_process(sight->observer->tracees, sight->tracee->process);

	sight->tracee->gone = true;
	if (!strcmp(sight->about->name, "exit_group") || sight->tracee->tid == sight->tracee->pid)
		process->status = (sight_argument(sight, sight->about->flags) & 0xff) << 8;
	/* Nobody will tell us of its end. */
	if (process->pidfd < 0 && !strcmp(sight->about->name, "exit_group"))
		process->ended = true;
}

/* --- all of them --- */

static void see_one(struct sight *sight, unsigned ops)
{
	struct pathmap_entry *entry = sight_first(sight);

	if (entry)
		recorder_see(sight->recorder, entry, ops);
}

/* Of opens the flags will tell, where they can be read. */
static bool may_change(const struct sight *sight)
{
	switch (sight->about->does) {
	case SYSCALLS_LOOK:
	case SYSCALLS_READLINK:
	case SYSCALLS_LIST:
	case SYSCALLS_CHDIR:
	case SYSCALLS_EXECUTE:
	case SYSCALLS_CONNECT:
	case SYSCALLS_EXIT:
		return false;
	default:
		return true;
	}
}

static void dispatch(struct sight *sight)
{
	struct pathmap_entry *entry;

	sight->may_change = may_change(sight);

	switch (sight->about->does) {
	case SYSCALLS_OPEN:
		see_open(sight, sight_flags(sight));
		break;
	case SYSCALLS_OPEN_HOW:
		see_open_how(sight);
		break;
	case SYSCALLS_CREAT:
		see_open(sight, O_WRONLY | O_CREAT | O_TRUNC);
		break;
	case SYSCALLS_LOOK:
		see_one(sight, BUNDLE_EXISTENCE);
		break;
	case SYSCALLS_READLINK:
		see_one(sight, BUNDLE_READ);
		break;
	case SYSCALLS_LIST:
		see_one(sight, BUNDLE_DIRECTORY);
		break;
	case SYSCALLS_CHDIR:
		see_one(sight, BUNDLE_DIRECTORY);
		tracees_move(sight->observer->tracees, sight->tracee);
		break;
	case SYSCALLS_EXECUTE:
		see_execute(sight);
		break;
	case SYSCALLS_MAKE:
		entry = sight_first(sight);
		if (entry)
			make(sight, entry, 0);
		break;
	case SYSCALLS_UNLINK:
		see_unlink(sight, sight_flags(sight) & AT_REMOVEDIR);
		break;
	case SYSCALLS_RMDIR:
		see_unlink(sight, true);
		break;
	case SYSCALLS_RENAME:
		see_rename(sight);
		break;
	case SYSCALLS_LINK:
		see_link(sight);
		break;
	case SYSCALLS_TRUNCATE:
		entry = sight_first(sight);
		if (entry)
			write_to(sight, entry, 0);
		break;
	case SYSCALLS_METADATA:
		see_one(sight, BUNDLE_METADATA);
		break;
	case SYSCALLS_CONNECT:
		entry = socket_name(sight);
		if (entry)
			recorder_see(sight->recorder, entry, BUNDLE_EXISTENCE);
		break;
	case SYSCALLS_BIND:
		entry = socket_name(sight);
		if (entry)
			make(sight, entry, 0);
		break;
	case SYSCALLS_CHROOT:
		see_chroot(sight);
		break;
	case SYSCALLS_MOUNT:
		see_mount(sight);
		break;
	case SYSCALLS_HANDLE:
		recorder_look_at_once(sight->recorder);
		reasons_add(sight->observer->reasons,
			"process %d opened a file by handle: it has no name to go by",
			(int)sight->tracee->pid);
		break;
	case SYSCALLS_DETACH:
		tracees_move(sight->observer->tracees, sight->tracee);
		sight->tracee->new_mounts = true;
		break;
	case SYSCALLS_PERMIT:
		see_permit(sight);
		break;
	case SYSCALLS_SECCOMP:
		if (sight_flags(sight) & SECCOMP_FILTER_FLAG_NEW_LISTENER)
			reasons_add(sight->observer->reasons,
				"process %d wants to be notified of system calls, which only one "
				"can",
				(int)sight->tracee->pid);
		break;
	case SYSCALLS_PTRACE:
		if (sight->observer->by_ptrace)
			reasons_add(sight->observer->reasons,
				"process %d wants to trace, which does not work under the engine "
				"ptrace",
				(int)sight->tracee->pid);
		break;
	case SYSCALLS_EXIT:
		see_exit(sight);
		break;
	}
}

static void check_mounts(struct observer *observer, struct tracee *tracee)
{
	char mounts[PATH_MAX];

	tracee->new_mounts = false;
	if (tracees_link(tracee->tid, "ns/mnt", mounts) > 0 && strcmp(mounts, observer->mounts))
		reasons_add(observer->reasons,
			"process %d has mounts of its own: its paths may mean something else",
			(int)tracee->pid);
}

static void see(struct sight *sight)
{
	struct observer *observer = sight->observer;
	size_t known = observer->recorder->n_records;
	int news = observer->news;

	observer->recorder->process = sight->tracee->process;
	dispatch(sight);
	news += observer->recorder->n_records > known ? NEWS_ONE : -1;
	observer->news = news < 0 ? 0 : news > NEWS_MAX ? NEWS_MAX : news;
}

/* --- beside the program --- */

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
	switch (about->does) {
	case SYSCALLS_LOOK:
	case SYSCALLS_READLINK:
	case SYSCALLS_LIST:
		return true;
	case SYSCALLS_OPEN:
		return !(call->args[about->flags] & OPEN_CHANGES);
	default:
		return false;
	}
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
		backlog_add(&observer->backlog, &glimpse, len);
	return len > 0;
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

	mountwatch_look(&observer->mountwatch, observer->map, observer->reasons);
	tracees_settle(observer->tracees, tracee, observer->map);
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
	if (!observer->blind || about->does == SYSCALLS_EXIT)
		see(&sight);
	if (sight.may_change)
		recorder_catch_up(observer->recorder);
	return sight.number;
}

uint64_t observer_see(struct observer *observer, const struct observer_call *call)
{
	bool fresh;
	struct tracee *tracee = tracees_get(observer->tracees, call->tid, &fresh);

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
	backlog_hold(&observer->backlog);
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

void observer_finish(struct observer *observer)
{
	backlog_stop(&observer->backlog);
	recorder_catch_up(observer->recorder);
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
	mountwatch_release(&observer->mountwatch);
}

void observer_starts(struct observer *observer, pid_t pid, char *const *argv)
{
	static const struct syscalls_call execution = { .does = SYSCALLS_EXECUTE };
	bool fresh;
	struct tracee *tracee = tracees_get(observer->tracees, pid, &fresh);
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
	if (entry && execute(&sight, entry))
		see_interpreters(&sight, entry);
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
	/* Seen from inside an environment, a path of the machine is another's. */
	if (tracees_link(getpid(), name, path) <= 0 || *path != '/' ||
		at_abs_stat(path, &named) < 0 || stx.stx_ino != named.stx_ino ||
		stx.stx_dev_major != named.stx_dev_major ||
		stx.stx_dev_minor != named.stx_dev_minor) {
		/* It may have another name. */
		if (writable && stx.stx_nlink)
			recorder_look_at_once(recorder);
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
