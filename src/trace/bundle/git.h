/*
 * git - the state of files in a git repository, by libgit2.
 *
 * libgit2 is loaded when it is first needed (core/library.h), so that other commands do not pay for
 * it.  Its soname is that of the headers that strata was built with.  In a build with LIBRARY_NONE
 * no repository can be opened: ERR_UNSUPPORTED.  No program that the configuration of a repository
 * names is ever run, whether hook, external filter or fsmonitor.  Nothing is written.
 *
 * HEAD and index are read once, by git_open.  A file counts as dirty if its state is not certain.
 */
#pragma once
#include <stdbool.h>
#include <sys/stat.h>

#include "core/err.h"

#define GIT_OID_HEX 65 /* of SHA-1 or SHA-256, and a NUL */

struct git;

/*
 * Open the repository whose work tree has the absolute path root, with a .git directory or file in
 * it.  Fails with ERR_NOT_FOUND if there is none, if it is bare, or if its work tree is elsewhere,
 * and with ERR_UNSUPPORTED if libgit2 cannot read it.
 */
struct git *git_open(const char *root, struct err *err);
/*
 * Open only the objects, in the directory that git_common gave.  The work tree may be gone, so
 * git_classify must not be called.
 */
struct git *git_open_objects(const char *common, struct err *err);
/* Returns the directory with the objects, which all work trees of a repository share. */
const char *git_common(const struct git *git);
/* Returns name and version of the library, or NULL if it cannot be loaded: then err says why. */
const char *git_library(struct err *err);
/* The commit of HEAD, in hex; empty if there is no commit yet. */
const char *git_head(const struct git *git);

struct git_file {
	bool tracked; /* in the index */
	bool dirty;   /* tracked, but the file differs from the index, or the index from HEAD */
	bool ignored; /* not tracked, and an ignore rule matches it */
	char oid[GIT_OID_HEX]; /* of the content in the index; empty: there is none */
};

/*
 * Find the state of the file at path (relative to root).  stx is what stat says of it now; NULL: it
 * does not exist.  The content is read only if times and size do not tell whether it has changed.
 */
int git_classify(struct git *git, const char *path, const struct statx *stx, struct git_file *file,
	struct err *err);
/*
 * Find the oid of the file or link at path in a commit (hex).  Fails with ERR_NOT_FOUND if there is
 * none.
 */
int git_find(struct git *git, const char *commit, const char *path, char oid[GIT_OID_HEX],
	struct err *err);
/*
 * Whether the bytes of a regular file, unfiltered, are those of the object oid.  Returns 1, 0 or a
 * negative error.
 */
int git_is_content(const struct git *git, const char *oid, int fd, struct err *err);
/*
 * Give the bytes of an object, unfiltered, to sink.  Fails with ERR_NOT_FOUND if there is no such
 * object.
 */
int git_content(struct git *git, const char *oid,
	int (*sink)(void *arg, const void *bytes, size_t len, struct err *err), void *arg,
	struct err *err);
bool git_has(struct git *git, const char *oid);
void git_close(struct git *git);
