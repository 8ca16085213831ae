/*
 * stub - a name that exists only so that something can be mounted on it.
 *
 * A policy protects names that do not exist yet.  The kernel can only protect a name by a mount,
 * which needs a file or a directory to be mounted on.  So an empty one is made, and removed when
 * the program has ended.  A capture takes no notice of it.
 *
 * A stub has an attribute as its mark, and a time of change that few other files have, so that few
 * have to be asked for the attribute.  A directory in which a program has made something has
 * another time, and is no stub any more.  Whoever needs a stub holds a shared lock on it
 * (flock(2)), by way of the overlay that the stub was made in.
 */
#pragma once
#include <stdbool.h>
#include <sys/stat.h>

#define STUB_XATTR "user.strata.stub"
#define STUB_SECOND 8640000 /* the time of change, in April 1970 */

/* Mark a name that was just made. */
int stub_mark(int dirfd, const char *name);
/* Whether a name is a stub, or was one a moment ago; stx is its own. */
bool stub_is(int dirfd, const char *name, const struct statx *stx);
/* Whether there is nothing at an absolute path, or a stub of another program's policy. */
bool stub_or_nothing(const char *path);
/*
 * Remove a stub that nobody needs, as after a kill.  The directory keeps its times.  Does nothing
 * for a directory in which there is something.
 */
void stub_remove(int dirfd, const char *name);
/* Set the times of a directory to what they were, since a stub is no change of it. */
void stub_keep_times(int dirfd, const struct statx *stx);
