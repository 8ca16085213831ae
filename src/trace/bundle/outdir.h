/*
 * outdir - the directory of a bundle.  It is made under a temporary name beside its final place,
 * and renamed when it is whole.
 *
 * While the command runs, no file of the bundle has a name, so the command cannot remove it.  (On a
 * file system without O_TMPFILE, the table has a temporary name.)  The bundle can be written even
 * if the command has removed the directories above its place.  If the name of the bundle is taken,
 * a number is added to the name.
 */
#pragma once
#include "core/err.h"

struct outdir {
	int parent;
	int fd; /* the temporary directory; -1: it does not exist yet */
	char *name, *temporary;
	char *path;    /* absolute path of the parent */
	char *instead; /* if the wanted name was taken: the name with a number; else NULL */
};

#define OUTDIR_INIT                                                                                \
	{                                                                                          \
		.parent = -1, .fd = -1                                                             \
	}

/* Prepare to make the directory path, which must not exist or must be empty. */
int outdir_init(struct outdir *out, const char *path, struct err *err);
/* Make the temporary directory. */
int outdir_begin(struct outdir *out, struct err *err);
/* Sync the directory and rename it to its final name. */
int outdir_commit(struct outdir *out, struct err *err);
/* Remove the directory if it was not committed, and release out. */
void outdir_release(struct outdir *out);
