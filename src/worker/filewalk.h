/*
 * filewalk - the files below a directory, for glob and grep, in the order of their paths.
 *
 * Paths are compared as bytes, so "a.c" comes before "a/b", and a directory before what it
 * contains.  No symbolic link is followed, and no directory is entered that the policy denies.
 * Unless no_ignore is set, what .gitignore files and .git/info/exclude of the repository ignore is
 * left out, and so are directories named ".git".  The repository may begin above the start.
 */
#pragma once
#include "core/buf.h"
#include "worker/gate.h"
#include "worker/ticket.h"

#define FILEWALK_DEPTH_MAX 1024

struct filewalk_entry {
	struct str path;    /* absolute */
	unsigned char type; /* DT_REG and the like */
	int dir;            /* the open directory, and the name in it */
	const char *name;
};

struct filewalk {
	struct gate *gate;
	struct ticket *ticket;
	bool no_ignore;
	unsigned depth; /* levels of directories to enter below the start */
	/* Called for each name; 1 ends the walk, negative is an error. */
	int (*visit)(void *arg, const struct filewalk_entry *entry, struct err *err);
	void *arg;
	uint64_t skipped; /* directories that could not be read */
};

/* start is open; path is its path, absolute and without a slash at the end.  1: visit ended it. */
int filewalk_run(struct filewalk *walk, int start, struct str path, struct err *err);
