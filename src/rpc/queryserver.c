#include "rpc/queryserver.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "core/mem.h"
#include "core/own.h"
#include "core/when.h"
#include "rpc/crew.h"
#include "rpc/envelope.h"
#include "rpc/linereader.h"
#include "rpc/outbox.h"

#define CANCEL "$/cancel"
/* No request is read while one of these limits of waiting jobs or bytes is reached. */
#define QUEUE_JOBS_MAX 1024
#define QUEUE_BYTES_MAX ((size_t)4 << 20)
#define OUTBOX_FULL ((size_t)1 << 20)

struct server {
	int in;
	struct linereader lines;
	struct outbox outbox;
	struct crew crew;
	struct crew_job *first, **last; /* the queue */
	size_t n_jobs, n_bytes;
};

enum { FD_IN = CREW_MAX, FD_OUT, FDS };

/* -------------------------------------------------------------------- replies */

static void send_reply(void *arg, struct buf *line, size_t start)
{
	outbox_add(&((struct server *)arg)->outbox, line, start);
}

static void refuse_line(struct server *server, const struct envelope *envelope, enum rpc_code code,
	const struct err *err)
{
	owned(json_release) struct json out = JSON_INIT;
	struct str id = { envelope->id.data, envelope->id.len };

	if (!envelope->answered)
		return;
	envelope_refuse(&out, id, code, err, STR(""));
	outbox_add(&server->outbox, &out.out, 0);
}

static void refuse_long_line(struct server *server)
{
	owned(json_release) struct json out = JSON_INIT;
	struct err err = { 0 };

	err_set(&err, ERR_LIMIT, "a request is longer than %zu bytes", ENVELOPE_LINE_MAX);
	envelope_refuse(&out, STR("null"), RPC_PARSE, &err, STR(""));
	outbox_add(&server->outbox, &out.out, 0);
}

/* ------------------------------------------------------------------ the queue */

static void add_job(struct server *server, struct crew_job *job)
{
	*server->last = job;
	server->last = &job->next;
	server->n_jobs++;
	server->n_bytes += job->frame.len;
}

/* Take the job at *slot out of the queue. */
static struct crew_job *take_job(struct server *server, struct crew_job **slot)
{
	struct crew_job *job = *slot;

	*slot = job->next;
	if (server->last == &job->next)
		server->last = slot;
	job->next = NULL;
	server->n_jobs--;
	server->n_bytes -= job->frame.len;
	return job;
}

static bool is_full(const struct server *server)
{
	return server->n_jobs >= QUEUE_JOBS_MAX || server->n_bytes >= QUEUE_BYTES_MAX ||
	       outbox_left(&server->outbox) >= OUTBOX_FULL;
}

static void give_jobs(struct server *server)
{
	while (server->first) {
		struct crew_job *job = server->first, *next = job->next;
		size_t bytes = job->frame.len;

		if (!crew_give(&server->crew, job))
			return;
		/* now the crew owns the job, or has freed it */
		server->first = next;
		if (!next)
			server->last = &server->first;
		server->n_jobs--;
		server->n_bytes -= bytes;
	}
}

/* ------------------------------------------------------------------- requests */

static size_t cancel_waiting(struct server *server, struct str id)
{
	struct err err = { 0 };
	size_t n = 0;

	err_set_number(&err, ECANCELED, "cancelled");
	for (struct crew_job **slot = &server->first; *slot;) {
		if (!str_eq(crew_job_id(*slot), id)) {
			slot = &(*slot)->next;
			continue;
		}
		struct crew_job *job = take_job(server, slot);
		crew_refuse(&server->crew, job, RPC_QUERY_ENDED, &err);
		crew_job_free(job);
		n++;
	}
	return n;
}

/* Cancel the requests with the given id, and reply with their number. */
static void cancel_request(struct server *server, const struct envelope *envelope)
{
	owned(buf_release) struct buf id = BUF_INIT;
	owned(json_release) struct json out = JSON_INIT;
	struct err err = { 0 };

	if (!envelope_param_id(envelope, &id)) {
		err_set(&err, ERR_INVALID, "'id' must be the id of a request");
		refuse_line(server, envelope, RPC_PARAMS, &err);
		return;
	}
	struct str text = { id.data, id.len };
	size_t n = cancel_waiting(server, text) + crew_cancel(&server->crew, text);
	if (!envelope->answered)
		return;
	envelope_begin(&out, (struct str){ envelope->id.data, envelope->id.len });
	json_uint(&out, "cancelled", n);
	(void)envelope_end(&out);
	outbox_add(&server->outbox, &out.out, 0);
}

static void take_request(struct server *server, struct str line)
{
	owned(envelope_release) struct envelope envelope = ENVELOPE_INIT;
	struct err err = { 0 };
	enum rpc_code code = envelope_read(line, &envelope, &err);
	struct answerer_request request = {
		.id = { envelope.id.data, envelope.id.len },
		.method = envelope.method,
		.params = envelope.params,
	};

	if (code != RPC_NONE)
		refuse_line(server, &envelope, code, &err);
	else if (str_eq(envelope.method, STR(CANCEL)))
		cancel_request(server, &envelope);
	else
		add_job(server, crew_job_new(&request, envelope.answered));
}

/*
 * Take the lines that have arrived.  Returns LINEREADER_MORE or LINEREADER_END.  Returns
 * LINEREADER_LINE if the server is full and there may be more lines.
 */
static enum linereader_found take_lines(struct server *server)
{
	struct str line;

	while (!is_full(server)) {
		enum linereader_found found = linereader_next(&server->lines, &line);
		if (found == LINEREADER_LINE)
			take_request(server, line);
		else if (found == LINEREADER_LONG)
			refuse_long_line(server);
		else
			return found;
	}
	return LINEREADER_LINE;
}

/* ------------------------------------------------------------------- the loop */

static int wait_ready(struct server *server, struct pollfd *fds)
{
	int64_t left = crew_wake(&server->crew, server->first);
	struct timespec timeout;

	if (left != INT64_MAX) {
		left -= when_monotonic();
		left = left > 0 ? left : 0;
		timeout = (struct timespec){ left / WHEN_SECOND, left % WHEN_SECOND };
	}
	return ppoll(fds, FDS, left == INT64_MAX ? NULL : &timeout, NULL);
}

/* Wait until something can be read or written, then read and write. */
static int serve_once(struct server *server, bool more, struct err *err)
{
	struct pollfd fds[FDS];
	bool full = is_full(server);
	bool left = outbox_left(&server->outbox) > 0;

	crew_poll(&server->crew, !left, fds);
	fds[FD_IN] = (struct pollfd){ .fd = more && !full ? server->in : -1, .events = POLLIN };
	fds[FD_OUT] = (struct pollfd){ .fd = server->outbox.fd, .events = left ? POLLOUT : 0 };
	if (wait_ready(server, fds) < 0)
		return errno == EINTR ? 0 : err_errno(err, "cannot wait for requests");
	if (fds[FD_OUT].revents & (POLLERR | POLLHUP))
		return err_set_number(err, EPIPE, "the peer has hung up");
	crew_handle(&server->crew, fds);
	int r = fds[FD_IN].revents ? linereader_fill(&server->lines, server->in, err) : 0;
	return r < 0 ? r : outbox_flush(&server->outbox, err);
}

static int serve(struct server *server, struct err *err)
{
	int r = 0;

	while (r >= 0) {
		enum linereader_found found = take_lines(server);

		give_jobs(server);
		r = outbox_flush(&server->outbox, err);
		if (r < 0 || (found == LINEREADER_LINE && !is_full(server)))
			continue;
		if (found == LINEREADER_END && !server->first && crew_is_idle(&server->crew) &&
			!outbox_left(&server->outbox))
			return 0;
		r = serve_once(server, found != LINEREADER_END, err);
	}
	return r;
}

static void close_server(struct server *server)
{
	while (server->first)
		crew_job_free(take_job(server, &server->first));
	crew_release(&server->crew);
	outbox_release(&server->outbox);
	linereader_release(&server->lines);
}

static int serve_streams(int in, int out, const struct answerer_source *source, struct err *err)
{
	owned(close_server) struct server server = { .in = in };
	int r = crew_init(&server.crew, source, err);

	server.last = &server.first;
	linereader_init(&server.lines, ENVELOPE_LINE_MAX);
	outbox_init(&server.outbox, out);
	server.crew.reply = send_reply;
	server.crew.arg = &server;
	server.crew.hidden[0] = in;
	server.crew.hidden[1] = out;
	return r < 0 ? r : serve(&server, err);
}

int queryserver_run(const struct answerer_source *source, struct err *err)
{
	owned_fd int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	owned_fd int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	if (in < 0 || out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return err_errno(err, "standard input and output");
	/* If the peer hangs up, a write should give an error and no signal. */
	void (*before)(int) = signal(SIGPIPE, SIG_IGN);
	int r = serve_streams(in, out, source, err);
	(void)signal(SIGPIPE, before);
	(void)dup2(out, STDOUT_FILENO);
	return r;
}
