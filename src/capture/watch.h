/*
 * watch - reports that something below a directory has changed, by inotify.
 *
 * Every directory below that directory is watched, and so are directories that appear later.  The
 * report says that something changed, not what: the caller has to look.  No change is missed if the
 * caller looks after each report.  A directory that appears is reported once more when its watch is
 * in place; this report covers all earlier changes in it.
 *
 * The work grows with the number of directories that come and go, not with the number of files.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"

struct watch;

/* The parts of the tree that are not watched. */
struct watch_without {
	int own; /* the directory of the environment, wherever it lies in the tree; -1: none */
	const char *const *exclude; /* patterns, as in scan.h */
	size_t n_exclude;
};

/*
 * Watch the tree below the directory root, whose descriptor is copied.  If the kernel allows no
 * more watches, the rest of the tree stays unwatched, and watch_partial says so.  without may be
 * NULL, and has to live as long as the watch.
 */
struct watch *watch_new(int root, const struct watch_without *without, struct err *err);
void watch_free(struct watch *watch);

/* The descriptor to poll for reading. */
int watch_fd(const struct watch *watch);
/* Read all events.  Returns 1 if something changed, 0 if nothing did, or negative. */
int watch_read(struct watch *watch, struct err *err);

/* Whether some directories are not watched, so that the caller has to look without a report. */
bool watch_partial(const struct watch *watch);
/* Whether the directory itself was removed or renamed, so that no more reports come. */
bool watch_gone(const struct watch *watch);
uint64_t watch_count(const struct watch *watch); /* number of watched directories */
