#include "core/stub.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/at.h"
#include "core/own.h"
#include "core/when.h"

#define STUB_VALUE "1"
#define STUB_VALUE_MAX 8
#define HOLD_MS 1000 /* to remove a stub, a process locks it only for microseconds */

int stub_mark(int fd)
{
	const struct timespec times[] = { { .tv_nsec = UTIME_OMIT }, { STUB_SECOND, 0 } };

	if (fsetxattr(fd, STUB_XATTR, STUB_VALUE, sizeof(STUB_VALUE) - 1, 0) < 0)
		return -errno;
	return futimens(fd, times) < 0 ? -errno : 0;
}

bool stub_has_size(const struct statx *stx)
{
	return !stx->stx_size || stx->stx_size == strlen(STUB_DOT_TEXT);
}

/*
 * Whether a file may be a stub, as far as its attributes show.  Few other files have the time and
 * size of a stub, so the mark has to be read for few files.
 */
static bool may_be_stub(const struct statx *stx)
{
	bool small = S_ISDIR(stx->stx_mode) || (S_ISREG(stx->stx_mode) && stub_has_size(stx));

	return small && stx->stx_mtime.tv_sec == STUB_SECOND && !stx->stx_mtime.tv_nsec;
}

bool stub_is(int dirfd, const char *name, const struct statx *stx)
{
	char value[STUB_VALUE_MAX];

	if (!may_be_stub(stx))
		return false;
	ssize_t n = at_xattr_get(dirfd, name, STUB_XATTR, value, sizeof(value));
	/* ENOENT: the process that made a stub may remove the stub at any moment. */
	return n >= 0 || n == -ENOENT;
}

bool stub_or_nothing(const char *path)
{
	char value[STUB_VALUE_MAX];
	struct statx stx;

	if (at_abs_stat(path, &stx) < 0)
		return true;
	if (!may_be_stub(&stx))
		return false;
	ssize_t n = at_abs_xattr_get(path, STUB_XATTR, value, sizeof(value));
	return n >= 0 || n == -ENOENT;
}

void stub_keep_times(int dirfd, const struct statx *stx)
{
	const struct timespec times[] = {
		{ stx->stx_atime.tv_sec, stx->stx_atime.tv_nsec },
		{ stx->stx_mtime.tv_sec, stx->stx_mtime.tv_nsec },
	};

	(void)utimensat(dirfd, ".", times, AT_SYMLINK_NOFOLLOW);
}

int stub_hold(int fd)
{
	struct statx stx;

	/* If flock fails in another way, the file system has no locks.  Then go on without one. */
	for (int ms = 0; flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK; ms++) {
		if (ms == HOLD_MS)
			return -EBUSY;
		when_pause(WHEN_MS);
	}
	return at_fd_stat(fd, &stx) == 0 && !stx.stx_nlink;
}

bool stub_claim(int fd)
{
	return flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

void stub_let_go(int fd)
{
	(void)flock(fd, LOCK_UN);
}

/* Remove the stubs in a directory that is itself a stub. */
static void remove_within(int dirfd, const char *name)
{
	int fd = at_name_open(dirfd, name, O_RDONLY | O_DIRECTORY);
	owned(at_list_closep) DIR *list = fd < 0 ? NULL : at_list_take(fd);
	const struct dirent *entry;

	while (list && (entry = at_list_next(list)))
		stub_remove(fd, entry->d_name);
}

void stub_remove(int dirfd, const char *name)
{
	struct statx dir, stub;

	if (at_fd_stat(dirfd, &dir) < 0 || at_name_stat(dirfd, name, &stub) < 0 ||
		!stub_is(dirfd, name, &stub))
		return;
	owned_fd int fd = at_name_open(dirfd, name, O_RDONLY | O_NONBLOCK);
	if (fd >= 0 && !stub_claim(fd))
		return;
	if (S_ISDIR(stub.stx_mode))
		remove_within(dirfd, name);
	if (unlinkat(dirfd, name, S_ISDIR(stub.stx_mode) ? AT_REMOVEDIR : 0) == 0)
		stub_keep_times(dirfd, &dir);
}
