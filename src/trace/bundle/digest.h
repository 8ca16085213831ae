/*
 * digest - the digests in a manifest.  They reveal every changed bit of the manifest and of the
 * table.
 *
 *	blobs_sha256   digest of all bytes of blobs.parquet
 *	digest         digest of manifest.json with 64 zeros in the place of this digest
 */
#pragma once
#include <stdbool.h>

#include "core/hash.h"
#include "core/str.h"

#define DIGEST_ZEROS "0000000000000000000000000000000000000000000000000000000000000000"

/* Compute the digest of an open file.  Returns 0 or -errno. */
int digest_fd(int fd, struct hash *hash);
/*
 * Compute a digest of a file without reading its holes.  A block is 4096 bytes.  The digest skips
 * blocks of zeros.  For each other block, the digest covers the number of the block (64 bits,
 * little-endian), and then the bytes of the block.  A short last block is filled up with zeros.
 * The size of the file comes last.  The function moves the file's offset.
 */
int digest_blocks(int fd, struct hash *hash);
/* Whether an open file has a hole.  The function moves the file's offset. */
bool digest_has_holes(int fd);
#define DIGEST_FIRST 512 /* the digest of a manifest is within this many bytes from its start */

/*
 * Find the text 'digits' in 'first', the first bytes of a manifest.  *at is set to the position of
 * the text.  Returns false if the text is not there.
 */
bool digest_find(struct str first, struct str digits, size_t *at);
/*
 * Whether the text 'digits' is the digest of the manifest.  'digits' must be a part of the
 * manifest's text.
 */
bool digest_is_of(struct str manifest, struct str digits);
