/*
 * retention - decides which nodes to keep as the history grows.  strata-retain(1) describes the
 * rules.
 */
#pragma once
#include "history/history.h"

#define RETENTION_KEEP 200

struct retention_options {
	uint64_t keep;      /* number of recent nodes to keep for each HEAD */
	uint64_t max_bytes; /* maximum number of stored bytes; 0: no limit */
	int64_t now;
	bool dry_run;
};

struct retention_result {
	uint64_t kept;
	uint64_t dropped;
	/* stored bytes that the kept nodes need; set only if max_bytes is set */
	uint64_t live_bytes;
	bool over_limit; /* the protected nodes alone need more than max_bytes */
};

/*
 * Delete old nodes by the rules.  The callback 'dropped', which may be NULL, is called for each
 * deleted node.  With dry_run, the callback is called for the same nodes, but nothing is deleted.
 */
int retention_run(struct history *history, const struct retention_options *options,
	history_visit dropped, void *arg, struct retention_result *result, struct err *err);
