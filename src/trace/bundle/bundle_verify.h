/*
 * bundle_verify - checks whether a bundle is whole: it has every content that a state names, as it
 * was recorded, and no other contents.
 */
#pragma once
#include "trace/bundle/bundle.h"

struct bundle_verify {
	/* Called for each problem.  If it returns a negative number, the check stops. */
	int (*report)(void *arg, struct str where, const char *problem, struct err *err);
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *arg;
	uint64_t files, blobs, bytes, problems; /* how many were found */
};

/*
 * Check the bundle in dir, which is borrowed.  If the bundle cannot be parsed, that is reported as
 * a problem and is no error.
 */
int bundle_verify(int dir, struct bundle_verify *verify, struct err *err);
