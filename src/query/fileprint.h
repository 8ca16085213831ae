/*
 * fileprint - a hash of the identity of a file, for views that do not know the hash of its content.
 *
 * The hash is made of the inode, the size, mtime and ctime, and mostly of the device.  Equal hashes
 * mean equal content.  Different hashes mean nothing: the contents have to be compared.
 *
 * Within one device, files that are there at the same time and have one inode are one file.  The
 * snapshots of a file system such as ZFS or btrfs have devices of their own but share inode
 * numbers.  There the device is left out, and the times take its place: an inode whose number was
 * used again has another ctime, which no program can set.
 */
#pragma once
#include <stdbool.h>
#include <sys/stat.h>

#include "core/hash.h"

void fileprint_of(const struct statx *stx, bool with_device, struct hash *hash);
