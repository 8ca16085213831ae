#include "owner/client.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/mem.h"
#include "core/own.h"
#include "owner/loop.h"
#include "owner/owner_priv.h"

#define READ_SIZE 65536
#define HANGUP_MS 200 /* interval between two checks whether a client has hung up */

/* ------------------------------------------------------------------- closing */

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
	loop_event_free(&client->hangup);
	drop_fds(client);
	close_fd(&client->fd);
	buf_release(&client->in);
	buf_release(&client->out);
	free(client);
}

/* Have the event loop close the client later.  The caller may still use the client. */
static void close_later(struct client *client)
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

static void switch_reading(struct client *client)
{
	loop_switch(client->reading, !client->lost && !client->ended && !client_is_full(client));
}

/* Whether the client sends no more requests, and has got all its answers. */
static bool is_served(const struct client *client)
{
	return client->ended && !client->requests && !client->waiting && !client->subscribed &&
	       client->sent == client->out.len;
}

/* Whether the client has closed both sides of the connection. */
static bool is_hung_up(const struct client *client)
{
	struct pollfd fd = { .fd = client->fd };

	return poll(&fd, 1, 0) > 0 && fd.revents & (POLLHUP | POLLERR);
}

/*
 * Close a client that sends no more requests, if it has got all its answers or has closed the
 * connection.  A timer has to check this: the client has shut down its sending side, so its socket
 * is always readable, and no event reports that the connection is closed.
 */
static void on_hangup_timer(void *arg)
{
	struct client *client = arg;

	if (is_served(client) || is_hung_up(client))
		close_client(client);
	else
		loop_set(client->hangup, HANGUP_MS);
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
	if (is_served(client)) {
		close_client(client);
		return;
	}
	if (was_full && !client_is_full(client)) {
		switch_reading(client);
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
		close_later(client);
		return;
	}
	loop_switch(client->writing, true);
	switch_reading(client);
}

void client_send_error(
	struct client *client, const struct jsonread *id, enum rpc_code code, const struct err *err)
{
	owned(json_release) struct json out = JSON_INIT;

	rpc_error(&out, id, code, err, NULL, 0);
	client_send(client, json_written(&out));
}

/*
 * Send a line to all subscribers.  A subscriber that reads too slowly is disconnected, because it
 * would not notice a gap in the events.
 */
void client_send_all(struct owner *owner, struct str line)
{
	if (owner->options->tell)
		owner->options->tell(owner->options->arg, line);
	for (struct client *client = owner->clients; client; client = client->next) {
		if (!client->subscribed)
			continue;
		if (client_is_full(client))
			close_later(client);
		else
			client_send(client, line);
	}
}

/* ------------------------------------------------------------------- reading */

/* Handle a line.  Returns false if the line has to wait until other requests have been answered. */
static bool handle_line(struct client *client, struct str line)
{
	bool blank = true, taken = true;

	for (size_t i = 0; blank && i < line.len; i++)
		blank = line.ptr[i] == ' ' || line.ptr[i] == '\t' || line.ptr[i] == '\r';
	if (!blank)
		taken = methods_handle_line(client->owner, client, line);
	drop_fds(client);
	return taken;
}

/* Drop a line that is longer than RPC_LINE_MAX.  Otherwise the buffer could grow without limit. */
static void drop_long_line(struct client *client)
{
	struct err err = { 0 };

	if (!client->skipping && client->in.len - client->waiting <= RPC_LINE_MAX)
		return;
	if (!client->skipping) {
		err_set(&err, ERR_LIMIT, "a request has at most %zu bytes", RPC_LINE_MAX);
		client_send_error(client, NULL, RPC_LIMIT, &err);
		client->skipping = true;
	}
	buf_truncate(&client->in, client->waiting);
}

bool client_drop_waiting(
	struct client *client, bool (*matches)(void *arg, struct str line), void *arg)
{
	char *data = client->in.data;
	size_t from = 0, kept = 0;

	while (from < client->waiting) {
		char *end = memchr(data + from, '\n', client->waiting - from);
		size_t len = (size_t)(end - data) - from + 1;

		if (!matches(arg, (struct str){ data + from, len - 1 })) {
			memmove(data + kept, data + from, len);
			kept += len;
		}
		from += len;
	}
	client->waiting = kept;
	return kept < from;
}

/*
 * Handle all whole lines in client->in.  Lines that have to wait stay at the start of client->in,
 * in order.
 */
static void handle_lines(struct client *client)
{
	char *data = client->in.data;
	size_t known = client->waiting; /* number of bytes of the lines that were already waiting */
	size_t from = 0;
	char *end;

	client->handling = true;
	client->waiting = 0;
	while (!client->lost && client->in.len > from) {
		/*
		 * While CLIENT_REQUESTS_MAX requests are running, keep the lines that were already
		 * waiting.
		 */
		if (from < known && client->requests >= CLIENT_REQUESTS_MAX) {
			memmove(data + client->waiting, data + from, known - from);
			client->waiting += known - from;
			from = known;
			continue;
		}
		end = memchr(data + from, '\n', client->in.len - from);
		if (!end)
			break;
		size_t len = (size_t)(end - data) - from;
		bool taken =
			client->skipping || handle_line(client, (struct str){ data + from, len });

		client->skipping = false;
		if (!taken) {
			memmove(data + client->waiting, data + from, len + 1);
			client->waiting += len + 1;
		}
		from += len + 1;
	}
	client->handling = false;
	memmove(data + client->waiting, data + from, client->in.len - from);
	buf_truncate(&client->in, client->in.len - from + client->waiting);
	drop_long_line(client);
}

void client_answered(struct client *client)
{
	client->requests--;
	/* a request that has waited can now be started */
	if (!client->handling)
		handle_lines(client);
	switch_reading(client);
}

/* Keep the first CLIENT_FDS_MAX descriptors of a message, and close the others. */
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
		close_later(client);
		return;
	}
	ssize_t n = recvmsg(client->fd, &message, MSG_CMSG_CLOEXEC);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0 || (n == 0 && is_hung_up(client))) {
		close_client(client);
		return;
	}
	if (n == 0) {
		client->ended = true;
		loop_set(client->hangup, 0);
		if (client->in.len > client->waiting)
			buf_adds(&client->in, "\n");
	}
	take_fds(client, &message);
	client->in.len += (size_t)n;
	handle_lines(client);
	switch_reading(client);
}

/* ----------------------------------------------------------------- accepting */

/*
 * Check the user id of the process at the other end.  The mode of the socket file keeps other users
 * out, but a user may change the mode of a file.
 */
static bool may_connect(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
	       (peer.uid == geteuid() || peer.uid == 0);
}

static void refuse_connection(int fd, enum rpc_code code, struct err *err)
{
	owned(json_release) struct json out = JSON_INIT;

	rpc_error(&out, NULL, code, err, NULL, 0);
	struct str text = json_written(&out);
	(void)!send(fd, text.ptr, text.len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void on_connection(void *arg)
{
	struct owner *owner = arg;
	/* cppcheck-suppress nullPointer */
	owned_fd int fd = accept4(owner->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct err err = { 0 };

	if (fd < 0)
		return;
	if (!may_connect(fd)) {
		err_set(&err, ERR_DENIED, "only the owner of the environment and root may connect");
		refuse_connection(fd, RPC_DENIED, &err);
		return;
	}
	if (owner->n_clients >= CLIENT_MAX) {
		err_set(&err, ERR_BUSY, "%d connections are open already", CLIENT_MAX);
		refuse_connection(fd, RPC_BUSY, &err);
		return;
	}
	struct client *client = mem_zalloc(sizeof(*client));
	client->owner = owner;
	client->fd = take_fd(&fd);
	client->in.max = CLIENT_WAITING_MAX + RPC_LINE_MAX + 2 * READ_SIZE;
	client->out.max = CLIENT_OUT_MAX;
	client->next = owner->clients;
	owner->clients = client;
	owner->n_clients++;
	client->reading = loop_fd(owner->loop, client->fd, LOOP_READ, on_readable, client);
	client->writing = loop_fd(owner->loop, client->fd, LOOP_WRITE, on_writable, client);
	loop_switch(client->writing, false);
	client->hangup = loop_timer(owner->loop, on_hangup_timer, client);
}

void client_listen(struct owner *owner)
{
	owner->listening = loop_fd(owner->loop, owner->listener, LOOP_READ, on_connection, owner);
}
