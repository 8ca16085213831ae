#include "confine/grantserver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "core/mem.h"
#include "core/own.h"
#include "core/procfile.h"
#include "sandbox/message.h"

#define PEERS_MAX 16
#define PATIENCE_MS 5000 /* time for a request to arrive after its peer has connected */
#define STATUS_MAX 65536 /* the largest /proc/PID/status that is read */

struct peer {
	struct grantserver *server;
	struct peer *next;
	struct poller_event event;
	struct poller_timer deadline;
	int fd;
};

struct grantserver {
	struct poller *poller;
	struct grantserver_options options;
	struct poller_event event;
	struct peer *peers;
	size_t n;
};

/* ----------------------------------------------------------- connected peers */

static void end_peer(struct peer *peer)
{
	struct grantserver *server = peer->server;
	struct peer **slot = &server->peers;

	while (*slot != peer)
		slot = &(*slot)->next;
	*slot = peer->next;
	poller_remove(server->poller, &peer->event);
	poller_unset(server->poller, &peer->deadline);
	close_fd(&peer->fd);
	free(peer);
	server->n--;
	poller_change(server->poller, &server->event, POLLER_READ);
}

static void on_deadline(void *arg)
{
	end_peer(arg);
}

/*
 * Whether a process is in a PID namespace below the one that proc shows.  The status of such a
 * process has several numbers: one for each PID namespace, from the one of proc down to its own.
 */
static bool is_below(int proc, pid_t pid)
{
	owned(buf_release) struct buf status = BUF_INIT;
	struct err ignored = { 0 };
	char path[32];

	snprintf(path, sizeof(path), "%d/status", (int)pid);
	if (procfile_read_at(proc, path, STATUS_MAX, &status, &ignored) < 0)
		return true;
	const char *line = strstr(status.data, "\nNSpid:\t");
	return !line || strcspn(line + strlen("\nNSpid:\t"), "\t") <
				strcspn(line + strlen("\nNSpid:\t"), "\n");
}

static int check_peer(const struct grantserver *server, int fd, struct err *err)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return err_errno(err, "look who asks");
	if (peer.uid != geteuid())
		return err_set(err, ERR_DENIED, "another user asks");
	/*
	 * The peer has the number 0 if its PID namespace is neither that of this process nor one
	 * below it.
	 */
	if (peer.pid && is_below(server->options.proc, peer.pid))
		return err_set(err, ERR_DENIED, "a program in a sandbox asks");
	return 0;
}

/* ------------------------------------------------------------------ requests */

static void send_answer(const struct peer *peer, const struct grantwire_answer *answer)
{
	owned(json_release) struct json out = JSON_INIT;

	grantwire_write_answer(&out, answer);
	struct str text = json_written(&out);
	if (text.len <= GRANTWIRE_MAX)
		(void)send(peer->fd, text.ptr, text.len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void answer_request(const struct peer *peer, struct str text)
{
	owned(arena_release) struct arena arena = { 0 };
	const struct grantserver_options *options = &peer->server->options;
	struct grantwire_request request;
	struct grantwire_answer answer = { .selected = true };

	if (check_peer(peer->server, peer->fd, &answer.err) == 0 &&
		grantwire_read_request(text, &arena, &request, &answer.err) == 0)
		options->answer(options->arg, &request, &arena, &answer);
	send_answer(peer, &answer);
}

static void on_request(void *arg, unsigned what, bool failed)
{
	struct peer *peer = arg;
	owned_mem char *bytes = mem_alloc(GRANTWIRE_MAX + 1);
	ssize_t n = recv(peer->fd, bytes, GRANTWIRE_MAX + 1, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		answer_request(peer, (struct str){ bytes, (size_t)n });
	end_peer(peer);
}

static void on_connection(void *arg, unsigned what, bool failed)
{
	struct grantserver *server = arg;
	struct err ignored = { 0 };
	/* cppcheck-suppress nullPointer */
	int fd = accept4(server->options.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	struct peer *peer = mem_alloc(sizeof(*peer));
	*peer = (struct peer){
		.server = server,
		.next = server->peers,
		.event = { .fd = -1, .ready = on_request, .arg = peer },
		.deadline = { .expired = on_deadline, .arg = peer },
		.fd = fd,
	};
	server->peers = peer;
	if (++server->n == PEERS_MAX)
		poller_change(server->poller, &server->event, 0);
	poller_set(server->poller, &peer->deadline, PATIENCE_MS);
	if (poller_add(server->poller, &peer->event, fd, POLLER_READ, &ignored) < 0)
		end_peer(peer);
}

struct grantserver *grantserver_new(
	struct poller *poller, const struct grantserver_options *options, struct err *err)
{
	struct grantserver *server = mem_alloc(sizeof(*server));

	*server = (struct grantserver){
		.poller = poller,
		.options = *options,
		.event = { .fd = -1, .ready = on_connection, .arg = server },
	};
	if (poller_add(poller, &server->event, options->listener, POLLER_READ, err) == 0)
		return server;
	free(server);
	return NULL;
}

void grantserver_free(struct grantserver *server)
{
	if (!server)
		return;
	while (server->peers)
		end_peer(server->peers);
	poller_remove(server->poller, &server->event);
	free(server);
}
