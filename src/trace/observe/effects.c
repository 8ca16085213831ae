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
#include "sandbox/threadview.h"

/*
 * maximum length of a chain of interpreters that are scripts themselves; the kernel's limit is
 * lower
 */
#define INTERPRETERS_MAX 5

/*
 * Hold the call until the saver has done the job with this number.  0 means that there is no job.
 */
static void hold_for_job(struct callview *view, uint64_t job)
{
	if (job > view->job)
		view->job = job;
}

/* --- what happens to one path --- */

static void note_first(struct callview *view, unsigned ops)
{
	struct pathmap_entry *entry = callview_first(view);

	if (entry)
		recorder_note(view->recorder, entry, ops);
}

/*
 * Record that the call makes or removes a name.  The call also changes the directory that contains
 * the name.  Afterwards the name leads to another file, or to none.
 */
static void note_name_change(struct callview *view, struct pathmap_entry *entry)
{
	struct tracee *tracee = view->tracee;
	int slot = tracee->unsettled[0] ? 1 : 0;
	struct record *record = recorder_find(view->recorder, entry);

	if (record && tracees_is_changing(view->shared->tracees, tracee, entry))
		record->raced = true;
	if (entry->parent)
		recorder_names_change(view->recorder, entry->parent);
	if (tracee->unsettled[slot])
		pathmap_settle(view->shared->map, tracee->unsettled[slot]);
	tracee->unsettled[slot] = entry;
	pathmap_unsettle(view->shared->map, entry);
	missing_may_appear(&view->shared->missing, view->recorder, tracee->tid, entry);
}

/*
 * Record that a directory appears or disappears.  All names below it then appear or disappear, too.
 */
static void note_directory_change(struct callview *view)
{
	view->tracee->forget = true;
	tracees_forget_cwds(view->shared->tracees, view->tracee);
}

static void note_creation(struct callview *view, struct pathmap_entry *entry, unsigned ops)
{
	struct statx stx;

	if (recorder_exists(view->recorder, entry, &stx)) {
		recorder_note(view->recorder, entry, BUNDLE_EXISTENCE);
		return;
	}
	recorder_name_change(view->recorder,
		recorder_note(view->recorder, entry, BUNDLE_CREATE | ops), RECORD_NAME_MADE, NULL);
	note_name_change(view, entry);
}

static void note_write(struct callview *view, struct pathmap_entry *entry, unsigned ops)
{
	hold_for_job(view, recorder_content_secure(view->recorder,
				   recorder_note(view->recorder, entry, BUNDLE_WRITE | ops)));
}

/* Returns the operations that open(2) with these flags does to the content. */
static unsigned open_ops(unsigned flags)
{
	unsigned mode = flags & O_ACCMODE;

	return (mode != O_WRONLY ? BUNDLE_READ : 0) |
	       (mode != O_RDONLY || flags & O_TRUNC ? BUNDLE_WRITE : 0);
}

static void note_open_existing(
	struct callview *view, struct pathmap_entry *entry, const struct statx *stx, unsigned flags)
{
	unsigned ops = open_ops(flags);
	struct record *record;

	/* opening a device for writing, such as /dev/null or a terminal, changes no file */
	if (S_ISCHR(stx->stx_mode))
		view->may_change = false;
	if (S_ISDIR(stx->stx_mode)) {
		recorder_note(view->recorder, entry, BUNDLE_DIRECTORY);
	} else if ((flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL) || S_ISLNK(stx->stx_mode)) {
		recorder_note(view->recorder, entry, BUNDLE_EXISTENCE);
	} else if (ops & BUNDLE_WRITE) {
		/*
		 * Save the content even if this name is ignored, since the file may have other
		 * names that are not ignored.
		 */
		if (stx->stx_nlink > 1)
			hold_for_job(view, recorder_content_touch(view->recorder, stx, true));
		recorder_name_check_overtaken(
			view->recorder, recorder_find(view->recorder, entry), stx);
		note_write(view, entry, ops);
	} else {
		record = recorder_note(view->recorder, entry, BUNDLE_READ);
		recorder_content_keep(view->recorder, record);
		/*
		 * Another process may have the file open under another name, and may write to it as
		 * soon as this call goes on.  So the call waits for the saver.
		 */
		if (view->recorder->at_once && stx->stx_nlink > 1) {
			hold_for_job(view, record->saving);
			callview_check_written_unseen(view, record, stx);
		}
	}
}

/*
 * Record that the file of the entry does not exist.  If another thread makes the file before the
 * kernel executes the call, the call finds the file after all.
 */
static void note_missing(struct callview *view, struct pathmap_entry *entry, unsigned ops)
{
	view->missing = recorder_note(view->recorder, entry, BUNDLE_EXISTENCE);
	view->missing_ops = ops;
}

/*
 * Whether the call only reads the file, and the file need not be examined again.  This is true if
 * the file is ignored, and also if the command has read the file before, since its state and
 * content are then kept already.
 */
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
		recorder_note(view->recorder, entry, BUNDLE_EXISTENCE);
	else if ((flags & O_TMPFILE) == O_TMPFILE)
		recorder_note(view->recorder, entry, BUNDLE_DIRECTORY);
	else if (is_read_again(view->recorder, entry, flags))
		recorder_note(view->recorder, entry, BUNDLE_READ);
	else if (recorder_exists(view->recorder, entry, &stx))
		note_open_existing(view, entry, &stx, flags);
	else if (flags & O_CREAT)
		note_creation(view, entry, BUNDLE_WRITE);
	else
		note_missing(view, entry, open_ops(flags));
}

static void note_open_how(struct callview *view)
{
	struct open_how how = { 0 };

	if (!threadview_bytes(
		    view->tracee->tid, view->call->args[view->about->flags], &how, sizeof(how))) {
		if (errno == EPERM)
			callview_add_closed_reason(view);
		return;
	}
	view->in_root = how.resolve & RESOLVE_IN_ROOT;
	note_open(view, (unsigned)how.flags);
}

static void note_removal(struct callview *view)
{
	bool directory = view->about->does == SYSCALLS_RMDIR || callview_flags(view) & AT_REMOVEDIR;
	struct pathmap_entry *entry = callview_first(view);
	struct statx stx;

	if (!entry)
		return;
	if (!recorder_exists(view->recorder, entry, &stx) || S_ISDIR(stx.stx_mode) != directory) {
		recorder_note(view->recorder, entry, BUNDLE_EXISTENCE);
		return;
	}
	/*
	 * Have the file saved before the call goes on.  After the call, the file could still be
	 * read through an open descriptor, but other processes could have written to it.
	 */
	recorder_note(view->recorder, entry, BUNDLE_DELETE);
	hold_for_job(view, recorder_move_remove(view->recorder, entry, &stx));
	note_name_change(view, entry);
	if (directory)
		note_directory_change(view);
}

/*
 * Record that one path is renamed to another.  The file is saved before the call goes on, since the
 * command may afterwards write to the file under its new name.
 */
static void note_move(struct callview *view, struct pathmap_entry *from, struct pathmap_entry *to,
	const struct statx *stx)
{
	hold_for_job(view, recorder_move(view->recorder, from, to));
	if (!S_ISDIR(stx->stx_mode))
		return;
	pathmap_forget(view->shared->map);
	note_directory_change(view);
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
		recorder_note(view->recorder, from, BUNDLE_EXISTENCE);
		recorder_note(view->recorder, to, BUNDLE_EXISTENCE);
		return;
	}
	recorder_move_begin(view->recorder, from, &stx, to, exchange);
	if (there && !exchange) {
		recorder_note(view->recorder, to, BUNDLE_RENAME);
		hold_for_job(view, recorder_move_remove(view->recorder, to, &other));
	}
	note_move(view, from, to, &stx);
	if (exchange)
		note_move(view, to, from, &other);
	note_name_change(view, from);
	note_name_change(view, to);
}

static void note_link(struct callview *view)
{
	struct pathmap_entry *from = callview_first(view), *to = callview_second(view);

	if (to)
		note_creation(view, to, 0);
	/* A file without an entry was made with O_TMPFILE, and gets its first name now. */
	if (!from)
		return;
	struct record *record = recorder_note(view->recorder, from, BUNDLE_EXISTENCE);
	/*
	 * The call waits for the saver.  Otherwise the command could write to the file under its
	 * new name before the saver has read it.
	 */
	recorder_catch_up(view->recorder);
	hold_for_job(view, record->saving);
	if (to)
		recorder_link(view->recorder, record, recorder_find(view->recorder, to));
}

static void note_chroot(struct callview *view)
{
	note_first(view, BUNDLE_DIRECTORY);
	view->shared->roots = true;
	tracees_forget_cwds(view->shared->tracees, view->tracee);
}

static void note_mount(struct callview *view)
{
	note_first(view, BUNDLE_DIRECTORY);
	note_directory_change(view);
	view->shared->roots = true;
	/*
	 * The command itself may serve the file system that is mounted now.  So the look queue is
	 * no longer used: a file that waits in the queue might later belong to that file system.
	 */
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
		!threadview_bytes(
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
	recorder_content_keep(view->recorder, recorder_note(view->recorder, entry, BUNDLE_EXECUTE));
}

void effects_note_execution(struct callview *view, struct pathmap_entry *entry)
{
	char path[PATH_MAX];

	note_program(view, entry);
	/*
	 * The kernel itself opens the interpreter of a script and the loader of a program, so no
	 * call names these files.
	 */
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
		note_missing(view, entry, BUNDLE_EXECUTE);
		view->tracee->executing = true;
		return;
	}
	tracees_execute(view->shared->tracees, view->tracee);
	callview_remember_cwd(view);
	tracees_argv(view->tracee->tid, view->call->args[argv], process);
	effects_note_execution(view, entry);
	/*
	 * If root runs strata, programs keep their capabilities, because root's filter does not
	 * need PR_SET_NO_NEW_PRIVS.
	 */
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

/*
 * Record that a process asks for permission events.  Every file that strata opens would then wait
 * for permission from this process, while this process waits for strata.
 */
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

/*
 * Record that a thread or a process ends.  The exit status of a process is the exit status of its
 * first thread.
 */
static void note_exit(struct callview *view)
{
	struct process *process = tracees_process(view->shared->tracees, view->tracee->process);
	bool whole_process = view->about->does == SYSCALLS_EXIT_GROUP;

	view->tracee->gone = true;
	if (whole_process || view->tracee->tid == view->tracee->pid)
		process->status = (callview_argument(view, view->about->flags) & 0xff) << 8;
	/* Without a pidfd, no event reports the end of the process. */
	if (whole_process && process->pidfd < 0)
		process->ended = true;
}

/* --- a function for each kind of call --- */

static void note_open_or_creat(struct callview *view)
{
	bool creat = view->about->does == SYSCALLS_CREAT;

	note_open(view, creat ? O_WRONLY | O_CREAT | O_TRUNC : callview_flags(view));
}

static void note_chdir(struct callview *view)
{
	note_first(view, BUNDLE_DIRECTORY);
	tracees_forget_cwds(view->shared->tracees, view->tracee);
}

static void note_make(struct callview *view)
{
	struct pathmap_entry *entry = callview_first(view);

	if (entry)
		note_creation(view, entry, 0);
}

static void touch_other_names(struct callview *view, struct pathmap_entry *entry, bool content)
{
	struct statx stx;

	if (recorder_exists(view->recorder, entry, &stx) && !S_ISDIR(stx.stx_mode) &&
		stx.stx_nlink > 1)
		hold_for_job(view, recorder_content_touch(view->recorder, &stx, content));
}

/*
 * Prepare for a change of a file through a descriptor.  The name by which the file was opened may
 * have been removed.  The file may also have other names.
 */
static void touch_nameless_file(struct callview *view, unsigned ops)
{
	struct statx stx;

	if (callview_nameless(view, &stx) && stx.stx_nlink && S_ISREG(stx.stx_mode))
		hold_for_job(view, recorder_content_touch_nameless(view->recorder, &stx, ops));
}

static void note_truncate_or_metadata(struct callview *view)
{
	bool content = view->about->does == SYSCALLS_TRUNCATE;
	struct pathmap_entry *entry = callview_first(view);

	if (!entry) {
		touch_nameless_file(view, content ? BUNDLE_WRITE : BUNDLE_METADATA);
		return;
	}
	touch_other_names(view, entry, content);
	if (content)
		note_write(view, entry, 0);
	else
		recorder_note(view->recorder, entry, BUNDLE_METADATA)->retimed |=
			view->about->does == SYSCALLS_TIMES;
}

static void note_socket(struct callview *view)
{
	struct pathmap_entry *entry = socket_name(view);

	if (entry && view->about->does == SYSCALLS_BIND)
		note_creation(view, entry, 0);
	else if (entry)
		recorder_note(view->recorder, entry, BUNDLE_EXISTENCE);
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
	tracees_forget_cwds(view->shared->tracees, view->tracee);
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

/* --- the table of effects --- */

static const struct effect {
	/* NULL: the operations 'ops' are noted for the first path of the call */
	void (*note)(struct callview *view);
	/* the call changes no file, and makes, moves or removes no name */
	bool harmless;
	bool can_wait; /* the call is harmless, and may go on before it is examined */
	unsigned ops;
} effects[] = {
	/* whether an open is harmless depends on its flags */
	[SYSCALLS_OPEN] = { .note = note_open_or_creat },
	[SYSCALLS_OPEN_HOW] = { .note = note_open_how },
	[SYSCALLS_CREAT] = { .note = note_open_or_creat },
	[SYSCALLS_LOOK] = { .harmless = true, .can_wait = true, .ops = BUNDLE_EXISTENCE },
	[SYSCALLS_READLINK] = { .harmless = true, .can_wait = true, .ops = BUNDLE_READ },
	[SYSCALLS_LIST] = { .harmless = true, .can_wait = true, .ops = BUNDLE_DIRECTORY },
	[SYSCALLS_CHDIR] = { .note = note_chdir, .harmless = true },
	[SYSCALLS_EXECUTE] = { .note = note_execute, .harmless = true },
	[SYSCALLS_MAKE] = { .note = note_make },
	[SYSCALLS_UNLINK] = { .note = note_removal },
	[SYSCALLS_RMDIR] = { .note = note_removal },
	[SYSCALLS_RENAME] = { .note = note_rename },
	[SYSCALLS_LINK] = { .note = note_link },
	[SYSCALLS_TRUNCATE] = { .note = note_truncate_or_metadata },
	[SYSCALLS_METADATA] = { .note = note_truncate_or_metadata },
	[SYSCALLS_TIMES] = { .note = note_truncate_or_metadata },
	[SYSCALLS_CONNECT] = { .note = note_socket, .harmless = true },
	[SYSCALLS_BIND] = { .note = note_socket },
	[SYSCALLS_CHROOT] = { .note = note_chroot },
	[SYSCALLS_MOUNT] = { .note = note_mount },
	[SYSCALLS_HANDLE] = { .note = note_handle },
	[SYSCALLS_DETACH] = { .note = note_detach },
	[SYSCALLS_PERMIT] = { .note = note_permit },
	[SYSCALLS_SECCOMP] = { .note = note_seccomp },
	[SYSCALLS_PTRACE] = { .note = note_ptrace },
	[SYSCALLS_EXIT] = { .note = note_exit, .harmless = true },
	[SYSCALLS_EXIT_GROUP] = { .note = note_exit, .harmless = true },
};
_Static_assert(sizeof(effects) / sizeof(*effects) == SYSCALLS_DOES, "one effect for each");

void effects_note(struct callview *view)
{
	const struct effect *effect = &effects[view->about->does];

	view->may_change = !effect->harmless;
	if (effect->note)
		effect->note(view);
	else
		note_first(view, effect->ops);
}

bool effects_can_wait(const struct traced_call *call, const struct syscalls_call *about)
{
	if (about->does == SYSCALLS_OPEN)
		return !(call->args[about->flags] & SYSCALLS_OPEN_CHANGES);
	return effects[about->does].can_wait;
}
