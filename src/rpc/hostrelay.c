#include "rpc/hostrelay.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>

#include "core/mem.h"
#include "core/own.h"
#include "rpc/envelope.h"
#include "rpc/linereader.h"
#include "rpc/outbox.h"

#define CANCEL "$/cancel"
/* No request is read while one of these limits of waiting requests or bytes is reached. */
#define REQUESTS_MAX 256
#define REQUEST_BYTES_MAX ((size_t)4 << 20)
#define OUTBOX_FULL ((size_t)1 << 20)

/* A request that the host has not answered. */
struct passed {
	uint64_t tag;
	struct buf id; /* as the peer wrote it */
};

struct relay {
	int in;
	struct linereader lines;
	struct outbox outbox;
	struct hostclient_face face;
	struct hostclient *client;
	void (*notice)(void *arg, const char *text);
	void *arg;
	struct passed *list;
	size_t count, cap;
	uint64_t next_tag;
};

enum { FD_IN = HOSTCLIENT_POLLS, FD_OUT, FDS };

/* --- replies --- */

static void refuse_request(struct relay *relay, const struct envelope *envelope, enum rpc_code code,
	const struct err *err)
{
	owned(json_release) struct json out = JSON_INIT;
	struct str id = { envelope->id.data, envelope->id.len };

	if (!envelope->answered)
		return;
	envelope_refuse(&out, id, code, err, STR(""));
	outbox_add(&relay->outbox, &out.out, 0);
}

static void refuse_long_line(struct relay *relay)
{
	owned(json_release) struct json out = JSON_INIT;
	struct err err = { 0 };

	err_set(&err, ERR_LIMIT, "a request is longer than %zu bytes", ENVELOPE_LINE_MAX);
	envelope_refuse(&out, STR("null"), RPC_PARSE, &err, STR(""));
	outbox_add(&relay->outbox, &out.out, 0);
}

static void take_answer(void *arg, uint64_t tag, const struct hostclient_answer *answer)
{
	struct relay *relay = arg;
	struct buf line = BUF_INIT;
	size_t i = 0;

	while (relay->list[i].tag != tag)
		i++;
	struct passed *passed = &relay->list[i];

	buf_adds(&line, "{\"jsonrpc\":\"2.0\",\"id\":");
	buf_add(&line, passed->id.data, passed->id.len);
	buf_adds(&line, answer->failed ? ",\"error\":" : ",\"result\":");
	buf_add(&line, answer->value.ptr, answer->value.len);
	buf_adds(&line, "}\n");
	outbox_add(&relay->outbox, &line, 0);
	buf_release(&line);
	buf_release(&passed->id);
	memmove(passed, passed + 1, (relay->count - i - 1) * sizeof(*passed));
	relay->count--;
}

static void take_notice(void *arg, const char *text)
{
	struct relay *relay = arg;

	if (relay->notice)
		relay->notice(relay->arg, text);
}

/* --- requests --- */

/* Cancel the requests with the given id, and reply with their number. */
static void cancel_request(struct relay *relay, const struct envelope *envelope)
{
	owned(buf_release) struct buf id = BUF_INIT;
	owned(json_release) struct json out = JSON_INIT;
	owned_mem uint64_t *tags = mem_alloc((relay->count + 1) * sizeof(*tags));
	struct err err = { 0 };
	size_t n = 0;

	if (!envelope_param_id(envelope, &id)) {
		err_set(&err, ERR_INVALID, "'id' must be the id of a request");
		refuse_request(relay, envelope, RPC_PARAMS, &err);
		return;
	}
	/* Collect the tags first, since cancelling may answer a request and so change the list. */
	for (size_t i = 0; i < relay->count; i++)
		if (str_eq((struct str){ relay->list[i].id.data, relay->list[i].id.len },
			    (struct str){ id.data, id.len }))
			tags[n++] = relay->list[i].tag;
	for (size_t i = 0; i < n; i++)
		hostclient_cancel(relay->client, tags[i]);
	if (!envelope->answered)
		return;
	envelope_begin(&out, (struct str){ envelope->id.data, envelope->id.len });
	json_uint(&out, "cancelled", n);
	(void)envelope_end(&out);
	outbox_add(&relay->outbox, &out.out, 0);
}

static void pass_request(struct relay *relay, const struct envelope *envelope)
{
	struct err err = { 0 };

	/* A method is passed on as a text, so a NUL in its name would make it another method. */
	if (memchr(envelope->method.ptr, '\0', envelope->method.len)) {
		err_set(&err, ERR_USAGE, "no such method");
		refuse_request(relay, envelope, RPC_NO_METHOD, &err);
		return;
	}
	if (!envelope->answered) {
		hostclient_tell(relay->client, envelope->method.ptr, envelope->params);
		return;
	}
	mem_grow(&relay->list, &relay->cap, relay->count);
	struct passed *passed = &relay->list[relay->count++];

	*passed = (struct passed){ .tag = relay->next_tag++, .id = BUF_INIT };
	buf_add(&passed->id, envelope->id.data, envelope->id.len);
	hostclient_ask(relay->client, passed->tag, envelope->method.ptr, envelope->params);
}

static void take_request(struct relay *relay, struct str line)
{
	owned(envelope_release) struct envelope envelope = ENVELOPE_INIT;
	struct err err = { 0 };
	enum rpc_code code = envelope_read(line, &envelope, &err);

	if (code != RPC_NONE)
		refuse_request(relay, &envelope, code, &err);
	else if (str_eq(envelope.method, STR(CANCEL)))
		cancel_request(relay, &envelope);
	else
		pass_request(relay, &envelope);
}

static bool is_full(const struct relay *relay)
{
	return hostclient_pending(relay->client) >= REQUESTS_MAX ||
	       hostclient_bytes(relay->client) >= REQUEST_BYTES_MAX ||
	       outbox_left(&relay->outbox) >= OUTBOX_FULL;
}

/* Take the lines that have arrived.  Returns false when there will be no more. */
static bool take_lines(struct relay *relay)
{
	struct str line;

	while (!is_full(relay)) {
		enum linereader_found found = linereader_next(&relay->lines, &line);

		if (found == LINEREADER_LINE)
			take_request(relay, line);
		else if (found == LINEREADER_LONG)
			refuse_long_line(relay);
		else
			return found != LINEREADER_END;
	}
	return true;
}

/* --- the loop --- */

static int relay_once(struct relay *relay, bool more, struct err *err)
{
	struct pollfd fds[FDS];
	bool blocked = outbox_left(&relay->outbox) >= OUTBOX_FULL;
	bool left = outbox_left(&relay->outbox) > 0;
	size_t n = blocked ? 0 : hostclient_polls(relay->client, fds);
	int wait = blocked ? -1 : hostclient_wait_ms(relay->client);

	for (; n < HOSTCLIENT_POLLS; n++)
		fds[n] = (struct pollfd){ .fd = -1 };
	fds[FD_IN] =
		(struct pollfd){ .fd = more && !is_full(relay) ? relay->in : -1, .events = POLLIN };
	fds[FD_OUT] = (struct pollfd){ .fd = relay->outbox.fd, .events = left ? POLLOUT : 0 };
	if (poll(fds, FDS, wait) < 0)
		return errno == EINTR ? 0 : err_errno(err, "cannot wait for requests");
	if (fds[FD_OUT].revents & (POLLERR | POLLHUP))
		return err_number(err, EPIPE, "the peer has hung up");
	int r = fds[FD_IN].revents ? linereader_fill(&relay->lines, relay->in, err) : 0;
	if (r >= 0 && !blocked)
		hostclient_handle(relay->client);
	return r;
}

static int relay_lines(struct relay *relay, struct err *err)
{
	for (;;) {
		bool more = take_lines(relay);
		int r = outbox_flush(&relay->outbox, err);

		if (r < 0)
			return r;
		if (!more && !hostclient_pending(relay->client) && !outbox_left(&relay->outbox))
			return 0;
		r = relay_once(relay, more, err);
		if (r < 0)
			return r;
	}
}

static int relay_streams(struct relay *relay, const struct hosts_host *host,
	const struct hostlink_options *options, int out, struct err *err)
{
	linereader_init(&relay->lines, ENVELOPE_LINE_MAX);
	outbox_init(&relay->outbox, out);
	relay->face = (struct hostclient_face){ take_answer, take_notice, relay };
	relay->client = hostclient_new(host, options, &relay->face);
	int r = relay_lines(relay, err);
	hostclient_free(relay->client);
	outbox_release(&relay->outbox);
	linereader_release(&relay->lines);
	for (size_t i = 0; i < relay->count; i++)
		buf_release(&relay->list[i].id);
	free(relay->list);
	return r;
}

int hostrelay_run(const struct hosts_host *host, const struct hostlink_options *options,
	void (*notice)(void *arg, const char *text), void *arg, struct err *err)
{
	owned_fd int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	owned_fd int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	struct relay relay = { .in = in, .notice = notice, .arg = arg };

	if (in < 0 || out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return err_errno(err, "standard input and output");
	/* If the peer hangs up, a write should give an error and no signal. */
	void (*before)(int) = signal(SIGPIPE, SIG_IGN);
	int r = relay_streams(&relay, host, options, out, err);
	(void)signal(SIGPIPE, before);
	(void)dup2(out, STDOUT_FILENO);
	return r;
}
