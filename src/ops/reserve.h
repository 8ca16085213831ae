/*
 * reserve - keeps room on the disk for the commands that free room.
 *
 * On a file system without a free block the database cannot be opened for writing: Btrfs, for
 * example, needs new blocks even to overwrite data.  Then 'gc' and 'checkout --no-safety' remove
 * ROOT/reserve, a file of RESERVE_SIZE bytes.  They make a new one when they are done.
 */
#pragma once
#include <stdbool.h>

#define RESERVE_NAME "reserve"
#define RESERVE_SIZE (1 << 20)

/* Make the reserve, unless it is there or the disk has no room for it. */
void reserve_make(int rootfd);
/* Remove the reserve of the environment at root.  Returns whether there was one. */
bool reserve_release(const char *root);
