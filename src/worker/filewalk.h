/*
 * filewalk - walks the files below a directory, for glob and grep, in the order of their paths.
 *
 * Paths are compared as bytes, so "a.c" comes before "a/b", and a directory before its entries.  No
 * symbolic link is followed, and no directory is entered that the policy denies.  If no_ignore is
 * not set, two kinds of files are left out: files named ".git", and files that a .gitignore or the
 * repository's .git/info/exclude ignores.  The repository may begin above the directory where the
 * walk starts.
 */
#pragma once
#include "core/buf.h"
#include "worker/gate.h"
#include "worker/ticket.h"

#define FILEWALK_DEPTH_MAX 1024

struct filewalk_entry {
	struct str path;    /* absolute path of the name */
	unsigned char type; /* type of the file: DT_REG and the like */
	int dir;            /* descriptor of the directory that contains the name */
	const char *name;
};

struct filewalk {
	struct gate *gate;
	struct ticket *ticket;
	bool no_ignore;
	unsigned depth; /* levels of directories to enter below the start */
	/* Called for each name.  Returns 0, 1 to end the walk, or a negative error. */
	int (*visit)(void *arg, const struct filewalk_entry *entry, struct err *err);
	void *arg;
	uint64_t skipped; /* directories that could not be read */
};

/*
 * Walk the open directory 'start'.  'path' is its absolute path, without a slash at the end.
 * Returns 1 if the function 'visit' has ended the walk.
 */
int filewalk_run(struct filewalk *walk, int start, struct str path, struct err *err);
