/*
 * replay_compare - compares the files that two runs of a command have left.
 *
 * If only one of the runs used a path, the path is compared if that run changed it.  The other run
 * counts as having left the path in its state before the command.
 *
 * Two kinds of files are not compared: temporary files, which exist neither before nor after a run,
 * and files that were open before the command was started.
 *
 * Times and inodes are not compared.  Owners are compared only if root runs strata, since only root
 * can set them.  Extended attributes are compared only if both runs may have changed them.
 */
#pragma once
#include "trace/bundle/bundle.h"
#include "trace/undo/restore.h"

/*
 * The differences of a path are bits of enum bundle_change, and one more bit.  REPLAY_EXISTS means
 * that only one of the runs has left a file at the path.
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
	/* Called for each path whose state before the command is not in the bundle. */
	void (*missing)(void *arg, const struct restore_step *step);
	void *arg;
};

struct replay {
	uint64_t same, differing; /* numbers of equal paths and of differing paths */
	int exit_status;
	bool complete; /* both bundles are complete */
};

/*
 * Compare the files of two bundles.  The members 'same' and 'differing' of *replay are set.
 * options->report is called for each path that differs.
 */
int replay_compare(struct bundle *recorded, struct bundle *replayed,
	const struct replay_options *options, struct replay *replay, struct err *err);
