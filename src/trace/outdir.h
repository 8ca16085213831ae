/*
 * outdir - the directory a bundle is written to: built under a temporary name
 * beside, renamed when it is whole.
 *
 * While the command runs there is nothing of it: what has no name nobody can remove.  Whatever the
 * command does in the meantime to the directories concerned, a bundle there will be: where its name
 * is taken it gets another one.
 */
#pragma once
#include "core/err.h"
#include "trace/pathmap.h"

struct outdir {
	int parent;
	int fd; /* of the temporary directory; -1: there is none yet */
	char *name, *temporary;
	char *path;    /* of parent, absolute */
	char *instead; /* the name it got, if that is another */
};

#define OUTDIR_INIT                                                                                \
	{                                                                                          \
		.parent = -1, .fd = -1                                                             \
	}

/* For path, which must not be there or be an empty directory. */
int outdir_init(struct outdir *out, const char *path, struct err *err);
/* What a traced program sees of either name is not told. */
void outdir_ignore(const struct outdir *out, struct pathmap *map);
/* Make the temporary directory. */
int outdir_begin(struct outdir *out, struct err *err);
/* Sync and rename. */
int outdir_commit(struct outdir *out, struct err *err);
/* Also removes what was not committed. */
void outdir_release(struct outdir *out);
