/*
 * outdir - the directory of a bundle: made under a temporary name beside its place, and renamed
 * when it is whole.
 *
 * While the command runs, nothing of the bundle has a name, so the command cannot remove it.
 * Whatever the command does to the directories around it, there will be a bundle: if its name is
 * taken, it gets another one.
 */
#pragma once
#include "core/err.h"

struct outdir {
	int parent;
	int fd; /* the temporary directory; -1: not made yet */
	char *name, *temporary;
	char *path;    /* of parent; absolute */
	char *instead; /* the name that it got, if that is another */
};

#define OUTDIR_INIT                                                                                \
	{                                                                                          \
		.parent = -1, .fd = -1                                                             \
	}

/* path must not exist, or be an empty directory. */
int outdir_init(struct outdir *out, const char *path, struct err *err);
/* Make the temporary directory. */
int outdir_begin(struct outdir *out, struct err *err);
/* Sync the directory and give it its name. */
int outdir_commit(struct outdir *out, struct err *err);
/* Removes the directory if it was not committed. */
void outdir_release(struct outdir *out);
