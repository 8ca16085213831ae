/*
 * bundle_verify - checks whether a bundle is whole.  A whole bundle has every content that its
 * states refer to, each of them unchanged, and no other contents.
 */
#pragma once
#include "trace/bundle/bundle.h"

struct bundle_verify {
	/* Called for each problem.  A negative result ends the check. */
	int (*report)(void *arg, struct str where, const char *problem, struct err *err);
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *arg;
	/* numbers of files, blobs, bytes and problems found */
	uint64_t files, blobs, bytes, problems;
};

/*
 * Check the bundle in the directory dir, which is borrowed.  A bundle that cannot be parsed is
 * reported as a problem, and the function succeeds.
 */
int bundle_verify(int dir, struct bundle_verify *verify, struct err *err);
