/* retention - decides which nodes to keep as the history grows. strata-retain(1) has the rules. */
#pragma once
#include "history/history.h"

#define RETENTION_KEEP 200

struct retention_options {
	uint64_t keep;      /* recent nodes to keep for each HEAD, RETENTION_KEEP by default */
	uint64_t max_bytes; /* 0: no limit */
	int64_t now;
	bool dry_run;
};

struct retention_result {
	uint64_t kept;
	uint64_t dropped;
	uint64_t live_bytes; /* stored bytes that the kept nodes need; only with max_bytes */
	bool over_limit;     /* the protected nodes alone exceed max_bytes */
};

/*
 * Delete the old nodes, and call dropped, unless it is NULL, for each of them.  With dry_run,
 * dropped is called but nothing is deleted.
 */
int retention_run(struct history *history, const struct retention_options *options,
	history_visit dropped, void *arg, struct retention_result *result, struct err *err);
