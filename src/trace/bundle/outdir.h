/*
 * outdir - the directory of a bundle.  It is made under a temporary name beside its place, and
 * renamed when it is whole.
 *
 * While the command runs, nothing of the bundle has a name, so the command cannot remove it.  (On a
 * file system without O_TMPFILE, the table has a temporary name.)  The bundle is written whatever
 * the command does to the directories around it.  If the name of the bundle is taken, the bundle
 * gets another one.
 */
#pragma once
#include "core/err.h"

struct outdir {
	int parent;
	int fd; /* the temporary directory; -1: not made yet */
	char *name, *temporary;
	char *path;    /* absolute path of parent */
	char *instead; /* the name that the directory got if its own was taken */
};

#define OUTDIR_INIT                                                                                \
	{                                                                                          \
		.parent = -1, .fd = -1                                                             \
	}

/* Prepare to make the directory path, which must not exist or must be empty. */
int outdir_init(struct outdir *out, const char *path, struct err *err);
/* Make the temporary directory. */
int outdir_begin(struct outdir *out, struct err *err);
/* Sync the directory and give it its name. */
int outdir_commit(struct outdir *out, struct err *err);
/* Remove the directory if it was not committed, and release out. */
void outdir_release(struct outdir *out);
