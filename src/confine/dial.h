/*
 * dial - connects to a host outside, if the policy allows it.
 *
 * The addresses of the host are tried one after another, if the policy allows the address.
 */
#pragma once
#include "confine/proxy_priv.h"

enum dial_result {
	DIAL_DONE,
	DIAL_DENIED, /* the denial has been noted */
	DIAL_NO_NAME,
	DIAL_TOO_SLOW,
	DIAL_FAILED,
};

struct dial {
	struct proxy *proxy;
	struct hostname target;
	/* Called at the end.  With DIAL_DONE, fd is connected and belongs to the callee. */
	void (*ended)(void *arg, enum dial_result result, int fd);
	void *arg;
	struct verdict verdict; /* if the policy denies the host or an address */
	bool denied;            /* the policy denies an address */
	bool slow;              /* an address did not answer in time */
	bool tried;
	union netspace_address list[LOOKUP_ADDRESSES_MAX];
	size_t n, next;
	struct resolver_wait wait;
	int fd;
	struct poller_event event;
	struct poller_timer deadline;
};

/* Initialise dial, which is in the memory of the caller. */
void dial_init(struct dial *dial, struct proxy *proxy,
	void (*ended)(void *arg, enum dial_result result, int fd), void *arg);
/* Connect to target.  ended may be called before this returns. */
void dial_start(struct dial *dial, const struct hostname *target);
/* Stop connecting.  Does nothing if nothing was started, or if it has ended. */
void dial_cancel(struct dial *dial);
