#include "core/procfile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "core/at.h"
#include "core/own.h"

static int read_whole(int fd, const char *path, size_t max, struct buf *out, struct err *err)
{
	size_t before = out->len;
	char part[4096];

	for (;;) {
		ssize_t n = read(fd, part, sizeof(part));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(err, "read '%s'", path);
		buf_add(out, part, (size_t)n);
		if (out->overflowed || out->len - before > max)
			return err_set(err, ERR_LIMIT, "'%s' is larger than %zu bytes", path, max);
		if (n == 0)
			return 0;
	}
}

static int write_whole(int fd, const char *path, const char *text, struct err *err)
{
	size_t len = strlen(text);
	ssize_t n = write(fd, text, len);

	if (n < 0)
		return err_errno(err, "write '%s'", path);
	if ((size_t)n != len)
		return err_set(err, ERR_SYSTEM, "write '%s': only %zd of %zu bytes", path, n, len);
	return 0;
}

int procfile_read(const char *path, size_t max, struct buf *out, struct err *err)
{
	owned_fd int fd = at_open_given(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, err);

	return fd < 0 ? fd : read_whole(fd, path, max, out, err);
}

int procfile_read_at(int dirfd, const char *path, size_t max, struct buf *out, struct err *err)
{
	owned_fd int fd = at_open(dirfd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, err);

	return fd < 0 ? fd : read_whole(fd, path, max, out, err);
}

int procfile_read_fd(int fd, const char *path, size_t max, struct buf *out, struct err *err)
{
	return read_whole(fd, path, max, out, err);
}

int procfile_write(const char *path, const char *text, struct err *err)
{
	owned_fd int fd = at_open_given(path, O_WRONLY | O_NONBLOCK | O_NOCTTY, 0, err);

	return fd < 0 ? fd : write_whole(fd, path, text, err);
}

int procfile_write_at(int dirfd, const char *path, const char *text, struct err *err)
{
	owned_fd int fd = at_open(dirfd, path, O_WRONLY | O_NONBLOCK | O_NOCTTY, err);

	return fd < 0 ? fd : write_whole(fd, path, text, err);
}
