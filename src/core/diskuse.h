/* diskuse - the disk space of a directory tree. */
#pragma once
#include <stdint.h>

struct diskuse {
	uint64_t entries; /* names below the top */
	uint64_t bytes;   /* on disk; each name of a file with N hard links counts 1/N of it */
	uint64_t unread;  /* directories that could not be read */
};

/*
 * Add the disk space of dirfd/name, and of everything below that name, to use.  Links are not
 * followed, and other mounts are left out.  A missing name adds nothing.
 */
void diskuse_add(int dirfd, const char *name, struct diskuse *use);
