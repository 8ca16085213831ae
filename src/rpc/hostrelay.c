#include "rpc/hostrelay.h"

#include <stdlib.h>

#include "core/mem.h"
#include "core/own.h"
#include "core/when.h"
#include "rpc/peer.h"

/*
 * No request is read while this many requests wait, or while the waiting requests have this many
 * bytes.
 */
#define REQUESTS_MAX 256
#define REQUEST_BYTES_MAX ((size_t)4 << 20)

/* A request that the host has not answered. */
struct passed {
	uint64_t tag;
	struct buf id; /* the id as the peer wrote it */
};

struct relay {
	struct peer peer;
	struct hostclient *client;
	bool blocked; /* the host has to wait until the peer has taken replies */
	void (*notice)(void *arg, const char *text);
	void *arg;
	struct passed *list;
	size_t count, cap;
	uint64_t next_tag;
};

/* --- the functions of the host --- */

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
	peer_reply(&relay->peer, &line, 0);
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

/* --- functions that the peer calls --- */

static size_t cancel_requests(void *arg, struct str id)
{
	struct relay *relay = arg;
	owned_mem uint64_t *tags = mem_alloc((relay->count + 1) * sizeof(*tags));
	size_t n = 0;

	/* Collect the tags first, since cancelling may answer a request and so change the list. */
	for (size_t i = 0; i < relay->count; i++)
		if (str_eq((struct str){ relay->list[i].id.data, relay->list[i].id.len }, id))
			tags[n++] = relay->list[i].tag;
	for (size_t i = 0; i < n; i++)
		hostclient_cancel(relay->client, tags[i]);
	return n;
}

static void pass_request(void *arg, const struct envelope *envelope)
{
	struct relay *relay = arg;
	struct err err = { 0 };

	/*
	 * The name is passed on as a C string.  A NUL would end the string before the end of the
	 * name.
	 */
	if (memchr(envelope->method.ptr, '\0', envelope->method.len)) {
		err_set(&err, ERR_USAGE, "no such method");
		peer_refuse(&relay->peer, envelope, RPC_NO_METHOD, &err);
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

static enum peer_load measure_load(const void *arg)
{
	const struct relay *relay = arg;
	size_t pending = hostclient_pending(relay->client);

	if (pending >= REQUESTS_MAX || hostclient_bytes(relay->client) >= REQUEST_BYTES_MAX)
		return PEER_FULL;
	return pending ? PEER_BUSY : PEER_IDLE;
}

static size_t poll_host(void *arg, size_t unsent, struct pollfd *fds, int64_t *wake)
{
	struct relay *relay = arg;

	relay->blocked = unsent >= PEER_UNSENT_MAX;
	if (relay->blocked)
		return 0;
	int wait = hostclient_wait_ms(relay->client);
	if (wait >= 0)
		*wake = when_monotonic() + wait * WHEN_MS;
	return hostclient_polls(relay->client, fds);
}

static void handle_host(void *arg, const struct pollfd *fds)
{
	struct relay *relay = arg;

	if (!relay->blocked)
		hostclient_handle(relay->client);
}

int hostrelay_run(const struct hosts_host *host, const struct hostlink_options *options,
	void (*notice)(void *arg, const char *text), void *arg, struct err *err)
{
	static const struct peer_face peer_face = {
		.request = pass_request,
		.cancel = cancel_requests,
		.load = measure_load,
		.poll = poll_host,
		.handle = handle_host,
	};
	struct relay relay = { .notice = notice, .arg = arg };
	struct hostclient_face face = { take_answer, take_notice, &relay };
	int r = peer_open(&relay.peer, &peer_face, &relay, err);

	if (r < 0)
		return r;
	relay.client = hostclient_new(host, options, &face);
	r = peer_serve(&relay.peer, err);
	hostclient_free(relay.client);
	peer_close(&relay.peer);
	for (size_t i = 0; i < relay.count; i++)
		buf_release(&relay.list[i].id);
	free(relay.list);
	return r;
}
