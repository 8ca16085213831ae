/* bundle_content - finds and reads the contents of a bundle's files. */
#pragma once
#include "trace/bundle/bundle.h"

/*
 * Pass the content of a regular file to the function 'sink'.  The content comes from the table,
 * from git if the file was unchanged in its repository, or from the other state if both states have
 * the same content.
 *
 * After the last piece, the size and hash of the content are compared with the recorded size and
 * hash.  If they differ, the result is ERR_CORRUPT, or ERR_NOT_FOUND for a content from git.  If
 * the content is not available, the result is ERR_NOT_FOUND, and the message says why.
 */
int bundle_content(struct bundle *bundle, const struct bundle_file *file, enum bundle_side side,
	int (*sink)(void *arg, const void *bytes, size_t len, struct err *err), void *arg,
	struct err *err);
/* Check that a content is available, without reading the content.  Fails as bundle_content does. */
int bundle_content_exists(struct bundle *bundle, const struct bundle_file *file,
	enum bundle_side side, struct err *err);
/*
 * Returns the index of the table's first row for the content, or UINT64_MAX if the content is not
 * in the table.  Callers use the index to read contents in the order of the table.
 */
uint64_t bundle_content_place(
	struct bundle *bundle, const struct bundle_file *file, enum bundle_side side);
/*
 * Get the hash of a content.  If the manifest does not have the hash, the hash is computed.
 * Returns 1 on success, 0 if the content is not available, or a negative error.
 */
int bundle_content_hash(struct bundle *bundle, const struct bundle_file *file,
	enum bundle_side side, struct hash *hash, struct err *err);
/*
 * Whether both states have the same content.  If the states have no hashes, a write counts as a
 * change.
 */
bool bundle_content_is_same(const struct bundle_file *file);
/*
 * Find the table's row for one part of a content.  The first part has the number 1.  Returns 1, or
 * 0 if there is no such row.
 */
int bundle_content_part(const struct bundle *bundle, const struct bundle_state *state,
	unsigned part, uint64_t *row);
