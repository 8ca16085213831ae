/*
 * git - what a git repository says of a file, through libgit2.
 *
 * libgit2 is loaded at first use (core/library.h; its soname is that of the
 * headers we were built with): commands that ask nothing of git do not pay for it.
 * GIT_STATIC_NONE builds without it and says ERR_UNSUPPORTED.  No program that a
 * repository's configuration names is ever run, no hook, no external filter, no
 * fsmonitor, and nothing is written.
 *
 * A repository is looked at once: its HEAD and its index are those of the moment
 * git_open was called.  What cannot be told for certain counts as dirty.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "core/err.h"
#include "core/str.h"

#define GIT_OID_HEX 65 /* of SHA-1 or SHA-256, and a NUL */

struct git;

/*
 * Open the repository whose work tree's top is the absolute path root (it has a .git directory
 * or file).  ERR_NOT_FOUND if there is none; a bare one is none, and so is one whose work tree
 * is elsewhere.  ERR_UNSUPPORTED for what libgit2 cannot read.
 */
struct git *git_open(const char *root, struct err *err);
/*
 * Only the objects, of a repository's own directory as git_common names it: there may be no work
 * tree any more.  git_classify is not for it.
 */
struct git *git_open_objects(const char *common, struct err *err);
/* The directory that has the objects: .git, or that of the repository which a work tree is of. */
const char *git_common(const struct git *git);
/* Name and version of the library; NULL and why when it cannot be loaded. */
const char *git_library(struct err *err);
/* The commit HEAD stands for, in hex; empty when there is none yet. */
const char *git_head(const struct git *git);

struct git_file {
	bool tracked; /* in the index */
	bool dirty;   /* tracked, and content, mode or type differ from the index, or that from HEAD
		       */
	bool ignored; /* not tracked, and an ignore rule matches it */
	char oid[GIT_OID_HEX]; /* tracked: of its content in the index, if it has one; else empty */
};

/*
 * What it says of the file at path (relative to root), whose state now is stx, NULL for none.
 * Content is read only where times and size do not settle whether it changed.
 */
int git_classify(struct git *git, const char *path, const struct statx *stx, struct git_file *file,
	struct err *err);
/* The oid of what a commit (hex) has at path; ERR_NOT_FOUND when it has no file or link there. */
int git_find(struct git *git, const char *commit, const char *path, char oid[GIT_OID_HEX],
	struct err *err);
/* Whether the bytes of a regular file, unfiltered, are the object oid names: 1, 0, negative. */
int git_is_content(const struct git *git, const char *oid, int fd, struct err *err);
/* Hand an object's bytes, unfiltered, to sink; ERR_NOT_FOUND when the repository has it not. */
int git_content(struct git *git, const char *oid,
	int (*sink)(void *arg, const void *bytes, size_t len, struct err *err), void *arg,
	struct err *err);
bool git_has(struct git *git, const char *oid);
void git_close(struct git *git);
void git_closep(struct git **git);
