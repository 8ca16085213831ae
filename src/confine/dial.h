/*
 * dial - connects to a host outside, if the policy allows the host.
 *
 * The addresses of the host are tried one after another.  Addresses that the policy denies are left
 * out.
 */
#pragma once
#include "confine/proxy_priv.h"

enum dial_result {
	DIAL_DONE,
	DIAL_DENIED, /* the denial has been added to the list */
	DIAL_NO_NAME,
	DIAL_TOO_SLOW,
	DIAL_FAILED,
};

struct dial {
	struct proxy *proxy;
	struct hostname target;
	/*
	 * Called when the attempt has ended.  With DIAL_DONE, fd is connected and is taken over by
	 * this function.
	 */
	void (*ended)(void *arg, enum dial_result result, int fd);
	void *arg;
	struct verdict verdict; /* the denial, if the policy denies the host or an address */
	bool denied;            /* the policy denies one of the addresses */
	bool slow;              /* one of the addresses did not answer in time */
	bool tried;
	union netspace_address list[LOOKUP_ADDRESSES_MAX];
	size_t n, next;
	struct resolver_wait wait;
	int fd;
	struct poller_event event;
	struct poller_timer deadline;
};

/* Initialise *dial, which the caller has allocated. */
void dial_init(struct dial *dial, struct proxy *proxy,
	void (*ended)(void *arg, enum dial_result result, int fd), void *arg);
/* Connect to the target.  The callback 'ended' may be called before dial_start returns. */
void dial_start(struct dial *dial, const struct hostname *target);
/* Stop connecting.  Does nothing if no attempt is under way. */
void dial_cancel(struct dial *dial);
