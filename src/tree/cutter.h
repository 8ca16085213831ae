/*
 * cutter - from a stream of bytes and holes to the content of an entry.
 *
 * Where a file is cut, and whether it is cut at all, decides its name; so
 * everything that stores larger files comes through here.  The runs between
 * holes are cut each for itself (chunk.h).  Memory is the window and an item
 * per piece.
 */
#pragma once
#include "store/chunk.h"
#include "tree/content.h"

#define CUTTER_WINDOW (CHUNK_MAX + CHUNK_AVERAGE)

struct cutter {
	struct store *store;
	char *window; /* borrowed, CUTTER_WINDOW bytes; the first have are not cut yet */
	size_t have;
	uint64_t total; /* bytes and holes so far */
	struct content_piece *pieces;
	size_t n_pieces, cap_pieces;
	bool holes;
};

void cutter_init(struct cutter *cutter, struct store *store, char *window);
void cutter_release(struct cutter *cutter);

/* Where to put the next bytes of a run, and how many there is room for (never 0). */
char *cutter_room(struct cutter *cutter, size_t *room);
/* This many have been put there. */
int cutter_filled(struct cutter *cutter, size_t len, struct err *err);
/* The same for bytes that are somewhere else. */
int cutter_add(struct cutter *cutter, const void *bytes, size_t len, struct err *err);
/* The run ends and a hole follows; of no bytes is no hole. */
int cutter_hole(struct cutter *cutter, uint64_t len, struct err *err);

/*
 * End of the file: sets content, size and hash of entry.  Without holes and up
 * to CHUNK_WHOLE bytes it is one blob.
 */
int cutter_finish(struct cutter *cutter, struct entry *entry, struct err *err);
