/*
 * timed - wraps a provider and gives it a time limit.
 *
 * The wrapper reads the clock while entries, pieces of content, snapshots and changes pass through
 * it.  So walk, search, lineage and the methods end in time without code of their own for that.
 * They end with ERR_SYSTEM and ETIMEDOUT after the deadline, and with ECANCELED when the caller
 * cancels.
 */
#pragma once
#include "query/provider.h"

struct timed {
	struct provider provider; /* the wrapper, to be used instead of inner */
	struct provider_ops ops;
	struct provider *inner; /* borrowed */
	int64_t deadline;       /* of CLOCK_MONOTONIC, ns */
	bool (*cancelled)(void *arg);
	void *arg;
	unsigned passed; /* entries, snapshots and changes since the clock was read */
};

/* Wrap inner.  The time limit is allowed ns from now.  cancelled may be NULL. */
void timed_init(struct timed *timed, struct provider *inner, int64_t allowed,
	bool (*cancelled)(void *arg), void *arg);
