/*
 * timed - wraps a provider and gives it a time limit.
 *
 * It reads the clock while entries, pieces of content, snapshots and changes pass through it.  So
 * walk, search, lineage and the methods end in time without code for that: with ERR_SYSTEM and
 * ETIMEDOUT after the deadline, or ECANCELED when the caller cancels.
 */
#pragma once
#include "query/provider.h"

struct timed {
	struct provider provider; /* to be used instead of inner */
	struct provider_ops ops;
	struct provider *inner; /* borrowed */
	int64_t deadline;       /* of CLOCK_MONOTONIC, ns */
	bool (*cancelled)(void *arg);
	void *arg;
	unsigned passed; /* entries and the like since the clock was read */
};

/* allowed: ns from now on.  cancelled may be NULL. */
void timed_init(struct timed *timed, struct provider *inner, int64_t allowed,
	bool (*cancelled)(void *arg), void *arg);
