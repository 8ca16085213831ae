/*
 * outdir - the directory a bundle is written to: built under a temporary name
 * beside, renamed when it is whole.
 */
#pragma once
#include "core/err.h"
#include "trace/pathmap.h"

struct outdir {
	int parent;
	int fd; /* of the temporary directory */
	char *name, *temporary;
};

#define OUTDIR_INIT                                                                                \
	{                                                                                          \
		.parent = -1, .fd = -1                                                             \
	}

/* Make the temporary directory for path, which must not be there or be an empty directory. */
int outdir_init(struct outdir *out, const char *path, struct err *err);
/* What a traced program sees of either name is not told. */
void outdir_ignore(const struct outdir *out, struct pathmap *map);
/* Sync and rename. */
int outdir_commit(struct outdir *out, struct err *err);
/* Also removes what was not committed. */
void outdir_release(struct outdir *out);
