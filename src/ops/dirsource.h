/*
 * dirsource - a directory of the host, which is not the live tree, read into the store.
 */
#pragma once
#include "ops/op.h"

struct dirsource {
	int fd;           /* borrowed */
	const char *only; /* the one name in it that is wanted; NULL: all */
	const char *const *exclude;
	size_t n_exclude;
	struct workspace_counters *counters;
};

/* Read the directory into the store; the environment's own directory is left out. */
int dirsource_read(
	struct op_context *ctx, const struct dirsource *source, struct hash *tree, struct err *err);

/* Whether a directory has a shell, so that programs can be run with it as their root. */
bool dirsource_has_shell(int dir);
