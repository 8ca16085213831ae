/*
 * bundle_content - the contents of a bundle's files.
 */
#pragma once
#include "trace/bundle.h"

/*
 * The content of a regular file in a state: from its blob, from git where it was clean
 * there, or from the other state where it is the same.  It is compared with the size and hash the
 * manifest has: ERR_CORRUPT, after the last piece.  ERR_NOT_FOUND says why there is none.
 */
int bundle_content(struct bundle *bundle, const struct bundle_file *file, enum bundle_side side,
	int (*sink)(void *arg, const void *bytes, size_t len, struct err *err), void *arg,
	struct err *err);
/* Whether there is one, as far as can be told without reading it: 0, or as bundle_content. */
int bundle_content_exists(struct bundle *bundle, const struct bundle_file *file,
	enum bundle_side side, struct err *err);
/* Its row in the table, by which contents are read fastest; UINT64_MAX: is in none. */
uint64_t bundle_content_place(
	struct bundle *bundle, const struct bundle_file *file, enum bundle_side side);
/* The hash of a content, from the manifest if it says so: 1, 0 no content, negative. */
int bundle_content_hash(struct bundle *bundle, const struct bundle_file *file,
	enum bundle_side side, struct hash *hash, struct err *err);
/* Whether both states have the same, by what they say; without a hash a write is a change. */
bool bundle_content_is_same(const struct bundle_file *file);
/* The row of a blob's part, from 1: 1, or 0 when it is not there. */
int bundle_content_part(const struct bundle *bundle, const struct bundle_state *state,
	unsigned part, uint64_t *row);
