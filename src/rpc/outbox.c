#include "rpc/outbox.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/at.h"
#include "core/own.h"

#define KEEP ((size_t)256 << 10) /* memory that an empty outbox may keep */

void outbox_init(struct outbox *outbox, int fd)
{
	struct err ignored = { 0 };
	struct statx stx = { 0 };
	char path[32];

	*outbox = (struct outbox){ .fd = fd, .direct = -1, .buf = BUF_INIT };
	(void)at_fd_stat(fd, &stx);
	if (S_ISSOCK(stx.stx_mode))
		outbox->kind = OUTBOX_SOCKET;
	else if (!S_ISREG(stx.stx_mode))
		outbox->kind = OUTBOX_PIPE;
	if (!S_ISFIFO(stx.stx_mode))
		return;
	/* If the pipe belongs to another user, this call fails, and 'direct' stays -1. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	outbox->direct = at_open_given(path, O_WRONLY | O_NONBLOCK, 0, &ignored);
}

void outbox_release(struct outbox *outbox)
{
	close_fd(&outbox->direct);
	buf_release(&outbox->buf);
}

size_t outbox_left(const struct outbox *outbox)
{
	return outbox->buf.len - outbox->sent;
}

void outbox_add(struct outbox *outbox, struct buf *line, size_t start)
{
	if (outbox_left(outbox)) {
		buf_add(&outbox->buf, line->data + start, line->len - start);
		return;
	}
	struct buf empty = outbox->buf;

	buf_clear(&empty);
	outbox->buf = *line;
	outbox->sent = start;
	*line = empty;
}

/* Write some bytes without blocking.  A pipe that is ready has room for PIPE_BUF bytes. */
static ssize_t write_some(const struct outbox *outbox, const char *bytes, size_t len)
{
	struct pollfd ready = { .fd = outbox->fd, .events = POLLOUT };

	if (outbox->kind == OUTBOX_SOCKET)
		return send(outbox->fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (outbox->kind == OUTBOX_FILE)
		return write(outbox->fd, bytes, len);
	if (outbox->direct >= 0)
		return write(outbox->direct, bytes, len);
	if (poll(&ready, 1, 0) <= 0) {
		errno = EAGAIN;
		return -1;
	}
	return write(outbox->fd, bytes, len < PIPE_BUF ? len : PIPE_BUF);
}

int outbox_flush(struct outbox *outbox, struct err *err)
{
	while (outbox_left(outbox)) {
		ssize_t n =
			write_some(outbox, outbox->buf.data + outbox->sent, outbox_left(outbox));

		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0 && errno != EINTR)
			return err_errno(err, "cannot write replies");
		outbox->sent += n > 0 ? (size_t)n : 0;
	}
	if (outbox->buf.cap > KEEP)
		buf_release(&outbox->buf);
	buf_clear(&outbox->buf);
	outbox->sent = 0;
	return 0;
}
