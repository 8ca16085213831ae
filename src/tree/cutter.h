/*
 * cutter - turns a stream of bytes and holes into the content of an entry.
 *
 * The hash of a large file depends on where the file is cut, so all code that stores large files
 * uses this cutter.  Each run of bytes between two holes is cut by itself (chunk.h).  A cutter
 * needs memory for the window and one item for each piece.
 */
#pragma once
#include "store/chunk.h"
#include "tree/content.h"

#define CUTTER_WINDOW (CHUNK_MAX + CHUNK_AVERAGE)

struct cutter {
	struct store *store;
	char *window; /* borrowed; CUTTER_WINDOW bytes, the first 'have' of which are not cut yet */
	size_t have;
	uint64_t total; /* bytes added so far, including the bytes of holes */
	struct content_piece *pieces;
	size_t n_pieces, cap_pieces;
	bool holes;
};

void cutter_init(struct cutter *cutter, struct store *store, char *window);
void cutter_release(struct cutter *cutter);

/*
 * Returns the address in the window at which the caller must put the next bytes of a run.  *room is
 * set to the number of bytes that fit there, which is never 0.
 */
char *cutter_room(struct cutter *cutter, size_t *room);
/* Must be called after the caller has put len bytes at the address that cutter_room returned. */
int cutter_filled(struct cutter *cutter, size_t len, struct err *err);
/* Add len bytes to the run.  The bytes are copied to the window, in as many parts as necessary. */
int cutter_add(struct cutter *cutter, const void *bytes, size_t len, struct err *err);
/* End the run with a hole of len bytes.  If len is 0, nothing happens. */
int cutter_hole(struct cutter *cutter, uint64_t len, struct err *err);

/*
 * End the file, and set the content, size and hash of its entry.  A small file without holes is one
 * blob.
 */
int cutter_finish(struct cutter *cutter, struct entry *entry, struct err *err);
