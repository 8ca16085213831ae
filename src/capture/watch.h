/*
 * watch - to be told that something below a directory changes, by inotify.
 *
 * Every directory below is watched, and those that appear later as well.  What is told
 * is that something changed, not what: who is told looks for himself.  Nothing is missed
 * as long as he looks after he was told: a directory counts as changed again once its
 * watch is in place, so whatever happened in it before that is covered too.
 *
 * The work follows the directories that come and go, not the files.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"

struct watch;

/* What of the tree is nobody's business: its changes are neither watched nor told. */
struct watch_without {
	int own; /* a directory, wherever it lies in the tree: the environment itself; -1: none */
	const char *const *exclude; /* patterns, as in scan.h */
	size_t n_exclude;
};

/*
 * Watch the tree below root, a directory (a copy of it is kept).  Where the machine allows no
 * more watches it goes on with those it has, and watch_partial says so.  without may be NULL, and
 * lives as long as the watch.
 */
struct watch *watch_new(int root, const struct watch_without *without, struct err *err);
void watch_free(struct watch *watch);

/* To wait for. */
int watch_fd(const struct watch *watch);
/* Take all events that are there; 1 when something changed, 0 when nothing did. */
int watch_read(struct watch *watch, struct err *err);

/* Not all directories are watched: look now and then without being told. */
bool watch_partial(const struct watch *watch);
/* The directory itself was removed or renamed: there will be nothing more to tell. */
bool watch_gone(const struct watch *watch);
uint64_t watch_count(const struct watch *watch); /* directories */
