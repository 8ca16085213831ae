/*
 * bundle_verify - whether a bundle is whole: every content that a state names is there
 * and is the one recorded, and there is nothing else.
 */
#pragma once
#include "trace/bundle.h"

struct bundle_verify {
	/* Told of each problem; negative stops. */
	int (*tell)(void *arg, struct str where, const char *problem, struct err *err);
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *arg;
	uint64_t files, blobs, bytes, problems; /* found */
};

/* dir is borrowed.  A bundle that cannot be opened is one problem, not an error. */
int bundle_verify(int dir, struct bundle_verify *verify, struct err *err);
