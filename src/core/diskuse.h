/* diskuse - the disk space of a directory tree. */
#pragma once
#include <stdint.h>

struct diskuse {
	uint64_t entries; /* names below the top */
	uint64_t bytes;   /* allocated; each name of a hard-linked file counts for a part */
	uint64_t unread;  /* directories that could not be read */
};

/* Add dirfd/name and everything below, not following links; a missing name counts nothing. */
void diskuse_add(int dirfd, const char *name, struct diskuse *use);
