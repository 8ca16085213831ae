/*
 * stub - a name that exists only so that something can be mounted on it.
 *
 * A policy can protect a name that does not exist yet.  The kernel can protect a name only by a
 * mount, and a mount needs an existing file or directory.  So strata makes an empty file or
 * directory, and removes it when the program has ended.  Stubs do not count as changes that a
 * program has made.
 *
 * One stub is not empty: .git/commondir.  If this file exists, git reads it.  So the stub has the
 * line ".", which means the same to git as a missing file.
 *
 * An extended attribute marks a stub.  A stub also has a modification time that few other files
 * have, so that the attribute has to be read for few files.  When a program makes a file in a stub
 * that is a directory, the time of the directory changes, and the directory is no longer a stub.
 * sandbox/mountstub.h makes and removes stubs.
 *
 * Several sandboxes may need the same stub, in a directory of the host that all of them have bound.
 * So strata keeps a shared flock(2) on the stub for each sandbox, and removes a stub only under an
 * exclusive lock.  A program in a sandbox cannot take the exclusive lock, because of the shared
 * lock for this sandbox.
 */
#pragma once
#include <stdbool.h>
#include <sys/stat.h>

#define STUB_XATTR "user.strata.stub"
#define STUB_SECOND 8640000 /* the modification time, in April 1970 */

#define STUB_DOT_TEXT ".\n"

/* Whether a file has the size of a stub. */
bool stub_has_size(const struct statx *stx);
/*
 * Give the mark of a stub to a file or directory that was just made.  The descriptor may be for
 * reading only.
 */
int stub_mark(int fd);
/*
 * Whether a name is a stub, or was a stub a moment ago.  stx is the result of at_name_stat for the
 * name.
 */
bool stub_is(int dirfd, const char *name, const struct statx *stx);
/* Whether an absolute path leads to no file, or only to a stub of another program's policy. */
bool stub_or_nothing(const char *path);
/*
 * Hold an open stub, so that no other process removes it.  Returns 0 on success, 1 if the stub has
 * been removed meanwhile, or -EBUSY if another program keeps the lock.
 */
int stub_hold(int fd);
/*
 * Lock an open stub for this process alone, until stub_let_go.  Returns false if another process
 * holds the stub.  Whatever the result, this process no longer has the shared lock of stub_hold.
 */
bool stub_claim(int fd);
void stub_let_go(int fd);
/*
 * Remove a stub that no program needs, such as one that a killed process has left.  The directory
 * dirfd keeps its times.  A stub that is a directory stays if it contains anything other than
 * stubs.  A stub that another process holds stays, too.
 */
void stub_remove(int dirfd, const char *name);
/*
 * Set the times of the directory dirfd back to those in stx, since a stub does not count as a
 * change of its directory.
 */
void stub_keep_times(int dirfd, const struct statx *stx);
