/*
 * bundle_content - the contents of a bundle's files.
 */
#pragma once
#include "trace/bundle/bundle.h"

/*
 * Give the content of a regular file to sink: from its blob, from git if the file was clean there,
 * or from the other state if the content is the same.  The content is compared with the recorded
 * size and hash.  If it differs, an error is returned after the last piece: ERR_CORRUPT, or
 * ERR_NOT_FOUND for a content from git.  If there is no content, ERR_NOT_FOUND is returned, and the
 * message says why.
 */
int bundle_content(struct bundle *bundle, const struct bundle_file *file, enum bundle_side side,
	int (*sink)(void *arg, const void *bytes, size_t len, struct err *err), void *arg,
	struct err *err);
/* Check that there is a content without reading it.  Fails as bundle_content does. */
int bundle_content_exists(struct bundle *bundle, const struct bundle_file *file,
	enum bundle_side side, struct err *err);
/*
 * Returns the row of a content, so that contents can be read in the order of the table; UINT64_MAX:
 * the content is not in the table.
 */
uint64_t bundle_content_place(
	struct bundle *bundle, const struct bundle_file *file, enum bundle_side side);
/*
 * Get the hash of a content, from the manifest if that has it.  Returns 1, 0 if there is no
 * content, or a negative error.
 */
int bundle_content_hash(struct bundle *bundle, const struct bundle_file *file,
	enum bundle_side side, struct hash *hash, struct err *err);
/* Whether both states have the same content.  Without hashes, a write counts as a change. */
bool bundle_content_is_same(const struct bundle_file *file);
/*
 * Find the row of a part of a blob; parts are counted from 1.  Returns 1, or 0 if there is no such
 * row.
 */
int bundle_content_part(const struct bundle *bundle, const struct bundle_state *state,
	unsigned part, uint64_t *row);
