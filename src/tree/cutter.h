/*
 * cutter - from a stream of bytes and holes to the content of an entry.
 *
 * The hash of a large file depends on where it is cut, so all code that stores large files uses
 * this cutter.  Each run of bytes between two holes is cut by itself (chunk.h).  Memory is the
 * window and one item for each piece.
 */
#pragma once
#include "store/chunk.h"
#include "tree/content.h"

#define CUTTER_WINDOW (CHUNK_MAX + CHUNK_AVERAGE)

struct cutter {
	struct store *store;
	char *window; /* borrowed, CUTTER_WINDOW bytes; the first 'have' of them are not cut yet */
	size_t have;
	uint64_t total; /* bytes and holes so far */
	struct content_piece *pieces;
	size_t n_pieces, cap_pieces;
	bool holes;
};

void cutter_init(struct cutter *cutter, struct store *store, char *window);
void cutter_release(struct cutter *cutter);

/* Where the next bytes of a run go, and how many of them there is room for (never 0). */
char *cutter_room(struct cutter *cutter, size_t *room);
/* Say that len bytes were put into the room. */
int cutter_filled(struct cutter *cutter, size_t len, struct err *err);
/* Copy bytes into the room, in as many parts as it takes. */
int cutter_add(struct cutter *cutter, const void *bytes, size_t len, struct err *err);
/* End the run with a hole of len bytes; len 0 does nothing. */
int cutter_hole(struct cutter *cutter, uint64_t len, struct err *err);

/* End the file: set content, size and hash of entry.  A small file without holes is one blob. */
int cutter_finish(struct cutter *cutter, struct entry *entry, struct err *err);
