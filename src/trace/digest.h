/*
 * digest - by which a bundle knows itself.
 *
 *	blobs_sha256   of blobs.parquet, byte for byte
 *	digest         of manifest.json with zeros in place of the digest's own 64 digits, which are
 *	               near its beginning
 *
 * So a bit that is another in either file makes another digest.
 */
#pragma once
#include <stdbool.h>

#include "core/hash.h"
#include "core/str.h"

#define DIGEST_ZEROS "0000000000000000000000000000000000000000000000000000000000000000"

/* All that is in an open file: 0 or -errno. */
int digest_fd(int fd, struct hash *hash);
/*
 * The same without what is zero, which takes no time where the file has holes: of each block of
 * 4096 bytes that is not all zero its number (64 bits, little-endian) and its bytes, and in the end
 * of the file's size.  A short last block is filled up with zeros.  Moves the file's offset.
 */
int digest_blocks(int fd, struct hash *hash);
/* Whether an open file has a hole.  Moves its offset. */
bool digest_has_holes(int fd);
#define DIGEST_FIRST 512 /* bytes of a manifest that have the digits in them */

/* Where in the first bytes of a manifest the digits are; false: they are not. */
bool digest_find(struct str first, struct str digits, size_t *at);
/* Whether the digits in it are its digest. */
bool digest_is_of(struct str manifest, struct str digits);
