#include "confine/connection.h"

#include <netinet/tcp.h>
#include <stdlib.h>

#include "confine/admission.h"
#include "confine/dial.h"
#include "confine/httpconnect.h"
#include "confine/nameserver.h"
#include "confine/passage.h"
#include "confine/pump.h"
#include "confine/socks.h"
#include "core/bytes.h"
#include "core/mem.h"
#include "core/own.h"

#define FAREWELL_MS 2000 /* time for a refused program to read the reason */
#define HTTP_PORT 80
#define QUERY_HEADER 2 /* bytes of the length that precedes a query over TCP */

enum stage {
	STAGE_REQUEST, /* the proxy reads an HTTP request or DNS queries */
	STAGE_GREETING,
	STAGE_SOCKS_REQUEST,
	STAGE_DIALLING,
	STAGE_OPEN,
	STAGE_FAREWELL, /* the proxy sends an answer, and throws away what the program sends */
	STAGE_ENDED,
};

struct connection {
	struct proxy *proxy;
	struct connection *prev, *next;
	enum proxy_service service;
	enum stage stage;
	int client, server;
	struct poller_event client_event, server_event;
	struct poller_timer deadline;
	struct hostname target;
	struct dial dial;
	struct passage passage;
	struct buf in;        /* bytes from the program that were not judged yet */
	bool all_in;          /* the program will send no more */
	struct pump up, down; /* up: to the server; down: to the program */
};

/* -------------------------------------------------------- end of a connection */

/* Close a socket.  If 'reset' is set, the peer gets a TCP reset instead of a normal end. */
static void close_socket(struct connection *c, struct poller_event *event, int *fd, bool reset)
{
	const struct linger at_once = { .l_onoff = 1, .l_linger = 0 };

	poller_remove(c->proxy->poller, event);
	if (*fd >= 0 && reset)
		(void)setsockopt(*fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	close_fd(fd);
}

static void end(struct connection *c, bool reset)
{
	struct proxy *proxy = c->proxy;

	if (c->stage == STAGE_ENDED)
		return;
	c->stage = STAGE_ENDED;
	dial_cancel(&c->dial);
	poller_unset(proxy->poller, &c->deadline);
	close_socket(c, &c->client_event, &c->client, reset);
	close_socket(c, &c->server_event, &c->server, reset);
	pump_release(&c->up);
	pump_release(&c->down);
	buf_release(&c->in);
	if (c->prev)
		c->prev->next = c->next;
	else
		proxy->connections = c->next;
	if (c->next)
		c->next->prev = c->prev;
	c->next = proxy->ended;
	proxy->ended = c;
	proxy->n_connections--;
}

void connection_free_ended(struct proxy *proxy)
{
	while (proxy->ended) {
		struct connection *c = proxy->ended;

		proxy->ended = c->next;
		free(c);
	}
}

void connection_end_all(struct proxy *proxy)
{
	while (proxy->connections)
		end(proxy->connections, true);
}

static void run_out_of_patience(void *arg)
{
	end(arg, true);
}

/*
 * Send the program the bytes that are kept for it, and wait until it has read them and closes the
 * connection.
 */
static void say_farewell(struct connection *c)
{
	close_socket(c, &c->server_event, &c->server, true);
	buf_release(&c->in);
	c->stage = STAGE_FAREWELL;
	c->down.ended = true;
	poller_set(c->proxy->poller, &c->deadline, FAREWELL_MS);
}

/* Send the answer to a failed HTTP request. */
static void refuse_http(
	struct connection *c, int status, const char *why, const struct verdict *verdict)
{
	httpconnect_refuse(&c->down.kept, status, why, verdict);
	say_farewell(c);
}

/* -------------------------------------------- checking the bytes of a program */

static void note_malformed(struct connection *c, const char *wrong)
{
	struct verdict verdict;

	admission_deny(&verdict, "send the first bytes as the standards say", "net: %s", wrong);
	proxy_deny(c->proxy, "connect", &c->target, &verdict);
}

/*
 * Refuse the bytes that the program has sent.  The program gets an answer only if it speaks HTTP
 * and the server has sent nothing yet: otherwise it would not understand the answer.
 */
static void refuse_passage(struct connection *c, enum passage_result result)
{
	const bool http = c->passage.state == PASSAGE_HEAD && !c->down.kept.len;

	if (result == PASSAGE_DENIED)
		proxy_deny(c->proxy, "connect", &c->passage.named, &c->passage.verdict);
	else
		note_malformed(c, c->passage.wrong);
	if (!http)
		end(c, true);
	else if (result == PASSAGE_DENIED)
		refuse_http(c, 403, "the policy denies this request", &c->passage.verdict);
	else
		refuse_http(c, 400, c->passage.wrong, NULL);
}

/*
 * Check the bytes that the program has sent.  Returns a negative number if the connection is
 * refused.
 */
static int judge(struct connection *c)
{
	const enum passage_result result = passage_move(
		&c->passage, &c->proxy->policy, &c->target, &c->in, c->all_in, &c->up.kept);

	if (result == PASSAGE_GOES_ON)
		return 0;
	refuse_passage(c, result);
	return -1;
}

static int read_client(struct connection *c, struct buf *in)
{
	return pump_read(c->client, in, PASSAGE_MAX, &c->all_in);
}

/*
 * Pass on bytes from the program.  Returns a negative number if the connection has ended or is
 * refused.
 */
static int move_up(struct connection *c)
{
	if ((!passage_is_open(&c->passage) || c->in.len) && !c->up.kept.len) {
		if (read_client(c, &c->in) < 0) {
			end(c, true);
			return -1;
		}
		if (judge(c) < 0)
			return -1;
	}
	c->up.ended |= c->all_in && !c->in.len;
	int r = passage_is_open(&c->passage) && !c->in.len ? pump_copy(&c->up, c->client, c->server)
							   : pump_flush(&c->up, c->server);
	if (r < 0)
		end(c, true);
	return r;
}

/* Wait for the events that the connection can handle now. */
static void wait_for_more(struct connection *c)
{
	struct poller *poller = c->proxy->poller;
	const bool reads_up = !c->up.ended && !c->all_in && !c->up.kept.len;
	const bool reads_down = !c->down.ended && !c->down.kept.len;

	poller_change(poller, &c->client_event,
		(reads_up ? POLLER_READ : 0u) | (c->down.kept.len ? POLLER_WRITE : 0u));
	poller_change(poller, &c->server_event,
		(reads_down ? POLLER_READ : 0u) | (c->up.kept.len ? POLLER_WRITE : 0u));
}

static void move(struct connection *c)
{
	if (move_up(c) < 0) {
		if (c->stage == STAGE_FAREWELL)
			poller_change(c->proxy->poller, &c->client_event, POLLER_WRITE);
		return;
	}
	if (pump_copy(&c->down, c->server, c->client) < 0)
		end(c, true);
	else if (pump_is_done(&c->up) && pump_is_done(&c->down))
		end(c, false);
	else
		wait_for_more(c);
}

/* -------------------------------------------------------------------- dialling */

static const char *name_of_result(enum dial_result result)
{
	switch (result) {
	case DIAL_DENIED:
		return "the policy denies this host";
	case DIAL_NO_NAME:
		return "the host has no address";
	case DIAL_TOO_SLOW:
		return "the host does not answer in time";
	default:
		return "the host refuses the connection";
	}
}

static void refuse_socks(struct connection *c, enum dial_result result)
{
	socks_answer(&c->down.kept, result == DIAL_DENIED   ? SOCKS_DENIED
				    : result == DIAL_FAILED ? SOCKS_REFUSED
							    : SOCKS_UNREACHABLE);
	say_farewell(c);
}

/*
 * Tell the program why there is no connection to the host.  A program that connected to the address
 * itself can be told only if it expects an HTTP answer.
 */
static void refuse_dial(struct connection *c, enum dial_result result)
{
	const struct verdict *verdict = result == DIAL_DENIED ? &c->dial.verdict : NULL;
	const int status = result == DIAL_DENIED ? 403 : result == DIAL_TOO_SLOW ? 504 : 502;

	if (c->service == PROXY_SOCKS)
		refuse_socks(c, result);
	else if (c->service == PROXY_HTTP || c->target.port == HTTP_PORT)
		refuse_http(c, status, name_of_result(result), verdict);
	else
		end(c, true);
	if (c->stage == STAGE_FAREWELL)
		poller_change(c->proxy->poller, &c->client_event, POLLER_WRITE);
}

static void be_ready_for_server(void *arg, unsigned what, bool failed)
{
	struct connection *c = arg;

	if (failed)
		end(c, true);
	else
		move(c);
}

static void be_connected(void *arg, enum dial_result result, int fd)
{
	struct connection *c = arg;
	struct err err = { 0 };

	poller_unset(c->proxy->poller, &c->deadline);
	if (result != DIAL_DONE) {
		refuse_dial(c, result);
		return;
	}
	c->server = fd;
	if (poller_add(c->proxy->poller, &c->server_event, fd, POLLER_READ, &err) < 0) {
		end(c, true);
		return;
	}
	c->stage = STAGE_OPEN;
	if (c->service == PROXY_SOCKS)
		socks_answer(&c->down.kept, SOCKS_DONE);
	else if (c->service == PROXY_HTTP && c->passage.state == PASSAGE_FIRST)
		httpconnect_accept(&c->down.kept);
	move(c);
}

/* Connect to the host.  Bytes that the program sends meanwhile stay in the socket. */
static void dial(struct connection *c)
{
	poller_unset(c->proxy->poller, &c->deadline);
	poller_change(c->proxy->poller, &c->client_event, 0);
	c->stage = STAGE_DIALLING;
	dial_start(&c->dial, &c->target);
}

/* ------------------------------------------------------------------- requests */

static void drop(struct connection *c, size_t n)
{
	memmove(c->in.data, c->in.data + n, c->in.len - n);
	buf_truncate(&c->in, c->in.len - n);
}

/* Send an HTTP request to the host, with its body and nothing after the body. */
static void forward(struct connection *c, struct httphead_request *request)
{
	httpconnect_rewrite(&c->up.kept, request, &c->target);
	request->upgrade = false;
	passage_expect_body(&c->passage, request);
}

/* If the target is an address that namepool.h has given to a name, replace it by that name. */
static void use_name(struct connection *c)
{
	const struct hostname asked = c->target;

	if (asked.literal)
		proxy_name_address(c->proxy, &asked.address, &c->target);
}

static void take_http(struct connection *c)
{
	struct httphead_request request;
	const char *wrong;
	struct str bytes = { c->in.data, c->in.len };

	switch (httphead_read(bytes, &request)) {
	case HTTPHEAD_PARTIAL:
		if (c->all_in || c->in.len >= PASSAGE_MAX)
			end(c, true);
		return;
	case HTTPHEAD_BAD:
		refuse_http(c, 400, request.wrong, NULL);
		return;
	default:
		break;
	}
	if (!httpconnect_target(&request, &c->target, &wrong)) {
		refuse_http(c, 400, wrong, NULL);
		return;
	}
	use_name(c);
	if (!httpconnect_is_tunnel(&request))
		forward(c, &request);
	drop(c, request.size);
	dial(c);
}

static void take_greeting(struct connection *c)
{
	size_t used = 0;

	switch (socks_greet((struct str){ c->in.data, c->in.len }, &used, &c->down.kept)) {
	case SOCKS_WHOLE:
		drop(c, used);
		c->stage = STAGE_SOCKS_REQUEST;
		break;
	case SOCKS_BAD:
		say_farewell(c);
		break;
	default:
		if (c->all_in)
			end(c, true);
	}
}

static void take_socks(struct connection *c)
{
	size_t used = 0;
	struct str bytes = { c->in.data, c->in.len };

	switch (socks_request(bytes, &used, &c->target, &c->down.kept)) {
	case SOCKS_WHOLE:
		drop(c, used);
		use_name(c);
		dial(c);
		break;
	case SOCKS_BAD:
		say_farewell(c);
		break;
	default:
		if (c->all_in)
			end(c, true);
	}
}

/*
 * Answer queries for names.  Over TCP, two bytes with the length precede each query and each
 * answer.
 */
static void take_queries(struct connection *c)
{
	while (c->in.len >= QUERY_HEADER) {
		const uint8_t *b = (const uint8_t *)c->in.data;
		const size_t size = (size_t)b[0] << 8 | b[1], start = c->down.kept.len;

		if (c->in.len < QUERY_HEADER + size)
			break;
		buf_add(&c->down.kept, "\0", QUERY_HEADER);
		nameserver_answer(
			c->proxy, (struct str){ c->in.data + QUERY_HEADER, size }, &c->down.kept);
		const size_t answer = c->down.kept.len - start - QUERY_HEADER;
		if (!answer)
			buf_truncate(&c->down.kept, start);
		else
			memcpy(c->down.kept.data + start,
				(const uint8_t[]){ (uint8_t)(answer >> 8), (uint8_t)answer },
				QUERY_HEADER);
		drop(c, QUERY_HEADER + size);
	}
	if (c->in.len >= PASSAGE_MAX)
		end(c, true);
	else
		c->down.ended = c->all_in;
}

static void take_request(struct connection *c)
{
	if (c->stage == STAGE_GREETING)
		take_greeting(c);
	if (c->stage == STAGE_SOCKS_REQUEST)
		take_socks(c);
	else if (c->stage == STAGE_REQUEST && c->service == PROXY_HTTP)
		take_http(c);
	else if (c->stage == STAGE_REQUEST)
		take_queries(c);
}

/*
 * Send the last answer.  Bytes that the program still sends are dropped, since unread data would
 * make the kernel reset the connection.
 */
static void take_leave(struct connection *c)
{
	owned(buf_release) struct buf thrown = BUF_INIT;

	if (pump_flush(&c->down, c->client) < 0 || read_client(c, &thrown) < 0)
		end(c, true);
	else if (pump_is_done(&c->down) && c->all_in)
		end(c, false);
	else
		poller_change(c->proxy->poller, &c->client_event,
			(c->all_in ? 0u : POLLER_READ) | (c->down.kept.len ? POLLER_WRITE : 0u));
}

/* Exchange bytes with the program before a server is connected. */
static void converse(struct connection *c)
{
	if (!c->down.kept.len) {
		if (read_client(c, &c->in) < 0) {
			end(c, true);
			return;
		}
		take_request(c);
	}
	if (c->stage == STAGE_FAREWELL)
		take_leave(c);
	if (c->stage >= STAGE_DIALLING)
		return;
	if (pump_flush(&c->down, c->client) < 0)
		end(c, true);
	else if (pump_is_done(&c->down))
		end(c, false);
	else
		poller_change(c->proxy->poller, &c->client_event,
			(c->all_in || c->down.kept.len ? 0u : POLLER_READ) |
				(c->down.kept.len ? POLLER_WRITE : 0u));
}

static void be_ready_for_client(void *arg, unsigned what, bool failed)
{
	struct connection *c = arg;

	if (failed)
		end(c, true);
	else if (c->stage == STAGE_OPEN)
		move(c);
	else if (c->stage == STAGE_FAREWELL)
		take_leave(c);
	else if (c->stage != STAGE_DIALLING)
		converse(c);
}

/* ------------------------------------------------------ start of a connection */

static struct connection *new_connection(struct proxy *proxy, enum proxy_service service, int fd)
{
	struct connection *c = mem_alloc(sizeof(*c));

	*c = (struct connection){
		.proxy = proxy,
		.next = proxy->connections,
		.service = service,
		.stage = service == PROXY_SOCKS ? STAGE_GREETING : STAGE_REQUEST,
		.client = fd,
		.server = -1,
		.client_event = { .fd = -1, .ready = be_ready_for_client, .arg = c },
		.server_event = { .fd = -1, .ready = be_ready_for_server, .arg = c },
		.deadline = { .expired = run_out_of_patience, .arg = c },
		.in = { .max = (size_t)4 * PASSAGE_MAX },
		.up = PUMP_INIT,
		.down = PUMP_INIT,
	};
	dial_init(&c->dial, proxy, be_connected, c);
	if (c->next)
		c->next->prev = c;
	proxy->connections = c;
	proxy->n_connections++;
	return c;
}

static void begin_direct(struct connection *c)
{
	union netspace_address asked;
	struct err err = { 0 };

	if (netspace_asked(c->client, &asked, &err) < 0) {
		end(c, true);
		return;
	}
	proxy_name_address(c->proxy, &asked, &c->target);
	dial(c);
}

void connection_take(struct proxy *proxy, enum proxy_service service, int fd)
{
	struct connection *c = new_connection(proxy, service, fd);
	const int on = 1;
	struct err err = { 0 };

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (poller_add(proxy->poller, &c->client_event, fd,
		    service == PROXY_DIRECT ? 0u : POLLER_READ, &err) < 0) {
		end(c, true);
		return;
	}
	if (service == PROXY_DIRECT)
		begin_direct(c);
	else
		poller_set(proxy->poller, &c->deadline, proxy->options.patience_ms);
}

void connection_check_all(struct proxy *proxy)
{
	for (struct connection *c = proxy->connections, *next; c; c = next) {
		struct verdict verdict;

		next = c->next;
		if ((c->stage == STAGE_DIALLING || c->stage == STAGE_OPEN) &&
			!admission_host(&proxy->policy, &c->target, &verdict))
			end(c, true);
	}
}
