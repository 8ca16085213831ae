/*
 * watch - reports that files below a directory have changed, by inotify.
 *
 * The directory and every directory below it are watched, including those that appear later.  A
 * report means that something has changed.  It does not name the change, so the caller has to scan
 * the tree.  No change is missed if the caller scans after each report.  A new directory is
 * reported only when its watch is in place.  So the scan after the report also finds what changed
 * in the directory before it was watched.
 *
 * The work grows with the number of directories that appear and disappear, and not with the number
 * of files.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"

struct watch;

/* The parts of the tree that are not watched. */
struct watch_without {
	/* the directory of the environment, which may lie anywhere in the tree; -1: none */
	int own;
	const char *const *exclude; /* patterns for excluded files, as in scan.h */
	size_t n_exclude;
};

/*
 * Watch the tree below the directory root, whose descriptor is copied.  If the kernel allows no
 * more watches, the rest of the tree is not watched, and watch_partial returns true.  The parameter
 * 'without' may be NULL.  Otherwise *without must live as long as the watch.  The caller frees the
 * result with watch_free.
 */
struct watch *watch_new(int root, const struct watch_without *without, struct err *err);
void watch_free(struct watch *watch);

/* Returns the descriptor to poll for reading. */
int watch_fd(const struct watch *watch);
/*
 * Read all events.  Returns 1 if something has changed, 0 if nothing has changed, or a negative
 * error.
 */
int watch_read(struct watch *watch, struct err *err);

/*
 * Whether some directories are not watched.  In that case the caller has to scan the tree even if
 * there was no report.
 */
bool watch_partial(const struct watch *watch);
/* Whether the directory itself was removed or renamed, so that no further reports come. */
bool watch_gone(const struct watch *watch);
uint64_t watch_count(const struct watch *watch); /* returns the number of watched directories */
