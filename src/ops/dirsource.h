/* dirsource - read a directory of the host, other than the live tree, into the store. */
#pragma once
#include "ops/op.h"

struct dirsource {
	int fd;           /* borrowed */
	const char *only; /* read this name alone; NULL: all */
	const char *const *exclude;
	size_t n_exclude;
	struct workspace_counters *counters;
};

/* Read the directory into the store; the environment's own directory is left out. */
int dirsource_read(
	struct op_context *ctx, const struct dirsource *source, struct hash *tree, struct err *err);

/* Whether programs can be run with the directory as their root, because it has a shell. */
bool dirsource_has_shell(int dir);
