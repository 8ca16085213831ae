/*
 * reserve - keeps disk space for the commands that free disk space.
 *
 * On a file system without a free block the database cannot be opened for writing: Btrfs, for
 * example, needs new blocks even to overwrite data.  So the environment has a file ROOT/reserve of
 * RESERVE_SIZE bytes.  On a full disk, 'gc' and 'checkout --no-safety' remove this file first.
 * Both commands make a new file before they end.
 */
#pragma once
#include <stdbool.h>

#define RESERVE_NAME "reserve"
#define RESERVE_SIZE (1 << 20)

/* Make the reserve, unless it exists or the disk has no room for it. */
void reserve_make(int rootfd);
/* Remove the reserve of the environment at root.  Returns whether there was one. */
bool reserve_release(const char *root);
