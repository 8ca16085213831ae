/* diskuse - what a directory tree takes on disk. */
#pragma once
#include <stdint.h>

struct diskuse {
	uint64_t entries; /* names below the top */
	uint64_t bytes;   /* allocated; a file of several names counts for a part at each */
	uint64_t unread;  /* directories that could not be looked into */
};

/* Add what lies at dirfd/name, which is not followed; one that is missing takes nothing. */
void diskuse_add(int dirfd, const char *name, struct diskuse *use);
