/*
 * replay - run the command of a bundle again, from the state it found, and see what comes
 * out differently.
 *
 * The paths of a bundle are absolute, so the place for it is a mount namespace of its own:
 * the directories concerned are covered by overlays (replay_cover.h), everything else but /proc,
 * /dev and /sys is read-only.  Nothing that the command does to files there is seen outside,
 * and it goes when the command has ended.  Processes, devices and the network are not fenced in.
 */
#pragma once
#include "trace/bundle.h"
#include "trace/putback.h"

/* How a path differs: bits of enum bundle_change, and this one. */
#define REPLAY_EXISTS (1u << BUNDLE_CHANGES)
#define REPLAY_DIFFERENCES (BUNDLE_CHANGES + 1)

struct replay_row {
	struct str path;
	unsigned what;
	const struct bundle_state *recorded, *replayed; /* afterwards */
};

struct replay_options {
	int (*tell)(void *arg, const struct replay_row *row, struct err *err);
	/* A path whose state before the command the bundle has not got. */
	void (*missing)(void *arg, const struct putback_step *step);
	void *arg;
};

struct replay {
	uint64_t same, differing; /* paths */
	int exit_status;
	bool complete; /* both records are */
};

/*
 * Negative: the command was not run.  ERR_NOT_FOUND when states are missing, ERR_UNSUPPORTED
 * when this machine gives no such place.
 */
int replay_run(struct bundle *bundle, const struct replay_options *options, struct replay *replay,
	struct err *err);
const char *replay_difference_name(unsigned bit);
