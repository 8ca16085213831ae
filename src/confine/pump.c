#include "confine/pump.h"

#include <errno.h>
#include <sys/socket.h>

#define ROUNDS_MAX 8 /* reads in one call, before other events get their turn */

void pump_release(struct pump *pump)
{
	buf_release(&pump->kept);
}

bool pump_is_done(const struct pump *pump)
{
	return pump->told;
}

static bool must_wait(void)
{
	return errno == EAGAIN || errno == EINTR;
}

/* Send as many bytes as the receiver takes now.  Returns the number of sent bytes, or -1. */
static ssize_t send_some(int to, const char *bytes, size_t len)
{
	size_t sent = 0;

	while (sent < len) {
		ssize_t n = send(to, bytes + sent, len - sent, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0)
			return must_wait() ? (ssize_t)sent : -1;
		sent += (size_t)n;
	}
	return (ssize_t)sent;
}

static int tell_end(struct pump *pump, int to)
{
	if (!pump->ended || pump->told || pump->kept.len)
		return 0;
	pump->told = true;
	return shutdown(to, SHUT_WR);
}

int pump_flush(struct pump *pump, int to)
{
	ssize_t n = send_some(to, pump->kept.data, pump->kept.len);

	if (n < 0)
		return -1;
	if ((size_t)n == pump->kept.len) {
		buf_release(&pump->kept);
	} else {
		memmove(pump->kept.data, pump->kept.data + n, pump->kept.len - (size_t)n);
		buf_truncate(&pump->kept, pump->kept.len - (size_t)n);
	}
	return tell_end(pump, to);
}

/* Read once, and send the bytes that were read.  Returns 1 if another read may give more bytes. */
static int copy_once(struct pump *pump, int from, int to)
{
	char bytes[PUMP_MAX];
	ssize_t n = recv(from, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n < 0)
		return must_wait() ? 0 : -1;
	if (n == 0) {
		pump->ended = true;
		return 0;
	}
	ssize_t sent = send_some(to, bytes, (size_t)n);
	if (sent < 0)
		return -1;
	if (sent < n)
		buf_add(&pump->kept, bytes + sent, (size_t)(n - sent));
	return sent == n && n == (ssize_t)sizeof(bytes);
}

int pump_copy(struct pump *pump, int from, int to)
{
	int r = 1;

	if (pump->kept.len && pump_flush(pump, to) < 0)
		return -1;
	for (int i = 0; i < ROUNDS_MAX && r > 0 && !pump->kept.len && !pump->ended; i++)
		r = copy_once(pump, from, to);
	return r < 0 ? -1 : tell_end(pump, to);
}

int pump_read(int from, struct buf *in, size_t max, bool *ended)
{
	char bytes[PUMP_MAX];
	size_t room = in->len < max ? max - in->len : 0;

	if (!room || *ended)
		return 0;
	ssize_t n = recv(from, bytes, room < sizeof(bytes) ? room : sizeof(bytes), MSG_DONTWAIT);
	if (n < 0)
		return must_wait() ? 0 : -1;
	*ended = n == 0;
	buf_add(in, bytes, (size_t)n);
	return 0;
}
