/*
 * timed - wraps a provider and ends its work at a deadline.  All providers of a call share this
 * deadline.
 *
 * The wrapper reads the clock while entries, pieces of content, snapshots and changes pass through
 * it.  So walk.c, search.c, lineage.c and the methods need no code of their own to end in time.
 * They end with ERR_SYSTEM and ETIMEDOUT after the deadline, and with ECANCELED when the caller
 * cancels.
 */
#pragma once
#include "query/provider.h"

struct timed_limit {
	int64_t deadline; /* ns, by CLOCK_MONOTONIC */
	bool (*cancelled)(void *arg);
	void *arg;
	unsigned passed; /* entries, snapshots and changes since the clock was read last */
};

struct timed {
	struct provider provider; /* the wrapper, to be used instead of inner */
	struct provider_ops ops;
	struct provider *inner; /* the wrapped provider, borrowed */
	struct timed_limit *limit;
};

/* Begin a time limit that ends 'allowed' ns from now.  'cancelled' may be NULL. */
void timed_limit_init(
	struct timed_limit *limit, int64_t allowed, bool (*cancelled)(void *arg), void *arg);
/*
 * Count an entry, snapshot or change that passed.  Returns an error if the time is over or the call
 * is cancelled.
 */
int timed_pass(struct timed_limit *limit, struct err *err);
/* Make *timed a wrapper of the provider 'inner'.  Several wrappers may share a limit. */
void timed_init(struct timed *timed, struct provider *inner, struct timed_limit *limit);
