#include "trace/sight.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/at.h"
#include "core/own.h"

int sight_argument(const struct sight *sight, int8_t index)
{
	return (int)sight->call->args[index];
}

unsigned sight_flags(const struct sight *sight)
{
	return sight->about->flags == SYSCALLS_NONE
		       ? 0
		       : (unsigned)sight_argument(sight, sight->about->flags);
}

static void through_link(void *arg, struct pathmap_entry *link)
{
	struct sight *sight = arg;

	recorder_see(sight->recorder, link, BUNDLE_READ);
}

/* A process that is not dumpable is closed to us, unless we are root. */
void sight_cannot_look(struct sight *sight)
{
	/* Not yet the command. */
	if (sight->tracee->pid == sight->observer->command)
		return;
	reasons_add(sight->observer->reasons,
		"process %d does not let itself be looked into: its files are not all told of",
		(int)sight->tracee->pid);
}

/* The entry of what a link in /proc says; NULL for what has no name. */
static struct pathmap_entry *entry_of_target(struct pathmap *map, struct str text)
{
	struct statx stx;

	if (!text.len || *text.ptr != '/')
		return NULL;
	/* Unless that is its name. */
	if (pathmap_says_deleted(text.ptr) && at_abs_stat(text.ptr, &stx) < 0)
		return NULL;
	return pathmap_known(map, text);
}

static void too_long(struct sight *sight)
{
	reasons_add(sight->observer->reasons,
		"process %d uses a file whose path is too long to be known: it is not told of",
		(int)sight->tracee->pid);
}

/* The kernel cannot say what it is called. */
static struct pathmap_entry *entry_of_long_link(struct sight *sight, const char *name)
{
	owned(buf_release) struct buf path = { .max = SIGHT_PATH_MAX };
	char link[64];

	snprintf(link, sizeof(link), "/proc/%d/%s", (int)sight->tracee->tid, name);
	if (at_long_path(link, &path) == 0)
		return entry_of_target(sight->observer->map, (struct str){ path.data, path.len });
	too_long(sight);
	return NULL;
}

static struct pathmap_entry *entry_of_link(struct sight *sight, const char *name)
{
	char text[PATH_MAX];
	ssize_t len = tracees_link(sight->tracee->tid, name, text);

	if (len == -ENAMETOOLONG)
		return entry_of_long_link(sight, name);
	if (len == -EACCES || len == -EPERM)
		sight_cannot_look(sight);
	if (len <= 0)
		return NULL;
	return entry_of_target(sight->observer->map, (struct str){ text, (size_t)len });
}

static struct pathmap_entry *working_directory(struct sight *sight)
{
	struct tracees *tracees = sight->observer->tracees;
	struct pathmap_entry *entry = tracees_cwd(tracees, sight->tracee);

	if (entry)
		return entry;
	entry = entry_of_link(sight, "cwd");
	if (entry)
		tracees_keep_cwd(tracees, sight->tracee, entry);
	return entry;
}

static struct pathmap_entry *entry_of_fd(struct sight *sight, int fd)
{
	char name[32];

	if (fd == AT_FDCWD)
		return working_directory(sight);
	snprintf(name, sizeof(name), "fd/%d", fd);
	return fd < 0 ? NULL : entry_of_link(sight, name);
}

static void was_gone(struct sight *sight, struct str path)
{
	reasons_add(sight->observer->reasons,
		"process %d was gone when '%s', which it had asked about, was looked for",
		(int)sight->tracee->pid, path.ptr);
}

/*
 * Other threads may close what this one has asked about.  (So may another process that has the
 * same descriptors, CLONE_FILES without CLONE_THREAD, which nobody makes and which goes unnoticed.)
 */
static bool is_alone(pid_t tid)
{
	char path[64];
	struct statx stx;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)tid);
	return at_abs_stat(path, &stx) == 0 && stx.stx_nlink == 3;
}

/*
 * Whether the way through /proc was the same when the call was made.  What is working directory,
 * root or program of a process is changed by calls that stop, and are looked at after this one;
 * descriptors are closed unseen.
 */
static bool was_the_same(const struct sight *sight, const struct pathmap_walk *walk)
{
	const struct glimpse *glimpse = sight->glimpse;

	if (!glimpse || !walk->fleeting)
		return true;
	if (!glimpse->passed || tracees_is_gone(sight->tracee->tid))
		return false;
	if (!walk->descriptor)
		return true;
	int fd = pathmap_fd_of(walk->descriptor, sight->tracee->pid);
	return fd >= 0 && is_alone(sight->tracee->tid) &&
	       ((walk->known && fd == walk->known_fd) ||
		       passing_has_open(sight->observer->passing, glimpse->task, glimpse->closes,
			       (unsigned)fd));
}

/*
 * What the thread has opened just before, by a call that has passed: no descriptor was closed
 * since, so it is that still, whatever the number stands for by now.
 */
static void add_known(const struct sight *sight, struct pathmap_walk *walk)
{
	const struct glimpse *glimpse = sight->glimpse;
	const struct observer_made *made = observer_made_by(sight->observer, sight->tracee->tid);

	if (!glimpse || !glimpse->passed || !made || made->fd < 0 ||
		made->closes != glimpse->closes)
		return;
	walk->known_fd = made->fd;
	walk->known = made->opened;
}

/* Where absolute paths of the program begin. */
static struct pathmap_entry *root_of(struct sight *sight, struct str path)
{
	struct pathmap_entry *root = NULL;

	if (sight->observer->roots)
		root = entry_of_link(sight, "root");
	if (sight->observer->roots && !root && sight->glimpse)
		was_gone(sight, path);
	return root ?: pathmap_root(sight->observer->map);
}

/* base: where a relative one begins. */
static struct pathmap_entry *resolve_from(
	struct sight *sight, struct pathmap_entry *base, struct str path, bool follow)
{
	struct pathmap_walk walk = {
		.root = sight->in_root ? base : root_of(sight, path),
		.base = base,
		.self = sight->tracee->pid,
		.thread = sight->tracee->tid,
		.follow = follow,
		.through = through_link,
		.arg = sight,
	};

	add_known(sight, &walk);
	struct pathmap_entry *entry = pathmap_resolve(sight->observer->map, &walk, path);
	sight->resolved = entry;
	if (walk.too_long || (entry && entry->path.len > SIGHT_PATH_MAX)) {
		too_long(sight);
		return NULL;
	}
	if (!was_the_same(sight, &walk))
		reasons_add(sight->observer->reasons,
			"'%s' leads into /proc, and was looked at when process %d had gone on",
			path.ptr, (int)sight->tracee->pid);
	return entry;
}

bool sight_nameless(struct sight *sight, struct statx *stx)
{
	char link[64];
	int fd = sight->about->dirfd == SYSCALLS_NONE ? -1
						      : sight_argument(sight, sight->about->dirfd);

	if (fd < 0 || sight->glimpse)
		return false;
	snprintf(link, sizeof(link), "/proc/%d/fd/%d", (int)sight->tracee->tid, fd);
	return at_link_stat(link, stx) == 0;
}

static bool is_absolute(struct str path)
{
	return path.len && *path.ptr == '/';
}

struct pathmap_entry *sight_resolve(struct sight *sight, int fd, struct str path, bool follow)
{
	bool from_root = is_absolute(path) && !sight->in_root;
	struct pathmap_entry *base = from_root ? NULL : entry_of_fd(sight, fd);

	return base || from_root ? resolve_from(sight, base, path, follow) : NULL;
}

static struct pathmap_entry *glimpsed(struct sight *sight, bool follow)
{
	const struct glimpse *glimpse = sight->glimpse;
	struct str text = { glimpse->text, glimpse->text_len };
	struct pathmap_entry *base = glimpse->base;

	if (glimpse->base_len)
		base = entry_of_target(sight->observer->map,
			(struct str){ glimpse->text + text.len + 1, glimpse->base_len });
	if (!base && !is_absolute(text))
		return NULL;
	return text.len ? resolve_from(sight, base, text, follow) : base;
}

static bool is_execute(const struct sight *sight)
{
	return sight->about->does == SYSCALLS_EXECUTE;
}

/*
 * A name in the program's memory.  Without a path, or with an empty one, the
 * descriptor itself.
 */
struct pathmap_entry *sight_named(struct sight *sight, int8_t dirfd, int8_t path, bool follow)
{
	int fd = dirfd == SYSCALLS_NONE ? AT_FDCWD : sight_argument(sight, dirfd);
	char text[PATH_MAX];

	if (sight->glimpse)
		return glimpsed(sight, follow);
	if (path == SYSCALLS_NONE || !sight->call->args[path])
		return dirfd == SYSCALLS_NONE ? NULL : entry_of_fd(sight, fd);
	ssize_t len = tracees_text(sight->tracee->tid, sight->call->args[path], text);
	if (len < 0 && errno == EPERM)
		sight_cannot_look(sight);
	if (len < 0)
		return NULL;
	if (sight->tracee->pid == sight->observer->command && !is_execute(sight))
		sight->observer->command = 0;
	if (!len)
		return dirfd == SYSCALLS_NONE ? NULL : entry_of_fd(sight, fd);
	return sight_resolve(sight, fd, (struct str){ text, (size_t)len }, follow);
}

bool sight_follows(const struct sight *sight)
{
	switch (sight->about->follow) {
	case SYSCALLS_FOLLOWS:
		return true;
	case SYSCALLS_STAYS:
		return false;
	case SYSCALLS_BY_FLAG:
		return !(sight_flags(sight) & AT_SYMLINK_NOFOLLOW);
	case SYSCALLS_IF_FLAGGED:
		return sight_flags(sight) & AT_SYMLINK_FOLLOW;
	}
	return true;
}

struct pathmap_entry *sight_first(struct sight *sight)
{
	return sight_named(sight, sight->about->dirfd, sight->about->path, sight_follows(sight));
}

struct pathmap_entry *sight_second(struct sight *sight)
{
	return sight_named(sight, sight->about->dirfd2, sight->about->path2, false);
}

/* --- for later --- */

/*
 * What is in /proc, and what /dev has of it, is another thing when the program has gone on: a
 * descriptor is closed, say, which no call tells us.  from_root: a relative path begins there.
 */
static bool is_fleeting(struct str path, bool from_root)
{
	bool top = from_root || is_absolute(path);

	for (struct str name; (name = str_take_name(&path)).len;) {
		if (top && (str_eq(name, STR("proc")) || str_eq(name, STR("dev"))))
			return true;
		/* It may lead there. */
		if (!str_eq(name, STR(".")))
			top = str_eq(name, STR(".."));
	}
	return false;
}

/* What a relative name, or none, begins at.  False: somebody has to ask more of the program. */
static bool glimpse_base(
	const struct observer *observer, const struct tracee *tracee, struct glimpse *glimpse)
{
	struct str text = { glimpse->text, glimpse->text_len };
	int8_t dirfd = glimpse->about->dirfd;
	int fd = dirfd == SYSCALLS_NONE ? AT_FDCWD : (int)glimpse->call.args[dirfd];
	char name[32];

	if (fd == AT_FDCWD) {
		glimpse->base = tracees_cwd(observer->tracees, tracee);
		return glimpse->base && !is_fleeting(glimpse->base->path, true) &&
		       !is_fleeting(text, !glimpse->base->parent);
	}
	snprintf(name, sizeof(name), "fd/%d", fd);
	char *target = glimpse->text + glimpse->text_len + 1;
	ssize_t len = tracees_link(tracee->tid, name, target);
	glimpse->base_len = len < 0 ? 0 : (size_t)len;
	return len > 0 && !is_fleeting((struct str){ target, (size_t)len }, true) &&
	       !is_fleeting(text, len == 1);
}

static size_t length_of(const struct glimpse *glimpse)
{
	return offsetof(struct glimpse, text) + glimpse->text_len + 1 + glimpse->base_len + 1;
}

size_t sight_glimpse(const struct observer *observer, const struct tracee *tracee,
	const struct observer_call *call, const struct syscalls_call *about,
	struct glimpse *glimpse)
{
	glimpse->call = *call;
	glimpse->about = about;
	glimpse->pid = tracee->pid;
	glimpse->process = tracee->process;
	glimpse->base = NULL;
	glimpse->passed = false;
	glimpse->text_len = glimpse->base_len = 0;
	glimpse->text[0] = '\0';
	if (about->path != SYSCALLS_NONE) {
		ssize_t len = tracees_text(tracee->tid, call->args[about->path], glimpse->text);

		if (len <= 0 || is_fleeting((struct str){ glimpse->text, (size_t)len }, false))
			return 0;
		glimpse->text_len = (size_t)len;
	}
	if (glimpse->text[0] != '/' && !glimpse_base(observer, tracee, glimpse))
		return 0;
	return length_of(glimpse);
}

size_t sight_glimpse_passed(const struct observer *observer, const struct tracee *tracee,
	const struct observer_passed *passed, const struct syscalls_call *about,
	struct glimpse *glimpse, bool *lacks_base)
{
	glimpse->call = passed->call;
	glimpse->about = about;
	glimpse->pid = tracee->pid;
	glimpse->process = tracee->process;
	glimpse->passed = true;
	glimpse->task = passed->task;
	glimpse->closes = passed->closes;
	glimpse->base = NULL;
	glimpse->base_len = 0;
	glimpse->text_len = passed->path.len;
	memcpy(glimpse->text, passed->path.ptr, passed->path.len);
	glimpse->text[passed->path.len] = glimpse->text[passed->path.len + 1] = '\0';
	if (!is_absolute(passed->path))
		glimpse->base = tracees_cwd(observer->tracees, tracee);
	*lacks_base = !is_absolute(passed->path) && !glimpse->base;
	return length_of(glimpse);
}

void sight_remember_cwd(struct sight *sight)
{
	if (sight->observer->passing && sight->tracee->tid == sight->tracee->pid)
		(void)working_directory(sight);
}

bool sight_find_base(struct sight *sight, struct glimpse *glimpse)
{
	glimpse->base = working_directory(sight);
	if (!glimpse->base && tracees_is_gone(sight->tracee->tid))
		was_gone(sight, (struct str){ glimpse->text, glimpse->text_len });
	return glimpse->base;
}

bool sight_is_fleeting(const struct glimpse *glimpse)
{
	struct str text = { glimpse->text, glimpse->text_len };
	const struct pathmap_entry *base = glimpse->base;

	return is_fleeting(text, base && !base->parent) || (base && is_fleeting(base->path, true));
}

void sight_did_not_wait(struct sight *sight, const struct record *record, const struct statx *stx)
{
	if (sight->glimpse && sight->glimpse->passed &&
		recorder_is_written_unseen(sight->recorder, record, stx))
		reasons_add(sight->observer->reasons,
			"'%s' was read while it may have been written by a name that is not told "
			"of",
			record->entry->path.ptr);
}
