#include "trace/observe/callview.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/at.h"
#include "core/own.h"
#include "sandbox/threadview.h"

int callview_argument(const struct callview *view, int8_t index)
{
	return (int)view->call->args[index];
}

unsigned callview_flags(const struct callview *view)
{
	return view->about->flags == SYSCALLS_NONE
		       ? 0
		       : (unsigned)callview_argument(view, view->about->flags);
}

static void note_link(void *arg, struct pathmap_entry *link)
{
	struct callview *view = arg;

	recorder_note(view->recorder, link, BUNDLE_READ);
}

/*
 * To be called when strata may not look into the calling process: the process is not dumpable, and
 * strata does not run as root.
 */
void callview_add_closed_reason(struct callview *view)
{
	/* No reason is needed for a fork of strata that has not executed the command yet. */
	if (view->tracee->pid == view->shared->command)
		return;
	reasons_add(view->shared->reasons,
		"process %d cannot be inspected: not all of its files are recorded",
		(int)view->tracee->pid);
}

/*
 * Returns the entry for the target of a link in /proc, or NULL if the target is a file without a
 * name.
 */
static struct pathmap_entry *entry_of_target(struct pathmap *map, struct str text)
{
	struct statx stx;

	if (!text.len || *text.ptr != '/')
		return NULL;
	/*
	 * The name of an existing file may end with " (deleted)", the kernel's mark of a deleted
	 * file.
	 */
	if (pathmap_says_deleted(text.ptr) && at_abs_stat(text.ptr, &stx) < 0)
		return NULL;
	return pathmap_known(map, text);
}

static void add_long_path_reason(struct callview *view)
{
	reasons_add(view->shared->reasons,
		"process %d uses a file that is not recorded: its path is too long to be known",
		(int)view->tracee->pid);
}

/*
 * Returns the entry for a directory that is the target of a link in /proc, and whose path is longer
 * than PATH_MAX.  readlink fails for such a link.  at_long_path finds the path step by step.
 */
static struct pathmap_entry *entry_of_long_link(struct callview *view, const char *name)
{
	owned(buf_release) struct buf path = { .max = CALLVIEW_PATH_MAX };
	char link[64];

	snprintf(link, sizeof(link), "/proc/%d/%s", (int)view->tracee->tid, name);
	if (at_long_path(link, &path) == 0)
		return entry_of_target(view->shared->map, (struct str){ path.data, path.len });
	add_long_path_reason(view);
	return NULL;
}

static struct pathmap_entry *entry_of_link(struct callview *view, const char *name)
{
	char text[PATH_MAX];
	ssize_t len = threadview_link(view->tracee->tid, name, text);

	if (len == -ENAMETOOLONG)
		return entry_of_long_link(view, name);
	if (len == -EACCES || len == -EPERM)
		callview_add_closed_reason(view);
	if (len <= 0)
		return NULL;
	return entry_of_target(view->shared->map, (struct str){ text, (size_t)len });
}

static struct pathmap_entry *working_directory(struct callview *view)
{
	struct tracees *tracees = view->shared->tracees;
	struct pathmap_entry *entry = tracees_cwd(tracees, view->tracee);

	if (entry)
		return entry;
	entry = entry_of_link(view, "cwd");
	if (entry)
		tracees_keep_cwd(tracees, view->tracee, entry);
	return entry;
}

static struct pathmap_entry *entry_of_fd(struct callview *view, int fd)
{
	char name[32];

	if (fd == AT_FDCWD)
		return working_directory(view);
	snprintf(name, sizeof(name), "fd/%d", fd);
	return fd < 0 ? NULL : entry_of_link(view, name);
}

static void add_gone_reason(struct callview *view, struct str path)
{
	reasons_add(view->shared->reasons,
		"process %d, which had asked about '%s', was gone when that path was resolved",
		(int)view->tracee->pid, path.ptr);
}

/*
 * Whether the thread is the only one of its process.  If so, no other thread can have closed a
 * descriptor that the thread has used in a path.  A process may also share its descriptors with
 * another process (CLONE_FILES).  This case is ignored, because no known program makes such
 * processes.
 */
static bool is_only_thread(pid_t tid)
{
	char path[64];
	struct statx stx;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)tid);
	return at_abs_stat(path, &stx) == 0 && stx.stx_nlink == 3;
}

/*
 * Whether the path still leads to the same file as when the call was made.  A path through /proc
 * depends on the working directory, the root and the program of a process.  Only calls that stop
 * can change these, and a later call that stops is examined after this call.  A path through /proc
 * may also depend on a descriptor, and strata does not see the calls that close descriptors.
 */
static bool led_the_same_way(const struct callview *view, const struct pathmap_walk *walk)
{
	const struct deferred_call *deferred = view->deferred;

	if (!deferred || !walk->fleeting)
		return true;
	if (!deferred->passed || tracees_is_gone(view->tracee->tid))
		return false;
	if (!walk->descriptor)
		return true;
	int fd = pathmap_fd_of(walk->descriptor, view->tracee->pid);
	return fd >= 0 && is_only_thread(view->tracee->tid) &&
	       ((walk->known && fd == walk->known_fd) ||
		       view->shared->has_open(view->shared->passing, deferred->task,
			       deferred->closes, (unsigned)fd));
}

/* Returns the data about the last passed call of a thread, or NULL if there are none. */
static const struct callview_last *last_of(const struct callview_shared *shared, pid_t tid)
{
	const struct callview_last *last = &shared->last[(unsigned)tid % CALLVIEW_LAST];

	return last->tid == tid ? last : NULL;
}

/*
 * Tell the walk which descriptor and file the last passed call of the thread has opened.  If the
 * thread has closed no descriptor between that call and the present call, the descriptor still had
 * this file when the present call was made.  By now the descriptor may be closed.
 */
static void use_last_opened(const struct callview *view, struct pathmap_walk *walk)
{
	const struct deferred_call *deferred = view->deferred;
	const struct callview_last *last = last_of(view->shared, view->tracee->tid);

	if (!deferred || !deferred->passed || !last || last->fd < 0 ||
		last->closes != deferred->closes)
		return;
	walk->known_fd = last->fd;
	walk->known = last->opened;
}

/* Returns the root directory of the process. */
static struct pathmap_entry *root_of(struct callview *view, struct str path)
{
	struct pathmap_entry *root = NULL;

	if (view->shared->roots)
		root = entry_of_link(view, "root");
	if (view->shared->roots && !root && view->deferred)
		add_gone_reason(view, path);
	return root ?: pathmap_root(view->shared->map);
}

static struct pathmap_entry *resolve_from(
	struct callview *view, struct pathmap_entry *base, struct str path, bool follow)
{
	struct pathmap_walk walk = {
		.root = view->in_root ? base : root_of(view, path),
		.base = base,
		.self = view->tracee->pid,
		.thread = view->tracee->tid,
		.follow = follow,
		.through = note_link,
		.arg = view,
	};

	use_last_opened(view, &walk);
	struct pathmap_entry *entry = pathmap_resolve(view->shared->map, &walk, path);
	view->resolved = entry;
	if (walk.too_long || (entry && entry->path.len > CALLVIEW_PATH_MAX)) {
		add_long_path_reason(view);
		return NULL;
	}
	if (!led_the_same_way(view, &walk))
		reasons_add(view->shared->reasons,
			"'%s' leads into /proc, and process %d had gone on when it was resolved",
			path.ptr, (int)view->tracee->pid);
	return entry;
}

bool callview_nameless(struct callview *view, struct statx *stx)
{
	char link[64];
	int fd = view->about->dirfd == SYSCALLS_NONE ? -1
						     : callview_argument(view, view->about->dirfd);

	if (fd < 0 || view->deferred)
		return false;
	snprintf(link, sizeof(link), "/proc/%d/fd/%d", (int)view->tracee->tid, fd);
	return at_link_stat(link, stx) == 0;
}

static bool is_absolute(struct str path)
{
	return path.len && *path.ptr == '/';
}

struct pathmap_entry *callview_resolve(struct callview *view, int fd, struct str path, bool follow)
{
	bool from_root = is_absolute(path) && !view->in_root;
	struct pathmap_entry *base = from_root ? NULL : entry_of_fd(view, fd);

	return base || from_root ? resolve_from(view, base, path, follow) : NULL;
}

static struct pathmap_entry *named_by_deferred(struct callview *view, bool follow)
{
	const struct deferred_call *deferred = view->deferred;
	struct str text = { deferred->text, deferred->text_len };
	struct pathmap_entry *base = deferred->base;

	if (deferred->base_len)
		base = entry_of_target(view->shared->map,
			(struct str){ deferred->text + text.len + 1, deferred->base_len });
	if (!base && !is_absolute(text))
		return NULL;
	return text.len ? resolve_from(view, base, text, follow) : base;
}

/*
 * Returns the entry of the file that the call names.  The path is read from the program's memory.
 * If the parameter path is SYSCALLS_NONE, the call names the file of its descriptor.
 */
struct pathmap_entry *callview_named(struct callview *view, int8_t dirfd, int8_t path, bool follow)
{
	int fd = dirfd == SYSCALLS_NONE ? AT_FDCWD : callview_argument(view, dirfd);
	char text[PATH_MAX];

	if (view->deferred)
		return named_by_deferred(view, follow);
	if (path == SYSCALLS_NONE || !view->call->args[path])
		return dirfd == SYSCALLS_NONE ? NULL : entry_of_fd(view, fd);
	ssize_t len = threadview_text(view->tracee->tid, view->call->args[path], text);
	if (len < 0 && errno == EPERM)
		callview_add_closed_reason(view);
	if (len < 0)
		return NULL;
	if (view->tracee->pid == view->shared->command && view->about->does != SYSCALLS_EXECUTE)
		view->shared->command = 0;
	if (!len)
		return dirfd == SYSCALLS_NONE ? NULL : entry_of_fd(view, fd);
	return callview_resolve(view, fd, (struct str){ text, (size_t)len }, follow);
}

bool callview_follows(const struct callview *view)
{
	switch (view->about->follow) {
	case SYSCALLS_FOLLOWS:
		return true;
	case SYSCALLS_STAYS:
		return false;
	case SYSCALLS_BY_FLAG:
		return !(callview_flags(view) & AT_SYMLINK_NOFOLLOW);
	case SYSCALLS_IF_FLAGGED:
		return callview_flags(view) & AT_SYMLINK_FOLLOW;
	}
	return true;
}

struct pathmap_entry *callview_first(struct callview *view)
{
	return callview_named(view, view->about->dirfd, view->about->path, callview_follows(view));
}

struct pathmap_entry *callview_second(struct callview *view)
{
	return callview_named(view, view->about->dirfd2, view->about->path2, false);
}

/* --- calls that are deferred --- */

/*
 * Whether a path may lead into /proc, directly or through a link in /dev.  Such a path may lead to
 * another file after the program has gone on, since strata does not see calls that close
 * descriptors.  If from_root is set, a relative path begins at the root directory.
 */
static bool leads_to_proc(struct str path, bool from_root)
{
	bool top = from_root || is_absolute(path);

	for (struct str name; (name = str_take_name(&path)).len;) {
		if (top && (str_eq(name, STR("proc")) || str_eq(name, STR("dev"))))
			return true;
		/* the name ".." may lead back to the root directory */
		if (!str_eq(name, STR(".")))
			top = str_eq(name, STR(".."));
	}
	return false;
}

/*
 * Find the directory at which a relative path begins, or the file that an empty path stands for.
 * Returns false if resolving the path later would need more data of the program.
 */
static bool find_deferred_base(const struct callview_shared *shared, const struct tracee *tracee,
	struct deferred_call *deferred)
{
	struct str text = { deferred->text, deferred->text_len };
	int8_t dirfd = deferred->about->dirfd;
	int fd = dirfd == SYSCALLS_NONE ? AT_FDCWD : (int)deferred->call.args[dirfd];
	char name[32];

	if (fd == AT_FDCWD) {
		deferred->base = tracees_cwd(shared->tracees, tracee);
		return deferred->base && !leads_to_proc(deferred->base->path, true) &&
		       !leads_to_proc(text, !deferred->base->parent);
	}
	snprintf(name, sizeof(name), "fd/%d", fd);
	char *target = deferred->text + deferred->text_len + 1;
	ssize_t len = threadview_link(tracee->tid, name, target);
	deferred->base_len = len < 0 ? 0 : (size_t)len;
	return len > 0 && !leads_to_proc((struct str){ target, (size_t)len }, true) &&
	       !leads_to_proc(text, len == 1);
}

static size_t deferred_length(const struct deferred_call *deferred)
{
	return offsetof(struct deferred_call, text) + deferred->text_len + 1 + deferred->base_len +
	       1;
}

/*
 * Set all members but the text.  The text is not cleared, because it is too large to be cleared for
 * each call.
 */
static void init_deferred(struct deferred_call *deferred, const struct tracee *tracee,
	const struct traced_call *call, const struct syscalls_call *about)
{
	deferred->call = *call;
	deferred->about = about;
	deferred->pid = tracee->pid;
	deferred->process = tracee->process;
	deferred->base = NULL;
	deferred->passed = false;
	deferred->text_len = deferred->base_len = 0;
	deferred->text[0] = '\0';
}

size_t callview_defer(const struct callview_shared *shared, const struct tracee *tracee,
	const struct traced_call *call, const struct syscalls_call *about,
	struct deferred_call *deferred)
{
	init_deferred(deferred, tracee, call, about);
	if (about->path != SYSCALLS_NONE) {
		ssize_t len = threadview_text(tracee->tid, call->args[about->path], deferred->text);

		if (len <= 0 || leads_to_proc((struct str){ deferred->text, (size_t)len }, false))
			return 0;
		deferred->text_len = (size_t)len;
	}
	if (deferred->text[0] != '/' && !find_deferred_base(shared, tracee, deferred))
		return 0;
	return deferred_length(deferred);
}

size_t callview_defer_passed(const struct callview_shared *shared, const struct tracee *tracee,
	const struct passed_call *passed, const struct syscalls_call *about,
	struct deferred_call *deferred, bool *lacks_base)
{
	init_deferred(deferred, tracee, &passed->call, about);
	deferred->passed = true;
	deferred->task = passed->task;
	deferred->closes = passed->closes;
	deferred->text_len = passed->path.len;
	memcpy(deferred->text, passed->path.ptr, passed->path.len);
	deferred->text[passed->path.len] = deferred->text[passed->path.len + 1] = '\0';
	if (!is_absolute(passed->path))
		deferred->base = tracees_cwd(shared->tracees, tracee);
	*lacks_base = !is_absolute(passed->path) && !deferred->base;
	return deferred_length(deferred);
}

void callview_remember_cwd(struct callview *view)
{
	if (view->shared->passing && view->tracee->tid == view->tracee->pid)
		(void)working_directory(view);
}

bool callview_find_base(struct callview *view, struct deferred_call *deferred)
{
	deferred->base = working_directory(view);
	if (!deferred->base && tracees_is_gone(view->tracee->tid))
		add_gone_reason(view, (struct str){ deferred->text, deferred->text_len });
	return deferred->base;
}

bool callview_is_fleeting(const struct deferred_call *deferred)
{
	struct str text = { deferred->text, deferred->text_len };
	const struct pathmap_entry *base = deferred->base;

	return leads_to_proc(text, base && !base->parent) ||
	       (base && leads_to_proc(base->path, true));
}

void callview_check_written_unseen(
	struct callview *view, const struct record *record, const struct statx *stx)
{
	if (view->deferred && view->deferred->passed &&
		recorder_content_is_written_unseen(view->recorder, record, stx))
		reasons_add(view->shared->reasons,
			"'%s' was read while it may have been written by a name that is not "
			"recorded",
			record->path.ptr);
}
