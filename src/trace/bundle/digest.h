/*
 * digest - the digests in a manifest.  With them, every changed bit in the manifest or the table is
 * found.
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
 * Compute a digest of a file without reading its holes.  It covers every block of 4096 bytes that
 * is not all zero: the number of the block (64 bits, little-endian), then its bytes.  A short last
 * block is filled up with zeros.  The size of the file comes last.  Moves the file's offset.
 */
int digest_blocks(int fd, struct hash *hash);
/* Whether an open file has a hole.  Moves the file's offset. */
bool digest_has_holes(int fd);
#define DIGEST_FIRST 512 /* the digest of a manifest is within this many bytes from its start */

/*
 * Find the text digits in the first bytes of a manifest.  *at is set to its position.  Returns
 * false if the bytes do not have the text.
 */
bool digest_find(struct str first, struct str digits, size_t *at);
/* Whether the digits, which stand in the manifest, are the digest of the manifest. */
bool digest_is_of(struct str manifest, struct str digits);
