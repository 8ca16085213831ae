#include "owner/client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/loop.h"
#include "core/mem.h"
#include "core/own.h"
#include "owner/owner_priv.h"

#define READ_SIZE 65536

/* -------------------------------------------------------------------- ending */

static void drop_fds(struct client *client)
{
	for (size_t i = 0; i < client->n_fds; i++)
		close_fd(&client->fds[i]);
	client->n_fds = 0;
}

static void close_client(struct client *client)
{
	struct client **slot = &client->owner->clients;

	while (*slot != client)
		slot = &(*slot)->next;
	*slot = client->next;
	client->owner->n_clients--;
	call_orphan(client->owner, client);
	loop_event_free(&client->reading);
	loop_event_free(&client->writing);
	drop_fds(client);
	close_fd(&client->fd);
	buf_release(&client->in);
	buf_release(&client->out);
	free(client);
}

/* Whoever is at work with it finds it still there. */
static void lose(struct client *client)
{
	client->lost = true;
	loop_switch(client->reading, false);
	loop_switch(client->writing, true);
}

void client_close_all(struct owner *owner)
{
	while (owner->clients)
		close_client(owner->clients);
}

/* ------------------------------------------------------------------- writing */

bool client_is_full(const struct client *client)
{
	return client->out.len - client->sent > CLIENT_FULL;
}

static void mind_reading(struct client *client)
{
	bool on =
		!client->lost && !client_is_full(client) && client->requests < CLIENT_REQUESTS_MAX;

	loop_switch(client->reading, on);
}

static void on_writable(void *arg)
{
	struct client *client = arg;
	size_t left = client->out.len - client->sent;
	bool was_full = client_is_full(client);

	if (client->lost) {
		close_client(client);
		return;
	}
	if (left) {
		ssize_t n = send(client->fd, client->out.data + client->sent, left, MSG_NOSIGNAL);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0) {
			close_client(client);
			return;
		}
		client->sent += (size_t)n;
	}
	if (client->sent == client->out.len) {
		buf_clear(&client->out);
		client->sent = 0;
		loop_switch(client->writing, false);
	}
	if (was_full && !client_is_full(client)) {
		mind_reading(client);
		call_resume(client->owner, client);
	}
}

void client_send(struct client *client, struct str line)
{
	if (client->lost)
		return;
	if (client->sent > CLIENT_FULL) {
		memmove(client->out.data, client->out.data + client->sent,
			client->out.len - client->sent);
		buf_truncate(&client->out, client->out.len - client->sent);
		client->sent = 0;
	}
	buf_add(&client->out, line.ptr, line.len);
	if (client->out.overflowed) {
		lose(client);
		return;
	}
	loop_switch(client->writing, true);
	mind_reading(client);
}

static void take_lines(struct client *client);

void client_answered(struct client *client)
{
	client->requests--;
	/* Lines may be waiting that were too many before. */
	if (!client->taking)
		take_lines(client);
	mind_reading(client);
}

/* Who does not keep up with events is better told by the end of them than by gaps. */
void client_tell(struct owner *owner, struct str line)
{
	for (struct client *client = owner->clients; client; client = client->next) {
		if (!client->subscribed)
			continue;
		if (client_is_full(client))
			lose(client);
		else
			client_send(client, line);
	}
}

/* ------------------------------------------------------------------- reading */

static void refuse(struct client *client, enum rpc_code code, const struct err *err)
{
	owned(json_release) struct json out = JSON_INIT;

	rpc_error(&out, NULL, code, err, NULL, 0);
	client_send(client, (struct str){ out.out.data, out.out.len });
}

static void take_line(struct client *client, struct str line)
{
	bool blank = true;

	for (size_t i = 0; blank && i < line.len; i++)
		blank = line.ptr[i] == ' ' || line.ptr[i] == '\t' || line.ptr[i] == '\r';
	if (!blank)
		methods_take_line(client->owner, client, line);
	drop_fds(client);
}

/* As many lines as are there, and allowed to be in work. */
static void take_lines(struct client *client)
{
	size_t done = 0;
	char *end;

	client->taking = true;
	while (!client->lost && client->requests < CLIENT_REQUESTS_MAX && client->in.len > done &&
		(end = memchr(client->in.data + done, '\n', client->in.len - done))) {
		size_t len = (size_t)(end - client->in.data) - done;

		if (!client->skipping)
			take_line(client, (struct str){ client->in.data + done, len });
		client->skipping = false;
		done += len + 1;
	}
	client->taking = false;
	if (done) {
		memmove(client->in.data, client->in.data + done, client->in.len - done);
		buf_truncate(&client->in, client->in.len - done);
	}
	if (client->skipping || client->in.len > RPC_LINE_MAX) {
		struct err err = { 0 };

		if (!client->skipping && !memchr(client->in.data, '\n', client->in.len)) {
			err_set(&err, ERR_LIMIT, "a request has at most %zu bytes", RPC_LINE_MAX);
			refuse(client, RPC_LIMIT, &err);
			client->skipping = true;
		}
		if (client->skipping)
			buf_truncate(&client->in, 0);
	}
}

/* Descriptors that came along; more than there is room for are of no use to anybody. */
static void take_fds(struct client *client, struct msghdr *message)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (client->n_fds < CLIENT_FDS_MAX)
				client->fds[client->n_fds++] = fd;
			else
				(void)close(fd);
		}
	}
}

static void on_readable(void *arg)
{
	struct client *client = arg;
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(CLIENT_FDS_MAX * sizeof(int))];
	struct iovec io = { buf_reserve(&client->in, READ_SIZE), READ_SIZE };
	struct msghdr message = {
		.msg_iov = &io,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};

	if (client->lost || !io.iov_base) {
		lose(client);
		return;
	}
	ssize_t n = recvmsg(client->fd, &message, MSG_CMSG_CLOEXEC);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		close_client(client);
		return;
	}
	take_fds(client, &message);
	client->in.len += (size_t)n;
	take_lines(client);
	mind_reading(client);
}

/* -------------------------------------------------------------------- coming */

/* The file's mode says the same; but it can be changed, and root gets past it. */
static bool is_welcome(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
	       (peer.uid == geteuid() || peer.uid == 0);
}

static void turn_away(int fd, enum rpc_code code, struct err *err)
{
	owned(json_release) struct json out = JSON_INIT;

	rpc_error(&out, NULL, code, err, NULL, 0);
	(void)!send(fd, out.out.data, out.out.len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void on_connection(void *arg)
{
	struct owner *owner = arg;
	/* cppcheck-suppress nullPointer */
	owned_fd int fd = accept4(owner->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct err err = { 0 };

	if (fd < 0)
		return;
	if (!is_welcome(fd)) {
		err_set(&err, ERR_DENIED, "only the user whose environment this is may ask");
		turn_away(fd, RPC_DENIED, &err);
		return;
	}
	if (owner->n_clients >= CLIENT_MAX) {
		err_set(&err, ERR_BUSY, "%d connections are open already", CLIENT_MAX);
		turn_away(fd, RPC_BUSY, &err);
		return;
	}
	struct client *client = mem_zalloc(sizeof(*client));
	client->owner = owner;
	client->fd = take_fd(&fd);
	client->in.max = RPC_LINE_MAX + 2 * READ_SIZE;
	client->out.max = CLIENT_OUT_MAX;
	client->next = owner->clients;
	owner->clients = client;
	owner->n_clients++;
	client->reading = loop_fd(owner->loop, client->fd, LOOP_READ, on_readable, client);
	client->writing = loop_fd(owner->loop, client->fd, LOOP_WRITE, on_writable, client);
	loop_switch(client->writing, false);
}

void client_listen(struct owner *owner)
{
	owner->listening = loop_fd(owner->loop, owner->listener, LOOP_READ, on_connection, owner);
}
