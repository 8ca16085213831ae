/*
 * git - the state of files in a git repository, found with libgit2.
 *
 * libgit2 is loaded when it is first needed (core/library.h), so that only commands that use it pay
 * for it.  The loaded library must have the soname of the headers that strata was built with.  In a
 * build with LIBRARY_NONE, opening a repository fails with ERR_UNSUPPORTED.
 *
 * Nothing is written.  The configuration of a repository may name programs: hooks, external filters
 * and fsmonitor.  None of these programs is ever run.
 *
 * git_open reads HEAD and index once.  A file counts as dirty if its state is not certain.
 */
#pragma once
#include <stdbool.h>
#include <sys/stat.h>

#include "core/err.h"

#define GIT_OID_HEX 65 /* hex digits of a SHA-1 or SHA-256 object id, and a NUL */

struct git;

/*
 * Open the repository whose work tree is the directory at the absolute path 'root'.  This directory
 * must contain .git as a directory or file.  Returns NULL on failure.  The error is ERR_NOT_FOUND
 * if there is no repository, if the repository is bare, or if its work tree is another directory.
 * The error is ERR_UNSUPPORTED if libgit2 cannot read the repository.
 */
struct git *git_open(const char *root, struct err *err);
/*
 * Open only the objects of a repository.  The parameter common is a path that git_common returned.
 * git_classify must not be called for the result, since the work tree may have been removed.
 */
struct git *git_open_objects(const char *common, struct err *err);
/*
 * Returns the path of the directory with the objects.  All work trees of a repository share this
 * directory.
 */
const char *git_common(const struct git *git);
/*
 * Returns the name and version of libgit2.  Returns NULL with an error if libgit2 cannot be loaded.
 */
const char *git_library(struct err *err);
/* Returns the commit of HEAD in hex, or "" if there is no commit yet. */
const char *git_head(const struct git *git);

struct git_file {
	bool tracked; /* the index has an entry for the file */
	/* tracked, and either the file differs from the index, or the index from HEAD */
	bool dirty;
	bool ignored;          /* the file is not tracked, and an ignore rule matches its path */
	char oid[GIT_OID_HEX]; /* object id of the content in the index; empty if there is none */
};

/*
 * Find the state of the file at a path, which is relative to the work tree.  stx is the present
 * result of stat, or NULL if the file does not exist.  The content is read only if times and size
 * are not enough to decide whether the file has changed.
 */
int git_classify(struct git *git, const char *path, const struct statx *stx, struct git_file *file,
	struct err *err);
/*
 * Find the object id that a file or link has in a commit.  The parameter commit is the id of the
 * commit in hex.  Fails with ERR_NOT_FOUND if the commit has no such path.
 */
int git_find(struct git *git, const char *commit, const char *path, char oid[GIT_OID_HEX],
	struct err *err);
/*
 * Whether a regular file has the same bytes as the object oid.  No filters are applied.  Returns 1,
 * 0 or a negative error.
 */
int git_is_content(const struct git *git, const char *oid, int fd, struct err *err);
/*
 * Pass the bytes of an object to the function 'sink'.  No filters are applied.  Fails with
 * ERR_NOT_FOUND if there is no such object.
 */
int git_content(struct git *git, const char *oid,
	int (*sink)(void *arg, const void *bytes, size_t len, struct err *err), void *arg,
	struct err *err);
bool git_has(struct git *git, const char *oid);
void git_close(struct git *git);
