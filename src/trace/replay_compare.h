/*
 * replay_compare - what two runs of a command left, side by side.
 *
 * A path that only one run has to do with counts if that run changed it; then the other left
 * it as the first found it.  Temporary files, there neither before nor after, do not
 * count, nor what was open before the command was started.  Times and inodes are not compared, and
 * owners only for root, who alone can give them; extended attributes where both runs
 * may have changed them.
 */
#pragma once
#include "trace/replay.h"

/* Fills same and differing, and calls options->tell. */
int replay_compare(struct bundle *recorded, struct bundle *replayed,
	const struct replay_options *options, struct replay *replay, struct err *err);
