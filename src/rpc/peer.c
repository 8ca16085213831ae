#include "rpc/peer.h"

#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "core/own.h"
#include "core/when.h"

#define CANCEL "$/cancel"

/* ------------------------------------------------------------------ streams */

int peer_open(struct peer *peer, const struct peer_face *face, void *arg, struct err *err)
{
	owned_fd int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	owned_fd int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	if (in < 0 || out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return err_errno(err, "standard input and output");
	*peer = (struct peer){ .face = face, .arg = arg, .before = signal(SIGPIPE, SIG_IGN) };
	peer->in = take_fd(&in);
	peer->out = take_fd(&out);
	linereader_init(&peer->lines, ENVELOPE_LINE_MAX);
	outbox_init(&peer->outbox, peer->out);
	return 0;
}

void peer_leave(struct peer *peer)
{
	outbox_release(&peer->outbox);
	linereader_release(&peer->lines);
	close_fd(&peer->in);
	close_fd(&peer->out);
}

void peer_close(struct peer *peer)
{
	(void)signal(SIGPIPE, peer->before);
	(void)dup2(peer->out, STDOUT_FILENO);
	peer_leave(peer);
}

/* ------------------------------------------------------------------ replies */

void peer_reply(struct peer *peer, struct buf *line, size_t start)
{
	outbox_add(&peer->outbox, line, start);
}

static struct str id_of(const struct envelope *request)
{
	return (struct str){ request->id.data, request->id.len };
}

void peer_refuse(struct peer *peer, const struct envelope *request, enum rpc_code code,
	const struct err *err)
{
	owned(json_release) struct json out = JSON_INIT;

	if (!request->answered)
		return;
	envelope_refuse(&out, id_of(request), code, err, STR(""));
	peer_reply(peer, &out.out, 0);
}

static void refuse_long_line(struct peer *peer)
{
	owned(json_release) struct json out = JSON_INIT;
	struct err err = { 0 };

	err_set(&err, ERR_LIMIT, "a request is longer than %zu bytes", ENVELOPE_LINE_MAX);
	envelope_refuse(&out, STR("null"), RPC_PARSE, &err, STR(""));
	peer_reply(peer, &out.out, 0);
}

/* Cancel the requests with the given id, and reply with their number. */
static void cancel_requests(struct peer *peer, const struct envelope *request)
{
	owned(buf_release) struct buf id = BUF_INIT;
	owned(json_release) struct json out = JSON_INIT;
	struct err err = { 0 };

	if (!envelope_param_id(request, &id)) {
		err_set(&err, ERR_INVALID, "'id' must be the id of a request");
		peer_refuse(peer, request, RPC_PARAMS, &err);
		return;
	}
	size_t n = peer->face->cancel(peer->arg, (struct str){ id.data, id.len });
	if (!request->answered)
		return;
	envelope_begin(&out, id_of(request));
	json_uint(&out, "cancelled", n);
	(void)envelope_end(&out);
	peer_reply(peer, &out.out, 0);
}

/* ----------------------------------------------------------------- requests */

static void take_line(struct peer *peer, struct str line)
{
	owned(envelope_release) struct envelope request = ENVELOPE_INIT;
	struct err err = { 0 };
	enum rpc_code code = envelope_read(line, &request, &err);

	if (code != RPC_NONE)
		peer_refuse(peer, &request, code, &err);
	else if (str_eq(request.method, STR(CANCEL)))
		cancel_requests(peer, &request);
	else
		peer->face->request(peer->arg, &request);
}

static bool is_full(const struct peer *peer)
{
	return outbox_left(&peer->outbox) >= PEER_UNSENT_MAX ||
	       peer->face->load(peer->arg) == PEER_FULL;
}

/*
 * Take the lines that have arrived.  Returns LINEREADER_MORE or LINEREADER_END.  Returns
 * LINEREADER_LINE if reading has to stop and there may be more lines.
 */
static enum linereader_found take_lines(struct peer *peer)
{
	struct str line;

	while (!is_full(peer)) {
		enum linereader_found found = linereader_next(&peer->lines, &line);

		if (found == LINEREADER_LINE)
			take_line(peer, line);
		else if (found == LINEREADER_LONG)
			refuse_long_line(peer);
		else
			return found;
	}
	return LINEREADER_LINE;
}

/* ----------------------------------------------------------------- the loop */

static int wait_ready(struct pollfd *fds, size_t n, int64_t wake)
{
	int64_t left = wake == INT64_MAX ? 0 : wake - when_monotonic();
	struct timespec timeout = { 0 };

	if (left > 0)
		timeout = (struct timespec){ left / WHEN_SECOND, left % WHEN_SECOND };
	return ppoll(fds, n, wake == INT64_MAX ? NULL : &timeout, NULL);
}

/*
 * Wait until a descriptor is ready, or until the time that face->poll has set.  Then read a piece
 * of input if 'more' is set, and call face->handle.
 */
static int serve_once(struct peer *peer, bool more, struct err *err)
{
	struct pollfd fds[PEER_POLLS_MAX + 2];
	size_t unsent = outbox_left(&peer->outbox);
	int64_t wake = INT64_MAX;
	size_t n = peer->face->poll(peer->arg, unsent, fds, &wake);
	struct pollfd *in = &fds[n], *out = &fds[n + 1];

	*in = (struct pollfd){ .fd = more && !is_full(peer) ? peer->in : -1, .events = POLLIN };
	*out = (struct pollfd){ .fd = peer->out, .events = unsent ? POLLOUT : 0 };
	if (wait_ready(fds, n + 2, wake) < 0)
		return errno == EINTR ? 0 : err_errno(err, "cannot wait for requests");
	if (out->revents & (POLLERR | POLLHUP))
		return err_set_number(err, EPIPE, "the peer has hung up");
	int r = in->revents ? linereader_fill(&peer->lines, peer->in, err) : 0;
	if (r >= 0)
		peer->face->handle(peer->arg, fds);
	return r;
}

int peer_serve(struct peer *peer, struct err *err)
{
	int r = 0;

	while (r >= 0) {
		enum linereader_found found = take_lines(peer);

		r = outbox_flush(&peer->outbox, err);
		/* The lines that are left in the buffer do not wake poll(2), so take them first. */
		if (r < 0 || (found == LINEREADER_LINE && !is_full(peer)))
			continue;
		if (found == LINEREADER_END && peer->face->load(peer->arg) == PEER_IDLE &&
			!outbox_left(&peer->outbox))
			return 0;
		r = serve_once(peer, found != LINEREADER_END, err);
	}
	return r;
}
