/*
 * outdir - the directory of a bundle.  It is made with a temporary name in the parent directory,
 * and gets its final name when all files are in it.
 *
 * While the command runs, no file of the bundle has a name, so the command cannot remove such a
 * file.  (On a file system without O_TMPFILE, the table has a temporary name.)  If the command has
 * removed the parent directory, the parent directory is made again.  If the name of the bundle is
 * taken, a number is added to the name.
 */
#pragma once
#include "core/err.h"

struct outdir {
	int parent;
	int fd; /* the temporary directory; -1: it does not exist yet */
	char *name, *temporary;
	char *path;    /* absolute path of the parent directory */
	char *instead; /* if the wanted name was taken: the name with a number; else NULL */
};

#define OUTDIR_INIT                                                                                \
	{                                                                                          \
		.parent = -1, .fd = -1                                                             \
	}

/* Prepare to make the directory 'path', which must not exist or must be empty. */
int outdir_init(struct outdir *out, const char *path, struct err *err);
/* Make the temporary directory. */
int outdir_begin(struct outdir *out, struct err *err);
/* Sync the directory and rename it to its final name. */
int outdir_commit(struct outdir *out, struct err *err);
/* Remove the directory if it was not committed, and release *out. */
void outdir_release(struct outdir *out);
