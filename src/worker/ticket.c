#include "worker/ticket.h"

#include <errno.h>
#include <poll.h>

#include "core/when.h"

#define ASK_CLOCK_EVERY 32
#define LOOK_EVERY (100 * WHEN_MS)

void ticket_init(struct ticket *ticket, int peer)
{
	*ticket = (struct ticket){
		.peer = peer,
		.deadline = when_monotonic() + TICKET_SECONDS * WHEN_SECOND,
	};
}

/*
 * Whether the peer has closed the connection, so that no process reads an answer.  A peer that has
 * only shut down its sending side has not closed the connection.
 */
static bool peer_is_gone(int fd)
{
	struct pollfd peer = { .fd = fd };

	return fd >= 0 && poll(&peer, 1, 0) > 0 && peer.revents & (POLLHUP | POLLERR);
}

int ticket_check(struct ticket *ticket, struct err *err)
{
	if (ticket->cancelled)
		return err_set_number(err, ECANCELED, "the request was cancelled");
	if (ticket->asked++ % ASK_CLOCK_EVERY)
		return 0;
	int64_t now = when_monotonic();
	if (ticket->deadline && now > ticket->deadline)
		return err_set_number(
			err, ETIMEDOUT, "the request took more than %d seconds", TICKET_SECONDS);
	if (now < ticket->next_look)
		return 0;
	ticket->next_look = now + LOOK_EVERY;
	ticket->cancelled = peer_is_gone(ticket->peer);
	return ticket->cancelled ? err_set_number(err, ECANCELED, "the peer is gone") : 0;
}
