/* dirsource - reads a directory of the host, other than the live tree, into the store. */
#pragma once
#include "ops/op.h"

struct dirsource {
	int fd;           /* borrowed */
	const char *only; /* the only name that is read; NULL: all names are read */
	const char *const *exclude;
	size_t n_exclude;
	struct workspace_counters *counters;
};

/* Read the directory into the store.  The environment's own directory is left out. */
int dirsource_read(
	struct op_context *ctx, const struct dirsource *source, struct hash *tree, struct err *err);

/*
 * Whether the directory has a shell.  Without a shell, programs cannot be run with the directory as
 * their root.
 */
bool dirsource_has_shell(int dir);
