/*
 * fileprint - a hash of the identity of a file, for views that do not have the hash of its content.
 *
 * The hash is made of the inode number, the size, mtime, ctime and, in most cases, the device.
 * Equal hashes mean equal content.  If the hashes differ, the contents may still be equal, and have
 * to be compared.
 *
 * On one device, names that exist at the same time and have the same inode number belong to the
 * same file.  The snapshots of a file system such as ZFS or btrfs have different devices, but share
 * inode numbers.  For files in such snapshots, the device is left out of the hash.  A new file with
 * a reused inode number still gets another hash, since it has another ctime, and no program can set
 * a ctime.
 */
#pragma once
#include <stdbool.h>
#include <sys/stat.h>

#include "core/hash.h"

void fileprint_of(const struct statx *stx, bool with_device, struct hash *hash);
/*
 * Set *hash from a device and an inode number alone.  It is never equal to a hash of fileprint_of.
 */
void fileprint_of_inode(uint64_t device, uint64_t inode, struct hash *hash);
