/*
 * replay - runs the command of a bundle again, from the state before the command, and compares the
 * results.
 *
 * The paths of a bundle are absolute, so the command runs in a mount namespace of its own.  In this
 * namespace, the directories that the command needs are covered by overlays (replay_cover.h).  All
 * other files, except those in /proc, /dev and /sys, are read-only.  Changes to files are not seen
 * outside the namespace, and are removed when the command has ended.  Processes, devices and the
 * network are those of the machine.
 */
#pragma once
#include "trace/replay_compare.h"

/*
 * Run the command of a bundle again, and compare the results.  Returns a negative error if the
 * command was not run.  ERR_NOT_FOUND means that the bundle lacks states of files from before the
 * command.  ERR_UNSUPPORTED means that this machine does not allow such a namespace.
 */
int replay_run(struct bundle *bundle, const struct replay_options *options, struct replay *replay,
	struct err *err);
const char *replay_difference_name(unsigned bit);
