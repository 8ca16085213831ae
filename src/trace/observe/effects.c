#include "trace/observe/effects.h"

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

#define INTERPRETERS_MAX 5 /* a script run by a script and so on; the kernel allows fewer */

/* The call may go on when the saver has done this job. */
static void wait_for_job(struct callview *view, uint64_t number)
{
	if (number > view->number)
		view->number = number;
}

/* --- what happens to one path --- */

/* The name comes or goes: its directory changes, and what the name stands for. */
static void name_changes(struct callview *view, struct pathmap_entry *entry)
{
	struct tracee *tracee = view->tracee;
	int slot = tracee->unsettled[0] ? 1 : 0;

	if (entry->parent)
		recorder_names_change(view->recorder, entry->parent);
	if (tracee->unsettled[slot])
		pathmap_settle(view->shared->map, tracee->unsettled[slot]);
	tracee->unsettled[slot] = entry;
	pathmap_unsettle(view->shared->map, entry);
	missing_may_appear(&view->shared->missing, view->recorder, tracee->tid, entry);
}

/* A whole directory comes or goes, and the names below it with it. */
static void directory_changes(struct callview *view)
{
	view->tracee->forget = true;
	tracees_move(view->shared->tracees, view->tracee);
}

static void make_path(struct callview *view, struct pathmap_entry *entry, unsigned ops)
{
	struct statx stx;

	if (recorder_exists(view->recorder, entry, &stx)) {
		recorder_see(view->recorder, entry, BUNDLE_EXISTENCE);
		return;
	}
	recorder_see(view->recorder, entry, BUNDLE_CREATE | ops);
	name_changes(view, entry);
}

static void write_to(struct callview *view, struct pathmap_entry *entry, unsigned ops)
{
	wait_for_job(view, recorder_content_secure(view->recorder,
				   recorder_see(view->recorder, entry, BUNDLE_WRITE | ops)));
}

static void open_existing(
	struct callview *view, struct pathmap_entry *entry, const struct statx *stx, unsigned flags)
{
	bool reads = (flags & O_ACCMODE) != O_WRONLY;
	bool writes = (flags & O_ACCMODE) != O_RDONLY || flags & O_TRUNC;
	struct record *record;

	/* What is written to a device, such as /dev/null or a terminal, is in no file. */
	if (S_ISCHR(stx->stx_mode))
		view->may_change = false;

	if (S_ISDIR(stx->stx_mode)) {
		recorder_see(view->recorder, entry, BUNDLE_DIRECTORY);
	} else if ((flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL) || S_ISLNK(stx->stx_mode)) {
		recorder_see(view->recorder, entry, BUNDLE_EXISTENCE);
	} else if (writes) {
		/* Also if this name is ignored: the others may not be. */
		if (stx->stx_nlink > 1)
			wait_for_job(view, recorder_content_touch(view->recorder, stx, true));
		write_to(view, entry, reads ? BUNDLE_READ : 0);
	} else {
		record = recorder_see(view->recorder, entry, BUNDLE_READ);
		recorder_content_keep(view->recorder, record);
		/* A process that has the file open by another name may write to it at once. */
		if (view->recorder->at_once && stx->stx_nlink > 1) {
			wait_for_job(view, record->saving);
			callview_check_written_unseen(view, record, stx);
		}
	}
}

/* The file was read before: its state is known, and its content is saved if it has to be. */
static bool is_read_again(
	const struct recorder *recorder, const struct pathmap_entry *entry, unsigned flags)
{
	const struct record *record = recorder_find(recorder, entry);

	return record && !(flags & SYSCALLS_OPEN_CHANGES) && (record->ignored || record->key);
}

static void note_open(struct callview *view, unsigned flags)
{
	bool exclusive = (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
	struct pathmap_entry *entry = callview_named(
		view, view->about->dirfd, view->about->path, !(flags & O_NOFOLLOW) && !exclusive);
	struct statx stx;

	view->may_change = flags & SYSCALLS_OPEN_CHANGES;
	if (!entry)
		return;
	if (flags & O_PATH)
		recorder_see(view->recorder, entry, BUNDLE_EXISTENCE);
	else if ((flags & O_TMPFILE) == O_TMPFILE)
		recorder_see(view->recorder, entry, BUNDLE_DIRECTORY);
	else if (is_read_again(view->recorder, entry, flags))
		recorder_see(view->recorder, entry, BUNDLE_READ);
	else if (recorder_exists(view->recorder, entry, &stx))
		open_existing(view, entry, &stx, flags);
	else if (flags & O_CREAT)
		make_path(view, entry, BUNDLE_WRITE);
	else
		view->missing = recorder_see(view->recorder, entry, BUNDLE_EXISTENCE);
}

static void note_open_how(struct callview *view)
{
	struct open_how how = { 0 };

	if (!tracees_bytes(
		    view->tracee->tid, view->call->args[view->about->flags], &how, sizeof(how))) {
		if (errno == EPERM)
			callview_add_closed_reason(view);
		return;
	}
	view->in_root = how.resolve & RESOLVE_IN_ROOT;
	note_open(view, (unsigned)how.flags);
}

static void remove_path(struct callview *view, bool directory)
{
	struct pathmap_entry *entry = callview_first(view);
	struct statx stx;

	if (!entry)
		return;
	if (!recorder_exists(view->recorder, entry, &stx) || S_ISDIR(stx.stx_mode) != directory) {
		recorder_see(view->recorder, entry, BUNDLE_EXISTENCE);
		return;
	}
	/* The saver could read it later through a descriptor, but others can write through theirs.
	 */
	recorder_see(view->recorder, entry, BUNDLE_DELETE);
	wait_for_job(view, recorder_move_remove(view->recorder, entry, &stx));
	name_changes(view, entry);
	if (directory)
		directory_changes(view);
}

/* The path from becomes to.  The call waits, since the file may be written by the new name next. */
static void move_path(struct callview *view, struct pathmap_entry *from, struct pathmap_entry *to,
	const struct statx *stx)
{
	wait_for_job(view, recorder_move(view->recorder, from, to));
	if (!S_ISDIR(stx->stx_mode))
		return;
	pathmap_forget(view->shared->map);
	directory_changes(view);
}

static void note_rename(struct callview *view)
{
	struct pathmap_entry *from = callview_first(view), *to = callview_second(view);
	struct statx stx, other;

	if (!from || !to)
		return;
	bool there = recorder_exists(view->recorder, to, &other);
	bool exchange = callview_flags(view) & RENAME_EXCHANGE;
	if (!recorder_exists(view->recorder, from, &stx) || (exchange && !there) ||
		(there && callview_flags(view) & RENAME_NOREPLACE)) {
		recorder_see(view->recorder, from, BUNDLE_EXISTENCE);
		recorder_see(view->recorder, to, BUNDLE_EXISTENCE);
		return;
	}
	recorder_move_begin(view->recorder, from, &stx, to, exchange);
	if (there && !exchange) {
		recorder_see(view->recorder, to, BUNDLE_RENAME);
		wait_for_job(view, recorder_move_remove(view->recorder, to, &other));
	}
	move_path(view, from, to, &stx);
	if (exchange)
		move_path(view, to, from, &other);
	name_changes(view, from);
	name_changes(view, to);
}

static void note_link(struct callview *view)
{
	struct pathmap_entry *from = callview_first(view), *to = callview_second(view);

	if (to)
		make_path(view, to, 0);
	/* The file may get its first name here. */
	if (!from)
		return;
	struct record *record = recorder_see(view->recorder, from, BUNDLE_EXISTENCE);
	/* The new name can be used to write the file before the saver has read it. */
	recorder_catch_up(view->recorder);
	wait_for_job(view, record->saving);
	if (to)
		recorder_link(view->recorder, record, recorder_find(view->recorder, to));
}

static void note_chroot(struct callview *view)
{
	struct pathmap_entry *entry = callview_first(view);

	view->shared->roots = true;
	tracees_move(view->shared->tracees, view->tracee);
	if (entry)
		recorder_see(view->recorder, entry, BUNDLE_DIRECTORY);
}

static void note_mount(struct callview *view)
{
	struct pathmap_entry *entry = callview_first(view);

	if (entry)
		recorder_see(view->recorder, entry, BUNDLE_DIRECTORY);
	directory_changes(view);
	view->shared->roots = true;
	/* A file system that is mounted now may be served by the command itself. */
	recorder_look_at_once(view->recorder);
	mountwatch_begin(&view->shared->mountwatch);
	reasons_add(view->shared->reasons, "mounts were changed (%s by process %d)",
		view->about->name, (int)view->tracee->pid);
}

static struct pathmap_entry *socket_name(struct callview *view)
{
	struct sockaddr_un address = { 0 };
	size_t len = (size_t)view->call->args[view->about->flags];

	if (len > sizeof(address))
		len = sizeof(address);
	if (len <= offsetof(struct sockaddr_un, sun_path) ||
		!tracees_bytes(
			view->tracee->tid, view->call->args[view->about->path], &address, len))
		return NULL;
	if (address.sun_family != AF_UNIX || !address.sun_path[0])
		return NULL;
	struct str path = { address.sun_path,
		strnlen(address.sun_path, len - offsetof(struct sockaddr_un, sun_path)) };
	return callview_resolve(view, AT_FDCWD, path, callview_follows(view));
}

/* --- programs --- */

static void note_program(struct callview *view, struct pathmap_entry *entry)
{
	recorder_content_keep(view->recorder, recorder_see(view->recorder, entry, BUNDLE_EXECUTE));
}

void effects_note_execution(struct callview *view, struct pathmap_entry *entry)
{
	char path[PATH_MAX];

	note_program(view, entry);
	/* The kernel itself opens a script's interpreter and a program's loader. */
	for (int i = 0; i < INTERPRETERS_MAX; i++) {
		owned_fd int fd = at_abs_read(entry->path.ptr);

		if (fd < 0 || !interpreter_of(fd, path))
			return;
		entry = callview_resolve(view, AT_FDCWD, str_of(path), true);
		if (!entry)
			return;
		note_program(view, entry);
	}
}

static bool has_capabilities(const struct pathmap_entry *entry)
{
	char value[64];

	return !entry->untouchable &&
	       at_abs_xattr_get(entry->path.ptr, "security.capability", value, sizeof(value)) > 0;
}

static void note_execute(struct callview *view)
{
	struct pathmap_entry *entry = callview_first(view);
	struct process *process = tracees_process(view->shared->tracees, view->tracee->process);
	int8_t argv = (int8_t)(view->about->path + 1);
	struct statx stx;

	if (!entry)
		return;
	if (!recorder_exists(view->recorder, entry, &stx) || !S_ISREG(stx.stx_mode) ||
		!(stx.stx_mode & 0111)) {
		recorder_see(view->recorder, entry, BUNDLE_EXISTENCE);
		return;
	}
	tracees_execute(view->shared->tracees, view->tracee);
	callview_remember_cwd(view);
	tracees_argv(view->tracee->tid, view->call->args[argv], process);
	effects_note_execution(view, entry);
	/* Root's filter does not need PR_SET_NO_NEW_PRIVS, so programs keep their capabilities. */
	if (view->recorder->uid && has_capabilities(entry))
		reasons_add(view->shared->reasons,
			"'%s' has file capabilities, and ran without them because it was traced",
			entry->path.ptr);
	if ((stx.stx_mode & S_ISUID && stx.stx_uid != view->recorder->uid) ||
		(stx.stx_mode & S_ISGID && stx.stx_gid != getegid()))
		reasons_add(view->shared->reasons,
			"'%s' is set-user-ID or set-group-ID, and may have run without that "
			"because it was traced",
			entry->path.ptr);
}

/* Every file we open would wait for this process's permission, and the process waits for us. */
static void note_permit(struct callview *view)
{
	if (!(callview_flags(view) & (FAN_CLASS_CONTENT | FAN_CLASS_PRE_CONTENT)))
		return;
	view->shared->blind = true;
	reasons_add(view->shared->reasons,
		"process %d decides who may open files (fanotify): what came after that is not "
		"recorded",
		(int)view->tracee->pid);
}

/* The first thread's status is that of its process. */
static void note_exit(struct callview *view)
{
	struct process *process = tracees_process(view->shared->tracees, view->tracee->process);

	view->tracee->gone = true;
	if (view->tracee->tid == view->tracee->pid)
		process->status = (callview_argument(view, view->about->flags) & 0xff) << 8;
}

static void note_exit_group(struct callview *view)
{
	struct process *process = tracees_process(view->shared->tracees, view->tracee->process);

	view->tracee->gone = true;
	process->status = (callview_argument(view, view->about->flags) & 0xff) << 8;
	/* Without a pidfd we will not hear of its end. */
	if (process->pidfd < 0)
		process->ended = true;
}

/* --- one function for each kind of call --- */

static void note_open_flags(struct callview *view)
{
	note_open(view, callview_flags(view));
}

static void note_creat(struct callview *view)
{
	note_open(view, O_WRONLY | O_CREAT | O_TRUNC);
}

static void note_first(struct callview *view, unsigned ops)
{
	struct pathmap_entry *entry = callview_first(view);

	if (entry)
		recorder_see(view->recorder, entry, ops);
}

static void note_look(struct callview *view)
{
	note_first(view, BUNDLE_EXISTENCE);
}

static void note_readlink(struct callview *view)
{
	note_first(view, BUNDLE_READ);
}

static void note_list(struct callview *view)
{
	note_first(view, BUNDLE_DIRECTORY);
}

static void note_chdir(struct callview *view)
{
	note_first(view, BUNDLE_DIRECTORY);
	tracees_move(view->shared->tracees, view->tracee);
}

static void note_make(struct callview *view)
{
	struct pathmap_entry *entry = callview_first(view);

	if (entry)
		make_path(view, entry, 0);
}

static void note_unlink(struct callview *view)
{
	remove_path(view, callview_flags(view) & AT_REMOVEDIR);
}

static void note_rmdir(struct callview *view)
{
	remove_path(view, true);
}

static void touch_other_names(struct callview *view, struct pathmap_entry *entry, bool content)
{
	struct statx stx;

	if (recorder_exists(view->recorder, entry, &stx) && !S_ISDIR(stx.stx_mode) &&
		stx.stx_nlink > 1)
		wait_for_job(view, recorder_content_touch(view->recorder, &stx, content));
}

/* A file can be changed through a descriptor whose name is gone, and may have other names. */
static void touch_nameless_file(struct callview *view, unsigned ops)
{
	struct statx stx;

	if (callview_nameless(view, &stx) && stx.stx_nlink && S_ISREG(stx.stx_mode))
		wait_for_job(view, recorder_content_touch_nameless(view->recorder, &stx, ops));
}

static void note_truncate(struct callview *view)
{
	struct pathmap_entry *entry = callview_first(view);

	if (!entry) {
		touch_nameless_file(view, BUNDLE_WRITE);
		return;
	}
	touch_other_names(view, entry, true);
	write_to(view, entry, 0);
}

static void note_metadata(struct callview *view)
{
	struct pathmap_entry *entry = callview_first(view);

	if (!entry) {
		touch_nameless_file(view, BUNDLE_METADATA);
		return;
	}
	touch_other_names(view, entry, false);
	recorder_see(view->recorder, entry, BUNDLE_METADATA);
}

static void note_connect(struct callview *view)
{
	struct pathmap_entry *entry = socket_name(view);

	if (entry)
		recorder_see(view->recorder, entry, BUNDLE_EXISTENCE);
}

static void note_bind(struct callview *view)
{
	struct pathmap_entry *entry = socket_name(view);

	if (entry)
		make_path(view, entry, 0);
}

static void note_handle(struct callview *view)
{
	recorder_look_at_once(view->recorder);
	reasons_add(view->shared->reasons,
		"process %d opened a file by its handle, so the file's name is not known",
		(int)view->tracee->pid);
}

static void note_detach(struct callview *view)
{
	tracees_move(view->shared->tracees, view->tracee);
	view->tracee->new_mounts = true;
}

static void note_seccomp(struct callview *view)
{
	if (callview_flags(view) & SECCOMP_FILTER_FLAG_NEW_LISTENER)
		reasons_add(view->shared->reasons,
			"process %d wants to be notified of system calls, which only one process "
			"can be",
			(int)view->tracee->pid);
}

static void note_ptrace(struct callview *view)
{
	if (view->shared->by_ptrace)
		reasons_add(view->shared->reasons,
			"process %d wants to trace, which does not work with the engine ptrace",
			(int)view->tracee->pid);
}

/* --- the table --- */

static const struct effect {
	void (*note)(struct callview *view);
	bool harmless; /* changes neither a file nor what a name stands for */
	bool can_wait; /* and need not be known when the next call comes */
} effects[] = {
	[SYSCALLS_OPEN] = { note_open_flags, false, false }, /* depends on its flags */
	[SYSCALLS_OPEN_HOW] = { note_open_how, false, false },
	[SYSCALLS_CREAT] = { note_creat, false, false },
	[SYSCALLS_LOOK] = { note_look, true, true },
	[SYSCALLS_READLINK] = { note_readlink, true, true },
	[SYSCALLS_LIST] = { note_list, true, true },
	[SYSCALLS_CHDIR] = { note_chdir, true, false },
	[SYSCALLS_EXECUTE] = { note_execute, true, false },
	[SYSCALLS_MAKE] = { note_make, false, false },
	[SYSCALLS_UNLINK] = { note_unlink, false, false },
	[SYSCALLS_RMDIR] = { note_rmdir, false, false },
	[SYSCALLS_RENAME] = { note_rename, false, false },
	[SYSCALLS_LINK] = { note_link, false, false },
	[SYSCALLS_TRUNCATE] = { note_truncate, false, false },
	[SYSCALLS_METADATA] = { note_metadata, false, false },
	[SYSCALLS_CONNECT] = { note_connect, true, false },
	[SYSCALLS_BIND] = { note_bind, false, false },
	[SYSCALLS_CHROOT] = { note_chroot, false, false },
	[SYSCALLS_MOUNT] = { note_mount, false, false },
	[SYSCALLS_HANDLE] = { note_handle, false, false },
	[SYSCALLS_DETACH] = { note_detach, false, false },
	[SYSCALLS_PERMIT] = { note_permit, false, false },
	[SYSCALLS_SECCOMP] = { note_seccomp, false, false },
	[SYSCALLS_PTRACE] = { note_ptrace, false, false },
	[SYSCALLS_EXIT] = { note_exit, true, false },
	[SYSCALLS_EXIT_GROUP] = { note_exit_group, true, false },
};
_Static_assert(sizeof(effects) / sizeof(*effects) == SYSCALLS_DOES, "one effect for each");

void effects_note(struct callview *view)
{
	const struct effect *effect = &effects[view->about->does];

	view->may_change = !effect->harmless;
	effect->note(view);
}

bool effects_can_wait(const struct traced_call *call, const struct syscalls_call *about)
{
	if (about->does == SYSCALLS_OPEN)
		return !(call->args[about->flags] & SYSCALLS_OPEN_CHANGES);
	return effects[about->does].can_wait;
}
