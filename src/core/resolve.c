#include "core/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "core/buf.h"
#include "core/own.h"

#define TRIES_MAX 1000

bool resolve_goes_up(const char *path)
{
	while (*path) {
		size_t len = strcspn(path, "/");

		if (len == 2 && path[0] == '.' && path[1] == '.')
			return true;
		path += len + strspn(path + len, "/");
	}
	return false;
}

/* ------------------------------------------------------- one name at a time */

struct steps {
	int dirfd;
	int fds[RESOLVE_STEPS_MAX]; /* the directories below dirfd */
	size_t depth;
	unsigned links;
	struct buf rest; /* the part of the path that is still to be walked */
	int flags;
	enum resolve_links follow;
};

static int here(const struct steps *steps)
{
	return steps->depth ? steps->fds[steps->depth - 1] : steps->dirfd;
}

static void release_steps(struct steps *steps)
{
	while (steps->depth)
		close_fd(&steps->fds[--steps->depth]);
	buf_release(&steps->rest);
}

/*
 * Put the target of a link in front of the rest of the path.  Links in /proc are not followed,
 * since most of them are magic links, and no call tells magic links from others.
 */
static int follow_link(struct steps *steps, int fd)
{
	char target[PATH_MAX];
	struct statfs fs;
	ssize_t n = readlinkat(fd, "", target, sizeof(target) - 1);

	if (n < 0 || fstatfs(fd, &fs) < 0)
		return -errno;
	if (fs.f_type == PROC_SUPER_MAGIC)
		return -ELOOP;
	target[n] = '\0';
	if (steps->follow == RESOLVE_LINKS_NONE || ++steps->links > RESOLVE_LINKS_MAX)
		return -ELOOP;
	if (*target == '/' && steps->follow == RESOLVE_LINKS_BENEATH)
		return -EXDEV;
	while (*target == '/' && steps->depth)
		close_fd(&steps->fds[--steps->depth]);
	owned(buf_release) struct buf rest = { .max = 2 * PATH_MAX };
	buf_adds(&rest, target);
	buf_add(&rest, steps->rest.data, steps->rest.len);
	if (rest.overflowed)
		return -ENAMETOOLONG;
	struct buf before = steps->rest;
	steps->rest = rest;
	rest = before;
	return 0;
}

static int go_up(struct steps *steps)
{
	if (steps->depth)
		close_fd(&steps->fds[--steps->depth]);
	else if (steps->follow == RESOLVE_LINKS_BENEATH)
		return -EXDEV;
	return 0;
}

/*
 * Open the last name of the path.  Returns an owned descriptor, or -errno.  *fd is an O_PATH
 * descriptor of the file.  If the caller wants O_PATH, *fd itself becomes the result.
 */
static int open_last(const struct steps *steps, const char *name, int *fd, mode_t mode)
{
	if (steps->flags & O_DIRECTORY && !S_ISDIR(mode))
		return -ENOTDIR;
	if (steps->flags & O_PATH)
		return take_fd(fd);
	int opened = openat(here(steps), name, steps->flags | O_NOFOLLOW | O_CLOEXEC);
	return opened < 0 ? -errno : opened;
}

/*
 * Walk one name of the path.  Returns 1 and sets *opened if the name was the last one, 0 if names
 * are left, or -errno.
 */
static int step(struct steps *steps, int *opened)
{
	char name[NAME_MAX + 1];
	const char *at = steps->rest.data + strspn(steps->rest.data, "/");
	size_t len = strcspn(at, "/");
	bool slash = at[len] == '/', last = !at[len + strspn(at + len, "/")];
	struct stat st;

	if (len > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(name, at, len);
	name[len] = '\0';
	owned(buf_release) struct buf rest = { .max = 2 * PATH_MAX };
	buf_adds(&rest, at + len);
	struct buf walked = steps->rest;
	steps->rest = rest;
	rest = walked;
	if (!strcmp(name, "..") || !strcmp(name, ".") || !len) {
		int r = name[0] && name[1] ? go_up(steps) : 0;

		if (r < 0 || !last)
			return r;
		*opened = openat(here(steps), ".", steps->flags | O_CLOEXEC);
		return *opened < 0 ? -errno : 1;
	}
	owned_fd int fd = openat(here(steps), name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode)) {
		if (!last || slash || !(steps->flags & O_NOFOLLOW))
			return follow_link(steps, fd);
		*opened = steps->flags & O_PATH ? take_fd(&fd) : -ELOOP;
		return *opened < 0 ? *opened : 1;
	}
	if ((!last || slash) && !S_ISDIR(st.st_mode))
		return -ENOTDIR;
	if (last) {
		*opened = open_last(steps, name, &fd, st.st_mode);
		return *opened < 0 ? *opened : 1;
	}
	if (steps->depth == RESOLVE_STEPS_MAX)
		return -ENAMETOOLONG;
	steps->fds[steps->depth++] = take_fd(&fd);
	return 0;
}

static int open_stepwise(int dirfd, const char *path, int flags, enum resolve_links links)
{
	owned(release_steps) struct steps steps = {
		.dirfd = dirfd,
		.flags = flags,
		.follow = links,
		.rest = { .max = 2 * PATH_MAX },
	};
	int opened = -1, r = *path ? 0 : -ENOENT;

	buf_adds(&steps.rest, path);
	while (r == 0)
		r = step(&steps, &opened);
	return r < 0 ? r : opened;
}

/* ------------------------------------------------------------------ openat2 */

static uint64_t resolution(enum resolve_links links)
{
	static const uint64_t flags[] = {
		[RESOLVE_LINKS_NONE] = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
		[RESOLVE_LINKS_BENEATH] = RESOLVE_BENEATH,
		[RESOLVE_LINKS_WITHIN] = RESOLVE_IN_ROOT,
	};

	return flags[links] | RESOLVE_NO_MAGICLINKS;
}

int resolve_open(int dirfd, const char *path, int flags, enum resolve_links links)
{
	static _Atomic bool no_openat2;
	struct open_how how = {
		.flags = (unsigned)(flags | O_CLOEXEC),
		.resolve = resolution(links),
	};
	long fd = -1;

	if (*path == '/' || resolve_goes_up(path))
		return -EXDEV;
	if (no_openat2)
		return open_stepwise(dirfd, path, flags, links);
	/* EAGAIN means that something was renamed or mounted during the call. */
	for (unsigned i = 0; i < TRIES_MAX; i++) {
		fd = syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
		if (fd >= 0 || (errno != EINTR && errno != EAGAIN))
			break;
	}
	if (fd < 0 && (errno == ENOSYS || errno == EPERM)) {
		bool missing = errno == ENOSYS;
		int stepped = open_stepwise(dirfd, path, flags, links);

		/*
		 * EPERM may concern only this file.  So openat2 is given up for good only if the
		 * kernel does not have the call, or if the file can be opened without the call.
		 */
		if (missing || stepped >= 0)
			no_openat2 = true;
		return stepped;
	}
	return fd < 0 ? -errno : (int)fd;
}

int resolve_reopen(int fd, int flags)
{
	char link[40];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	int opened = open(link, flags | O_CLOEXEC);
	return opened < 0 ? -errno : opened;
}
