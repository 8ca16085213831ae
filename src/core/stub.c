#include "core/stub.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/at.h"
#include "core/own.h"

#define STUB_VALUE "1"
#define STUB_VALUE_MAX 8

int stub_mark(int dirfd, const char *name)
{
	const struct timespec times[] = { { .tv_nsec = UTIME_OMIT }, { STUB_SECOND, 0 } };
	int r = at_xattr_set(dirfd, name, STUB_XATTR, STUB_VALUE, sizeof(STUB_VALUE) - 1);

	if (r < 0)
		return r;
	return utimensat(dirfd, name, times, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

bool stub_is(int dirfd, const char *name, const struct statx *stx)
{
	char value[STUB_VALUE_MAX];
	bool empty = S_ISDIR(stx->stx_mode) || (S_ISREG(stx->stx_mode) && !stx->stx_size);

	if (!empty || stx->stx_mtime.tv_sec != STUB_SECOND || stx->stx_mtime.tv_nsec)
		return false;
	ssize_t n = at_xattr_get(dirfd, name, STUB_XATTR, value, sizeof(value));
	/* Its process may remove a stub at any moment. */
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

void stub_remove_unused(int dirfd, const char *name)
{
	owned_fd int fd = at_name_open(dirfd, name, O_RDONLY | O_NONBLOCK);
	struct statx dir, stub;

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || at_fd_stat(dirfd, &dir) < 0 ||
		at_name_stat(dirfd, name, &stub) < 0 || !stub_is(dirfd, name, &stub))
		return;
	if (unlinkat(dirfd, name, S_ISDIR(stub.stx_mode) ? AT_REMOVEDIR : 0) == 0)
		stub_keep_times(dirfd, &dir);
}
