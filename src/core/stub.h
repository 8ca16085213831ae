/*
 * stub - a name that exists only so that something can be mounted on it.
 *
 * A policy protects names that do not exist yet.  The kernel can only protect a name by a mount,
 * which needs a file or a directory to be mounted on.  So an empty one is made, with this mark, and
 * removed when the program has ended.  A capture takes no notice of it.
 */
#pragma once
#include <stdbool.h>
#include <sys/stat.h>

#define STUB_XATTR "user.strata.stub"
#define STUB_MODE 0 /* of all stubs, so that few other names have to be asked for the mark */

/* Mark a name that was just made. */
int stub_mark(int dirfd, const char *name);
/* Whether a name is a stub, or was one a moment ago; stx is its own. */
bool stub_is(int dirfd, const char *name, const struct statx *stx);
/* Remove a stub.  Does nothing if the name is another file meanwhile, or a directory in use. */
void stub_remove(int dirfd, const char *name);
