/* diskuse - the disk space of a directory tree. */
#pragma once
#include <stdint.h>

struct diskuse {
	uint64_t entries; /* names below the top */
	uint64_t bytes;   /* on disk; each of a file's N hard links counts 1/N */
	uint64_t unread;  /* directories that could not be read */
};

/*
 * Add to *use the disk space of dirfd/name and of everything below that name.  Links are not
 * followed, and other mounts are left out.  A missing name adds nothing.
 */
void diskuse_add(int dirfd, const char *name, struct diskuse *use);
