#include "confine/dial.h"

#include <errno.h>
#include <netinet/tcp.h>

#include "confine/admission.h"
#include "core/own.h"

static void try_next(struct dial *dial);

static void stop_attempt(struct dial *dial)
{
	poller_unset(dial->proxy->poller, &dial->deadline);
	poller_remove(dial->proxy->poller, &dial->event);
	close_fd(&dial->fd);
}

static void end(struct dial *dial, enum dial_result result)
{
	if (result == DIAL_DENIED)
		proxy_deny(dial->proxy, "connect", &dial->target, &dial->verdict);
	dial->ended(dial->arg, result, -1);
}

/* Report the failure, after all addresses have been tried. */
static void fail(struct dial *dial)
{
	if (dial->denied && !dial->tried)
		end(dial, DIAL_DENIED);
	else if (!dial->n)
		end(dial, DIAL_NO_NAME);
	else
		end(dial, dial->slow ? DIAL_TOO_SLOW : DIAL_FAILED);
}

static void hand_over(struct dial *dial)
{
	poller_unset(dial->proxy->poller, &dial->deadline);
	poller_remove(dial->proxy->poller, &dial->event);
	dial->ended(dial->arg, DIAL_DONE, take_fd(&dial->fd));
}

static void check_attempt(void *arg, unsigned what, bool failed)
{
	struct dial *dial = arg;
	socklen_t len = sizeof(int);
	int error = 0;

	if (getsockopt(dial->fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && !error && !failed) {
		hand_over(dial);
		return;
	}
	stop_attempt(dial);
	try_next(dial);
}

static void give_up(void *arg)
{
	struct dial *dial = arg;

	dial->slow = true;
	stop_attempt(dial);
	try_next(dial);
}

/* Begin to connect to an address.  Returns false if the attempt fails at once. */
static bool attempt(struct dial *dial, const union netspace_address *address)
{
	const bool last = dial->next == dial->n;
	const int on = 1;
	struct err err = { 0 };

	dial->tried = true;
	dial->fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (dial->fd < 0)
		return false;
	(void)setsockopt(dial->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if ((connect(dial->fd, &address->any, netspace_size(address)) < 0 &&
		    errno != EINPROGRESS) ||
		poller_add(dial->proxy->poller, &dial->event, dial->fd, POLLER_WRITE, &err) < 0) {
		stop_attempt(dial);
		return false;
	}
	poller_set(dial->proxy->poller, &dial->deadline,
		last || dial->proxy->options.connect_ms < PROXY_NEXT_MS
			? dial->proxy->options.connect_ms
			: PROXY_NEXT_MS);
	return true;
}

static void try_next(struct dial *dial)
{
	while (dial->next < dial->n) {
		union netspace_address *address = &dial->list[dial->next++];
		struct verdict verdict;

		/* This also sets sin6_port, which has the same offset. */
		address->v4.sin_port = htons(dial->target.port);
		if (!admission_address(&dial->proxy->policy, &dial->target, address, &verdict)) {
			dial->denied = true;
			dial->verdict = verdict;
		} else if (attempt(dial, address)) {
			return;
		}
	}
	fail(dial);
}

static void take_addresses(void *arg, const union netspace_address *list, size_t n)
{
	struct dial *dial = arg;

	dial->n = n;
	if (n)
		memcpy(dial->list, list, n * sizeof(*list));
	try_next(dial);
}

void dial_init(struct dial *dial, struct proxy *proxy,
	void (*ended)(void *arg, enum dial_result result, int fd), void *arg)
{
	*dial = (struct dial){
		.proxy = proxy,
		.ended = ended,
		.arg = arg,
		.wait = { .found = take_addresses, .arg = dial },
		.fd = -1,
		.event = { .fd = -1, .ready = check_attempt, .arg = dial },
		.deadline = { .expired = give_up, .arg = dial },
	};
}

void dial_start(struct dial *dial, const struct hostname *target)
{
	const union netspace_address loopback[] = {
		{ .v4 = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) } },
		{ .v6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT } },
	};

	dial->target = *target;
	if (!admission_host(&dial->proxy->policy, target, &dial->verdict))
		end(dial, DIAL_DENIED);
	else if (target->literal)
		take_addresses(dial, &target->address, 1);
	else if (hostname_is_localhost(target->text))
		take_addresses(dial, loopback, sizeof(loopback) / sizeof(loopback[0]));
	else
		resolver_ask(dial->proxy->resolver, target->text, &dial->wait);
}

void dial_cancel(struct dial *dial)
{
	resolver_cancel(&dial->wait);
	stop_attempt(dial);
}
