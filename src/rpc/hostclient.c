#include "rpc/hostclient.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/at.h"
#include "core/errcode.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/when.h"
#include "query/method.h"
#include "rpc/hostreply.h"

#define PROTOCOL "1"
#define SENDS_MAX 3 /* maximum number of times that a request is sent */
/* number of attempts to connect again before the waiting requests are refused */
#define ATTEMPTS_MAX 3
#define REPLY_SECONDS 360 /* the longest deadline of a method, and one more minute */
#define CANCEL_SECONDS 10 /* time for the answer to a cancelled request */
#define FIRST_ID 0        /* id of the request for agent_info */

struct pending {
	uint64_t id, tag;
	struct buf line;
	bool told;  /* a notification: it gets no answer, and is dropped once it is sent */
	bool reads; /* its method only reads, so it may be sent again */
	bool sent;  /* sent on the present connection */
	bool cancelled;
	unsigned sends;
	int64_t deadline;
};

struct hostclient {
	const struct hosts_host *host;
	const struct hostlink_options *options;
	const struct hostclient_face *face;
	struct hostlink *link;
	bool answered; /* the agent of this link has answered agent_info */
	bool ever;     /* an agent has answered agent_info at least once */
	unsigned attempts;
	int64_t retry_at;
	struct pending *list;
	size_t count, cap, bytes;
	uint64_t next_id;
	char version[32];
};

struct hostclient *hostclient_new(const struct hosts_host *host,
	const struct hostlink_options *options, const struct hostclient_face *face)
{
	struct hostclient *client = mem_zalloc(sizeof(*client));

	client->host = host;
	client->options = options;
	client->face = face;
	client->next_id = FIRST_ID + 1;
	return client;
}

void hostclient_free(struct hostclient *client)
{
	if (!client)
		return;
	if (client->count)
		hostlink_abandon(client->link);
	hostlink_close(client->link);
	for (size_t i = 0; i < client->count; i++)
		buf_release(&client->list[i].line);
	free(client->list);
	free(client);
}

void hostclient_freep(struct hostclient **client)
{
	hostclient_free(*client);
	*client = NULL;
}

/* --- requests --- */

static void write_request(
	struct buf *out, const uint64_t *id, const char *method, struct str params)
{
	buf_adds(out, "{\"jsonrpc\":\"2.0\",");
	if (id)
		buf_addf(out, "\"id\":%llu,", (unsigned long long)*id);
	buf_adds(out, "\"method\":");
	json_quote(out, str_of(method));
	if (params.len) {
		buf_adds(out, ",\"params\":");
		buf_add(out, params.ptr, params.len);
	}
	buf_addc(out, '}');
}

/* Whether a method only reads.  A method that this program does not know may write. */
static bool only_reads(const char *name)
{
	const struct op *method = method_find(name);

	return method && !(method->flags & OP_WRITES);
}

static struct pending *add_pending(
	struct hostclient *client, const char *method, struct str params, bool told)
{
	mem_grow(&client->list, &client->cap, client->count);
	struct pending *pending = &client->list[client->count++];

	*pending = (struct pending){
		.id = client->next_id++,
		.line = BUF_INIT,
		.told = told,
		.reads = only_reads(method),
		.deadline = when_monotonic() + REPLY_SECONDS * WHEN_SECOND,
	};
	write_request(&pending->line, told ? NULL : &pending->id, method, params);
	client->bytes += pending->line.len;
	return pending;
}

static void send_request(struct hostclient *client, struct pending *pending)
{
	/*
	 * Before the reply to the first request, it is not known whether the agent speaks this
	 * protocol.
	 */
	if (!client->link || !client->answered || pending->sent)
		return;
	hostlink_send(client->link, (struct str){ pending->line.data, pending->line.len });
	pending->sent = true;
	pending->sends++;
}

static void drop(struct hostclient *client, size_t index)
{
	struct pending *pending = &client->list[index];

	client->bytes -= pending->line.len;
	buf_release(&pending->line);
	memmove(pending, pending + 1, (client->count - index - 1) * sizeof(*pending));
	client->count--;
}

static void send_pending(struct hostclient *client)
{
	for (size_t i = 0; i < client->count;) {
		send_request(client, &client->list[i]);
		if (client->list[i].sent && client->list[i].told)
			drop(client, i);
		else
			i++;
	}
}

void hostclient_ask(struct hostclient *client, uint64_t tag, const char *method, struct str params)
{
	struct pending *pending = add_pending(client, method, params, false);

	pending->tag = tag;
	send_request(client, pending);
}

void hostclient_tell(struct hostclient *client, const char *method, struct str params)
{
	add_pending(client, method, params, true);
	send_pending(client);
}

/* --- answers --- */

static void answer(struct hostclient *client, size_t index, bool failed, struct str value)
{
	struct hostclient_answer reply = { failed, value };
	uint64_t tag = client->list[index].tag;

	drop(client, index);
	client->face->answer(client->face->arg, tag, &reply);
}

/*
 * Answer a request with an error of this client.  'members' has the members of "data", and may be
 * empty.
 */
static void refuse(
	struct hostclient *client, size_t index, const struct err *err, struct str members)
{
	owned(json_release) struct json out = JSON_INIT;

	json_open(&out, NULL, '{');
	json_int(&out, "code",
		err->errno_value == ETIMEDOUT || err->errno_value == ECANCELED ? RPC_QUERY_ENDED
									       : RPC_QUERY_FAILED);
	json_text(&out, "message", err->text);
	json_open(&out, "data", '{');
	if (members.len)
		json_members(&out, members);
	if (err->hint[0])
		json_text(&out, "hint", err->hint);
	json_close(&out);
	json_close(&out);
	answer(client, index, true, json_written(&out));
}

void hostclient_cancel(struct hostclient *client, uint64_t tag)
{
	char params[40];

	for (size_t i = 0; i < client->count; i++) {
		struct pending *pending = &client->list[i];
		struct err err = { 0 };

		if (pending->told || pending->cancelled || pending->tag != tag)
			continue;
		if (!pending->sent) {
			err_set_number(&err, ECANCELED, "cancelled");
			refuse(client, i, &err, (struct str){ 0 });
			return;
		}
		pending->cancelled = true;
		pending->deadline = when_monotonic() + CANCEL_SECONDS * WHEN_SECOND;
		snprintf(params, sizeof(params), "{\"id\":%llu}", (unsigned long long)pending->id);
		hostclient_tell(client, "$/cancel", str_of(params));
		return;
	}
}

/* --- the connection --- */

/* Returns the members of "data" for errors of the connection. */
static struct str link_members(const struct hostlink *link, struct json *out)
{
	json_open(out, NULL, '{');
	hostlink_members(out, link);
	json_close(out);
	struct str object = json_written(out);

	return (struct str){ object.ptr + 1, object.len - 2 };
}

static void notice(struct hostclient *client, const struct err *err, const char *what)
{
	owned_mem char *text = NULL;

	if (!client->face->notice)
		return;
	text = mem_printf("%s; %s", err->text, what);
	client->face->notice(client->face->arg, text);
}

/* Refuse a request that was sent and cannot be sent again. */
static void refuse_lost(
	struct hostclient *client, size_t index, const struct err *why, struct str members)
{
	struct err err = *why;

	if (!client->list[index].reads) {
		err_context(&err, "the connection was lost before the reply, so it is not known "
				  "whether this was carried out");
		err_hint(&err, "look at the target before you ask again");
	}
	refuse(client, index, &err, members);
}

/*
 * Handle a connection that is lost or could not be made.  Requests that may be sent again wait for
 * the next connection, unless there have been too many attempts.
 */
static void lose_link(struct hostclient *client, const struct err *err, struct str members)
{
	bool connected = client->answered;
	bool again = client->ever && client->attempts < ATTEMPTS_MAX;
	uint64_t newest = client->next_id;
	size_t i = 0;

	hostlink_close(client->link);
	client->link = NULL;
	client->answered = false;
	client->attempts = connected ? 1 : client->attempts + 1;
	/*
	 * Connect again at once after a connection that worked, and otherwise after 0.5 or 2
	 * seconds.
	 */
	client->retry_at = when_monotonic() + (connected                     ? 0
						      : client->attempts < 3 ? 500
									     : 2000) *
						      WHEN_MS;
	/*
	 * The answers given here may lead to new requests.  This loop ends before the new requests,
	 * which are at the end of the list.
	 */
	while (i < client->count && client->list[i].id < newest) {
		struct pending *pending = &client->list[i];
		bool lost = pending->sent &&
			    (!pending->reads || pending->cancelled || pending->sends >= SENDS_MAX);

		pending->sent = false;
		if (lost || (!again && !pending->told))
			refuse_lost(client, i, err, members);
		else if (!again)
			drop(client, i);
		else
			i++;
	}
	if (again && client->count)
		notice(client, err, "connecting again");
	if (!again)
		client->attempts = 0;
}

static void fail_link(struct hostclient *client, const struct err *err)
{
	owned(json_release) struct json out = JSON_INIT;

	lose_link(client, err, link_members(client->link, &out));
}

static void open_link(struct hostclient *client)
{
	owned(buf_release) struct buf line = BUF_INIT;
	struct err err = { 0 };

	client->link = hostlink_open(client->host, client->options, &err);
	if (!client->link) {
		lose_link(client, &err, (struct str){ 0 });
		return;
	}
	write_request(&line, &(uint64_t){ FIRST_ID }, "agent_info", (struct str){ 0 });
	hostlink_send(client->link, (struct str){ line.data, line.len });
}

/* --- replies --- */

/* Check the reply to agent_info, which is the first request. */
static int greet(struct hostclient *client, bool failed, struct str value, struct err *err)
{
	owned(jsonread_freep) struct jsonread *info =
		failed ? NULL : jsonread_new_max(value, HOSTLINK_LINE_MAX, err);
	struct str protocol, version = STR("");

	if (!info || jsonread_get_str(info, "protocol_version", &protocol) != JSONREAD_FOUND)
		return err_set(err, ERR_UNSUPPORTED,
			"host '%s': its agent does not say which protocol it speaks",
			client->host->name);
	(void)jsonread_get_str(info, "agent_version", &version);
	if (!str_eq(protocol, STR(PROTOCOL)))
		return err_set(err, ERR_UNSUPPORTED,
			"host '%s': its agent %.30s speaks protocol %.30s, not " PROTOCOL,
			client->host->name, version.ptr, protocol.ptr);
	snprintf(client->version, sizeof(client->version), "%s", version.ptr);
	client->answered = client->ever = true;
	hostlink_answered(client->link);
	send_pending(client);
	return 0;
}

static int take_reply(struct hostclient *client, struct str line, struct err *err)
{
	struct hostreply reply;

	if (!hostreply_read(line, &reply))
		return hostlink_refuse_line(client->link, line, err);
	if (reply.id == FIRST_ID)
		return client->answered ? 0 : greet(client, reply.failed, reply.value, err);
	for (size_t i = 0; i < client->count; i++)
		if (client->list[i].id == reply.id && client->list[i].sent) {
			client->attempts = 0;
			answer(client, i, reply.failed, reply.value);
			return 0;
		}
	/* This is the reply to a request that has been refused meanwhile. */
	return 0;
}

static int take_replies(struct hostclient *client, struct err *err)
{
	struct str line;
	int r = 0;

	while (r >= 0 && hostlink_next(client->link, &line))
		r = take_reply(client, line, err);
	return r;
}

/* --- time limits --- */

static int64_t next_deadline(const struct hostclient *client)
{
	int64_t next = client->link ? hostlink_deadline(client->link) : INT64_MAX;

	if (!client->link && client->count)
		next = client->retry_at;
	for (size_t i = 0; i < client->count; i++)
		if (client->list[i].deadline < next)
			next = client->list[i].deadline;
	return next;
}

int hostclient_wait_ms(const struct hostclient *client)
{
	int64_t next = next_deadline(client);

	return next == INT64_MAX ? -1 : when_ms_left(next);
}

static void refuse_late(struct hostclient *client)
{
	int64_t now = when_monotonic();

	for (size_t i = 0; i < client->count;) {
		struct err err = { 0 };

		if (client->list[i].deadline > now) {
			i++;
			continue;
		}
		if (client->list[i].told) {
			drop(client, i);
			continue;
		}
		err_set_number(&err, ETIMEDOUT, "host '%s': no reply in time", client->host->name);
		refuse(client, i, &err, (struct str){ 0 });
	}
}

void hostclient_handle(struct hostclient *client)
{
	struct err err = { 0 }, wrong = { 0 };
	int r, taken;

	if (!client->link && client->count && when_monotonic() >= client->retry_at)
		open_link(client);
	if (client->link) {
		r = hostlink_handle(client->link, &err);
		/* Replies that arrived before the end of the connection still count. */
		taken = take_replies(client, &wrong);
		if (r < 0 || taken < 0)
			fail_link(client, taken < 0 ? &wrong : &err);
	}
	refuse_late(client);
}

/* --- state of a client --- */

size_t hostclient_pending(const struct hostclient *client)
{
	return client->count;
}

size_t hostclient_bytes(const struct hostclient *client)
{
	return client->bytes;
}

size_t hostclient_polls(const struct hostclient *client, struct pollfd polls[HOSTCLIENT_POLLS])
{
	return client->link ? hostlink_polls(client->link, polls) : 0;
}

const struct hostlink_start *hostclient_started(const struct hostclient *client)
{
	return client->link ? hostlink_started(client->link) : NULL;
}

const char *hostclient_version(const struct hostclient *client)
{
	return client->version;
}

/* --- a single question --- */

struct call {
	bool done, failed;
	struct buf value;
};

static void take_answer(void *arg, uint64_t tag, const struct hostclient_answer *answered)
{
	struct call *call = arg;

	call->done = true;
	call->failed = answered->failed;
	buf_add(&call->value, answered->value.ptr, answered->value.len);
}

int hostclient_call(const struct hosts_host *host, const struct hostlink_options *options,
	const char *method, struct str params, struct buf *result, struct buf *data,
	struct err *err)
{
	struct call call = { .value = BUF_INIT };
	const struct hostclient_face face = { .answer = take_answer, .arg = &call };
	owned(hostclient_freep) struct hostclient *client = hostclient_new(host, options, &face);
	int r = 0;

	hostclient_ask(client, 0, method, params);
	hostclient_handle(client);
	while (!call.done) {
		struct pollfd polls[HOSTCLIENT_POLLS];
		size_t n = hostclient_polls(client, polls);

		(void)poll(polls, n, hostclient_wait_ms(client));
		hostclient_handle(client);
	}
	struct str value = { call.value.data, call.value.len };
	if (call.failed)
		r = hostreply_error(host->name, value, data, err);
	else
		buf_add(result, value.ptr, value.len);
	buf_release(&call.value);
	return r;
}
