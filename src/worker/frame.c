#include "worker/frame.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_AT_LEAST ((size_t)16 << 10)

void frame_reader_init(struct frame_reader *reader, int fd)
{
	*reader = (struct frame_reader){
		.fd = fd,
		.bytes = { .max = FRAME_PREFIX + FRAME_MAX + 2 * READ_AT_LEAST },
	};
}

void frame_reader_release(struct frame_reader *reader)
{
	buf_release(&reader->bytes);
}

/*
 * Whether to try again after the error in errno.  If the descriptor is non-blocking, this function
 * first waits until the descriptor is ready.
 */
static bool wait_for(int fd, short events)
{
	struct pollfd wait = { .fd = fd, .events = events };

	if (errno == EAGAIN || errno == EWOULDBLOCK)
		return poll(&wait, 1, -1) >= 0 || errno == EINTR;
	return errno == EINTR;
}

/* Read until the buffer has at least len bytes.  Returns 1, or 0 if the input ends early. */
static int fill(struct frame_reader *reader, size_t len, struct err *err)
{
	struct buf *bytes = &reader->bytes;

	while (bytes->len < len) {
		size_t want = len - bytes->len > READ_AT_LEAST ? len - bytes->len : READ_AT_LEAST;
		char *room = buf_reserve(bytes, want);
		ssize_t n = read(reader->fd, room, want);

		if (n < 0 && wait_for(reader->fd, POLLIN))
			continue;
		/* A connection that the peer has reset counts as the end of the input. */
		if (n < 0 && errno != ECONNRESET)
			return err_errno(err, "read from the peer");
		if (n <= 0)
			return 0;
		bytes->len += (size_t)n;
	}
	return 1;
}

static size_t length_of(const char *prefix)
{
	const uint8_t *b = (const uint8_t *)prefix;

	return (size_t)b[0] << 24 | (size_t)b[1] << 16 | (size_t)b[2] << 8 | b[3];
}

/* Drop the frame that frame_read returned last. */
static void drop_taken(struct frame_reader *reader)
{
	struct buf *bytes = &reader->bytes;

	if (!reader->taken)
		return;
	memmove(bytes->data, bytes->data + reader->taken, bytes->len - reader->taken);
	buf_truncate(bytes, bytes->len - reader->taken);
	reader->taken = 0;
}

int frame_read(struct frame_reader *reader, struct str *frame, struct err *err)
{
	drop_taken(reader);
	int r = fill(reader, FRAME_PREFIX, err);
	if (r < 0 || (r == 0 && !reader->bytes.len))
		return r;
	if (r == 0)
		return err_set(err, ERR_INVALID,
			"the input ends after %zu of the %d bytes of a length", reader->bytes.len,
			FRAME_PREFIX);
	size_t len = length_of(reader->bytes.data);
	if (len > FRAME_MAX)
		return err_set(
			err, ERR_LIMIT, "a frame of %zu bytes; %zu are allowed", len, FRAME_MAX);
	r = fill(reader, FRAME_PREFIX + len, err);
	if (r < 0)
		return r;
	if (r == 0)
		return err_set(err, ERR_INVALID,
			"the input ends after %zu of the %zu bytes of a frame",
			reader->bytes.len - FRAME_PREFIX, len);
	reader->taken = FRAME_PREFIX + len;
	*frame = (struct str){ reader->bytes.data + FRAME_PREFIX, len };
	return 1;
}

void frame_begin(struct buf *out)
{
	buf_clear(out);
	buf_add(out, "\0\0\0\0", FRAME_PREFIX);
}

/*
 * Send without SIGPIPE, since a peer that has closed the connection must not end this process by a
 * signal.
 */
static ssize_t send_some(int fd, const char *bytes, size_t len)
{
	ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);

	return n < 0 && errno == ENOTSOCK ? write(fd, bytes, len) : n;
}

int frame_send(int fd, struct buf *out, struct err *err)
{
	size_t len = out->len - FRAME_PREFIX;

	if (out->overflowed || len > FRAME_MAX)
		return err_set(
			err, ERR_LIMIT, "more than the %zu bytes that a frame may have", FRAME_MAX);
	for (int i = 0; i < FRAME_PREFIX; i++)
		out->data[i] = (char)(len >> 8 * (FRAME_PREFIX - 1 - i) & 0xff);
	for (size_t sent = 0; sent < out->len;) {
		ssize_t n = send_some(fd, out->data + sent, out->len - sent);

		if (n < 0 && !wait_for(fd, POLLOUT))
			return err_errno(err, "write to the peer");
		sent += n > 0 ? (size_t)n : 0;
	}
	return 0;
}
