/*
 * bundle_verify - whether a bundle is whole: every content that a state names is there and is the
 * recorded one, and there is nothing else.
 */
#pragma once
#include "trace/bundle/bundle.h"

struct bundle_verify {
	/* Called for each problem; negative stops. */
	int (*report)(void *arg, struct str where, const char *problem, struct err *err);
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *arg;
	uint64_t files, blobs, bytes, problems; /* counted */
};

/* dir is borrowed.  That a bundle cannot be opened is a problem and no error. */
int bundle_verify(int dir, struct bundle_verify *verify, struct err *err);
