/*
 * timed - any provider, with an end to its patience.
 *
 * Every entry, piece of content, snapshot and change that passes is an occasion
 * to look at the clock, so that whatever is written over providers (walk,
 * search, lineage, the methods) ends in time without knowing about it: with
 * ERR_SYSTEM and ETIMEDOUT past the deadline, ECANCELED when the caller says so.
 */
#pragma once
#include "query/provider.h"

struct timed {
	struct provider provider; /* what to use instead of inner */
	struct provider_ops ops;
	struct provider *inner; /* borrowed */
	int64_t deadline;       /* of CLOCK_MONOTONIC, ns */
	bool (*cancelled)(void *arg);
	void *arg;
	unsigned passed; /* things since the clock was looked at */
};

/* allowed: ns from now on.  cancelled may be NULL. */
void timed_init(struct timed *timed, struct provider *inner, int64_t allowed,
	bool (*cancelled)(void *arg), void *arg);
