/*
 * replay_compare - compares the files that two runs of a command have left.
 *
 * A path that only one run used is compared if that run changed it.  The other run then counts as
 * having left the path in its state before the command.  Temporary files, which exist neither
 * before nor after, are not compared, nor are files that were open before the command was started.
 * Times and inodes are not compared.  Owners are compared only for root, since only root can set
 * them.  Extended attributes are compared only if both runs may have changed them.
 */
#pragma once
#include "trace/bundle/bundle.h"
#include "trace/undo/restore.h"

/*
 * How a path differs: the bits of enum bundle_change, and this bit if only one run left the path.
 */
#define REPLAY_EXISTS (1u << BUNDLE_CHANGES)
#define REPLAY_DIFFERENCES (BUNDLE_CHANGES + 1)

struct replay_row {
	struct str path;
	unsigned what;
	const struct bundle_state *recorded, *replayed; /* the states after the command */
};

struct replay_options {
	int (*report)(void *arg, const struct replay_row *row, struct err *err);
	/* Called for a path whose state before the command is not in the bundle. */
	void (*missing)(void *arg, const struct restore_step *step);
	void *arg;
};

struct replay {
	uint64_t same, differing; /* paths */
	int exit_status;
	bool complete; /* both bundles are complete */
};

/* Fills in same and differing, and calls options->report for each path that differs. */
int replay_compare(struct bundle *recorded, struct bundle *replayed,
	const struct replay_options *options, struct replay *replay, struct err *err);
