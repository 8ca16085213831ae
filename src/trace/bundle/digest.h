/*
 * digest - the digests in a manifest.  They reveal every changed bit in either file.
 *
 *	blobs_sha256   of all bytes of blobs.parquet
 *	digest         of manifest.json, with zeros in place of the 64 digits of the digest itself
 */
#pragma once
#include <stdbool.h>

#include "core/hash.h"
#include "core/str.h"

#define DIGEST_ZEROS "0000000000000000000000000000000000000000000000000000000000000000"

/* Compute the digest of an open file.  Returns 0 or -errno. */
int digest_fd(int fd, struct hash *hash);
/*
 * Compute a digest that takes no time for the holes of a file.  For each block of 4096 bytes that
 * is not all zero, it covers the number of the block (64 bits, little-endian) and its bytes.  A
 * short last block is filled up with zeros.  The file's size comes at the end.  Moves the file's
 * offset.
 */
int digest_blocks(int fd, struct hash *hash);
/* Whether an open file has a hole.  Moves its offset. */
bool digest_has_holes(int fd);
#define DIGEST_FIRST 512 /* the digest is among the first bytes of a manifest */

/*
 * Find the position of digits in the first bytes of a manifest.  Returns false if they are not
 * there.
 */
bool digest_find(struct str first, struct str digits, size_t *at);
/* Whether these digits, which are in the manifest, are its digest. */
bool digest_is_of(struct str manifest, struct str digits);
