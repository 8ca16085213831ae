/*
 * bundle_verify - checks whether a bundle is whole: it has every content that a state names, as it
 * was recorded, and no other contents.
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

/* dir is borrowed.  A bundle that cannot be parsed is a problem that is reported, and no error. */
int bundle_verify(int dir, struct bundle_verify *verify, struct err *err);
