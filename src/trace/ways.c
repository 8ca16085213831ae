#include "trace/ways.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <sys/fanotify.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/at.h"
#include "core/own.h"
#include "sandbox/interpreter.h"

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
		recorder_names_change(sight->recorder, entry->parent);
	if (tracee->unsettled[slot])
		pathmap_settle(sight->observer->map, tracee->unsettled[slot]);
	tracee->unsettled[slot] = entry;
	pathmap_unsettle(sight->observer->map, entry);
	missing_may_appear(&sight->observer->missing, sight->recorder, tracee->tid, entry);
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
			wait_for(sight, recorder_touch(sight->recorder, stx, true));
		write_to(sight, entry, reads ? BUNDLE_READ : 0);
	} else {
		record = recorder_see(sight->recorder, entry, BUNDLE_READ);
		recorder_keep(sight->recorder, record);
		/* Who has it open by another name may write to it at once. */
		if (sight->recorder->at_once && stx->stx_nlink > 1) {
			wait_for(sight, record->saving);
			sight_did_not_wait(sight, record, stx);
		}
	}
}

/* Read before, by whomever: its state is known, and its content kept if it has to be. */
static bool is_read_again(const struct pathmap_entry *entry, unsigned flags)
{
	const struct record *record = entry->record;

	return record && !(flags & SYSCALLS_OPEN_CHANGES) && (record->ignored || record->key);
}

static void see_open(struct sight *sight, unsigned flags)
{
	bool exclusive = (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
	struct pathmap_entry *entry = sight_named(sight, sight->about->dirfd, sight->about->path,
		!(flags & O_NOFOLLOW) && !exclusive);
	struct statx stx;

	sight->may_change = flags & SYSCALLS_OPEN_CHANGES;
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
		sight->missing = recorder_see(sight->recorder, entry, BUNDLE_EXISTENCE);
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
	sight->in_root = how.resolve & RESOLVE_IN_ROOT;
	see_open(sight, (unsigned)how.flags);
}

static void take_away(struct sight *sight, bool directory)
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
	recorder_see(sight->recorder, entry, BUNDLE_DELETE);
	wait_for(sight, recorder_remove(sight->recorder, entry, &stx));
	name_changes(sight, entry);
	if (directory)
		names_change(sight);
}

/* What is called from is to be called to; waited for, since it may be written by that name next. */
static void move(struct sight *sight, struct pathmap_entry *from, struct pathmap_entry *to,
	const struct statx *stx)
{
	wait_for(sight, recorder_move(sight->recorder, from, to));
	if (!S_ISDIR(stx->stx_mode))
		return;
	pathmap_forget(sight->observer->map);
	names_change(sight);
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
	recorder_rename(sight->recorder, from, &stx, to, exchange);
	if (there && !exchange) {
		recorder_see(sight->recorder, to, BUNDLE_RENAME);
		wait_for(sight, recorder_remove(sight->recorder, to, &other));
	}
	move(sight, from, to, &stx);
	if (exchange)
		move(sight, to, from, &other);
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

static void execute(struct sight *sight, struct pathmap_entry *entry)
{
	recorder_keep(sight->recorder, recorder_see(sight->recorder, entry, BUNDLE_EXECUTE));
}

void ways_execute(struct sight *sight, struct pathmap_entry *entry)
{
	char path[PATH_MAX];

	execute(sight, entry);
	/* The kernel opens these itself: a script's interpreter, a program's loader. */
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

static bool has_capabilities(const struct pathmap_entry *entry)
{
	char value[64];

	return !entry->untouchable &&
	       at_abs_xattr_get(entry->path.ptr, "security.capability", value, sizeof(value)) > 0;
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
	tracees_execute(sight->observer->tracees, sight->tracee);
	sight_remember_cwd(sight);
	tracees_argv(sight->tracee->tid, sight->call->args[argv], process);
	ways_execute(sight, entry);
	/* Root installs its filter without giving up that programs gain rights. */
	if (sight->recorder->uid && has_capabilities(entry))
		reasons_add(sight->observer->reasons,
			"'%s' has file capabilities: traced, it ran without them", entry->path.ptr);
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

/* A thread's, and its process's when it is the first. */
static void see_exit(struct sight *sight)
{
	struct process *process = tracees_process(sight->observer->tracees, sight->tracee->process);

	sight->tracee->gone = true;
	if (sight->tracee->tid == sight->tracee->pid)
		process->status = (sight_argument(sight, sight->about->flags) & 0xff) << 8;
}

static void see_exit_group(struct sight *sight)
{
	struct process *process = tracees_process(sight->observer->tracees, sight->tracee->process);

	sight->tracee->gone = true;
	process->status = (sight_argument(sight, sight->about->flags) & 0xff) << 8;
	/* Nobody will tell us of its end. */
	if (process->pidfd < 0)
		process->ended = true;
}

/* --- calls of few words --- */

static void see_open_flags(struct sight *sight)
{
	see_open(sight, sight_flags(sight));
}

static void see_creat(struct sight *sight)
{
	see_open(sight, O_WRONLY | O_CREAT | O_TRUNC);
}

static void see_one(struct sight *sight, unsigned ops)
{
	struct pathmap_entry *entry = sight_first(sight);

	if (entry)
		recorder_see(sight->recorder, entry, ops);
}

static void see_look(struct sight *sight)
{
	see_one(sight, BUNDLE_EXISTENCE);
}

static void see_readlink(struct sight *sight)
{
	see_one(sight, BUNDLE_READ);
}

static void see_list(struct sight *sight)
{
	see_one(sight, BUNDLE_DIRECTORY);
}

static void see_chdir(struct sight *sight)
{
	see_one(sight, BUNDLE_DIRECTORY);
	tracees_move(sight->observer->tracees, sight->tracee);
}

static void see_make(struct sight *sight)
{
	struct pathmap_entry *entry = sight_first(sight);

	if (entry)
		make(sight, entry, 0);
}

static void see_unlink(struct sight *sight)
{
	take_away(sight, sight_flags(sight) & AT_REMOVEDIR);
}

static void see_rmdir(struct sight *sight)
{
	take_away(sight, true);
}

static void touch_names(struct sight *sight, struct pathmap_entry *entry, bool content)
{
	struct statx stx;

	if (recorder_exists(sight->recorder, entry, &stx) && !S_ISDIR(stx.stx_mode) &&
		stx.stx_nlink > 1)
		wait_for(sight, recorder_touch(sight->recorder, &stx, content));
}

/* By a descriptor whose name is gone a file can be changed that has others. */
static void touch_nameless(struct sight *sight, unsigned ops)
{
	struct statx stx;

	if (sight_nameless(sight, &stx) && stx.stx_nlink && S_ISREG(stx.stx_mode))
		wait_for(sight, recorder_touch_nameless(sight->recorder, &stx, ops));
}

static void see_truncate(struct sight *sight)
{
	struct pathmap_entry *entry = sight_first(sight);

	if (!entry) {
		touch_nameless(sight, BUNDLE_WRITE);
		return;
	}
	touch_names(sight, entry, true);
	write_to(sight, entry, 0);
}

static void see_metadata(struct sight *sight)
{
	struct pathmap_entry *entry = sight_first(sight);

	if (!entry) {
		touch_nameless(sight, BUNDLE_METADATA);
		return;
	}
	touch_names(sight, entry, false);
	recorder_see(sight->recorder, entry, BUNDLE_METADATA);
}

static void see_connect(struct sight *sight)
{
	struct pathmap_entry *entry = socket_name(sight);

	if (entry)
		recorder_see(sight->recorder, entry, BUNDLE_EXISTENCE);
}

static void see_bind(struct sight *sight)
{
	struct pathmap_entry *entry = socket_name(sight);

	if (entry)
		make(sight, entry, 0);
}

static void see_handle(struct sight *sight)
{
	recorder_look_at_once(sight->recorder);
	reasons_add(sight->observer->reasons,
		"process %d opened a file by handle: it has no name to go by",
		(int)sight->tracee->pid);
}

static void see_detach(struct sight *sight)
{
	tracees_move(sight->observer->tracees, sight->tracee);
	sight->tracee->new_mounts = true;
}

static void see_seccomp(struct sight *sight)
{
	if (sight_flags(sight) & SECCOMP_FILTER_FLAG_NEW_LISTENER)
		reasons_add(sight->observer->reasons,
			"process %d wants to be notified of system calls, which only one can",
			(int)sight->tracee->pid);
}

static void see_ptrace(struct sight *sight)
{
	if (sight->observer->by_ptrace)
		reasons_add(sight->observer->reasons,
			"process %d wants to trace, which does not work under the engine ptrace",
			(int)sight->tracee->pid);
}

/* --- all of them --- */

static const struct way {
	void (*see)(struct sight *sight);
	bool harmless; /* changes neither a file nor what a name means */
	bool can_wait; /* and tells nothing that has to be known when the next call comes */
} ways[] = {
	[SYSCALLS_OPEN] = { see_open_flags, false, false }, /* its flags will tell */
	[SYSCALLS_OPEN_HOW] = { see_open_how, false, false },
	[SYSCALLS_CREAT] = { see_creat, false, false },
	[SYSCALLS_LOOK] = { see_look, true, true },
	[SYSCALLS_READLINK] = { see_readlink, true, true },
	[SYSCALLS_LIST] = { see_list, true, true },
	[SYSCALLS_CHDIR] = { see_chdir, true, false },
	[SYSCALLS_EXECUTE] = { see_execute, true, false },
	[SYSCALLS_MAKE] = { see_make, false, false },
	[SYSCALLS_UNLINK] = { see_unlink, false, false },
	[SYSCALLS_RMDIR] = { see_rmdir, false, false },
	[SYSCALLS_RENAME] = { see_rename, false, false },
	[SYSCALLS_LINK] = { see_link, false, false },
	[SYSCALLS_TRUNCATE] = { see_truncate, false, false },
	[SYSCALLS_METADATA] = { see_metadata, false, false },
	[SYSCALLS_CONNECT] = { see_connect, true, false },
	[SYSCALLS_BIND] = { see_bind, false, false },
	[SYSCALLS_CHROOT] = { see_chroot, false, false },
	[SYSCALLS_MOUNT] = { see_mount, false, false },
	[SYSCALLS_HANDLE] = { see_handle, false, false },
	[SYSCALLS_DETACH] = { see_detach, false, false },
	[SYSCALLS_PERMIT] = { see_permit, false, false },
	[SYSCALLS_SECCOMP] = { see_seccomp, false, false },
	[SYSCALLS_PTRACE] = { see_ptrace, false, false },
	[SYSCALLS_EXIT] = { see_exit, true, false },
	[SYSCALLS_EXIT_GROUP] = { see_exit_group, true, false },
};
_Static_assert(sizeof(ways) / sizeof(*ways) == SYSCALLS_DOES, "one way for each");

void ways_see(struct sight *sight)
{
	const struct way *way = &ways[sight->about->does];

	sight->may_change = !way->harmless;
	way->see(sight);
}

bool ways_can_wait(const struct observer_call *call, const struct syscalls_call *about)
{
	if (about->does == SYSCALLS_OPEN)
		return !(call->args[about->flags] & SYSCALLS_OPEN_CHANGES);
	return ways[about->does].can_wait;
}
