#include "sandbox/message.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "core/own.h"

union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int) * MESSAGE_FDS_MAX)];
};

int message_send(int socket, const void *bytes, size_t len, const int *fds, size_t n)
{
	struct iovec part = { .iov_base = (void *)bytes, .iov_len = len };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };
	union control control = { 0 };
	ssize_t sent;

	if (n) {
		header.msg_control = control.bytes;
		header.msg_controllen = CMSG_SPACE(sizeof(int) * n);
		struct cmsghdr *cmsg = CMSG_FIRSTHDR(&header);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int) * n);
		memcpy(CMSG_DATA(cmsg), fds, sizeof(int) * n);
	}
	do {
		sent = sendmsg(socket, &header, MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0;
}

/* Take the first n descriptors of a message, and close the others. */
static void take_fds(struct msghdr *header, int *fds, size_t n)
{
	size_t next = 0;

	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(header); cmsg; cmsg = CMSG_NXTHDR(header, cmsg)) {
		if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
			continue;
		size_t count = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < count; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(int), sizeof(int));
			if (next < n)
				fds[next++] = fd;
			else
				close_fd(&fd);
		}
	}
}

int message_wait(int fd, int wait_ms)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	int r;

	do {
		r = poll(&ready, 1, wait_ms);
	} while (r < 0 && errno == EINTR);
	if (r < 0)
		return -errno;
	return r ? 0 : -ETIMEDOUT;
}

int message_receive(int socket, void *bytes, size_t len, int *fds, size_t n, int wait_ms)
{
	union control control;
	struct iovec part = { .iov_base = bytes, .iov_len = len };
	struct msghdr header = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	bool reset = false;
	ssize_t got;
	int r;

	for (size_t i = 0; i < n; i++)
		fds[i] = -1;
	if (wait_ms >= 0 && (r = message_wait(socket, wait_ms)) < 0)
		return r;
	/*
	 * The kernel reports ECONNRESET once if the other side has closed its end without reading
	 * all messages.  After that, the messages of the other side can be received.
	 */
	for (;;) {
		got = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
		if (got >= 0 || (errno != EINTR && (errno != ECONNRESET || reset)))
			break;
		reset |= errno == ECONNRESET;
	}
	if (got < 0)
		return errno == ECONNRESET ? 0 : -errno;
	take_fds(&header, fds, n);
	if (got == 0)
		return 0;
	if ((size_t)got == len && !(header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return 1;
	for (size_t i = 0; i < n; i++)
		close_fd(&fds[i]);
	return -EPROTO;
}

uint32_t message_pack(const int *fds, size_t n, int *packed, size_t *count)
{
	uint32_t places = 0;

	*count = 0;
	for (size_t i = 0; i < n; i++) {
		if (fds[i] < 0)
			continue;
		packed[(*count)++] = fds[i];
		places |= 1U << i;
	}
	return places;
}

void message_unpack(const int *packed, uint32_t places, int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		fds[i] = places & 1U << i ? *packed++ : -1;
}
