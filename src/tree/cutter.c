#include "tree/cutter.h"

#include <stdlib.h>

#include "core/mem.h"

void cutter_init(struct cutter *cutter, struct store *store, char *window)
{
	*cutter = (struct cutter){ .store = store, .window = window };
}

void cutter_release(struct cutter *cutter)
{
	free(cutter->pieces);
	*cutter = (struct cutter){ 0 };
}

char *cutter_room(struct cutter *cutter, size_t *room)
{
	*room = CUTTER_WINDOW - cutter->have;
	return cutter->window + cutter->have;
}

static struct content_piece *add_piece(struct cutter *cutter, uint64_t length, bool hole)
{
	mem_grow(&cutter->pieces, &cutter->cap_pieces, cutter->n_pieces);
	cutter->pieces[cutter->n_pieces] = (struct content_piece){ .length = length, .hole = hole };
	return &cutter->pieces[cutter->n_pieces++];
}

/*
 * Cut pieces off the window until fewer than 'keep' bytes are left.  If 'keep' is 1, everything is
 * cut.
 */
static int cut_window(struct cutter *cutter, size_t keep, struct err *err)
{
	size_t at = 0;

	while (cutter->have - at >= keep) {
		size_t len = chunk_cut(cutter->window + at, cutter->have - at);
		struct content_piece *piece = add_piece(cutter, len, false);
		int r = store_put(
			cutter->store, OBJECT_BLOB, cutter->window + at, len, &piece->hash, err);

		if (r < 0)
			return r;
		at += len;
	}
	cutter->have -= at;
	if (at)
		memmove(cutter->window, cutter->window + at, cutter->have);
	return 0;
}

int cutter_filled(struct cutter *cutter, size_t len, struct err *err)
{
	cutter->have += len;
	cutter->total += len;
	/*
	 * Fewer than CHUNK_MAX bytes stay uncut, since it depends on the bytes after them where the
	 * next cut is.
	 */
	return cut_window(cutter, CHUNK_MAX, err);
}

int cutter_add(struct cutter *cutter, const void *bytes, size_t len, struct err *err)
{
	const char *from = bytes;

	while (len) {
		size_t room;
		char *at = cutter_room(cutter, &room);
		size_t part = len < room ? len : room;

		memcpy(at, from, part);
		int r = cutter_filled(cutter, part, err);
		if (r < 0)
			return r;
		from += part;
		len -= part;
	}
	return 0;
}

int cutter_hole(struct cutter *cutter, uint64_t len, struct err *err)
{
	int r = len ? cut_window(cutter, 1, err) : 0;

	if (r < 0 || !len)
		return r;
	/*
	 * A list must not contain two holes in a row, so a hole after a hole makes the first one
	 * longer.
	 */
	if (cutter->n_pieces && cutter->pieces[cutter->n_pieces - 1].hole)
		cutter->pieces[cutter->n_pieces - 1].length += len;
	else
		add_piece(cutter, len, true);
	cutter->total += len;
	cutter->holes = true;
	return 0;
}

int cutter_finish(struct cutter *cutter, struct entry *entry, struct err *err)
{
	int r = 0;

	entry->size = cutter->total;
	memset(&entry->hash, 0, sizeof(entry->hash));
	if (!cutter->total) {
		entry->content = ENTRY_EMPTY;
	} else if (!cutter->holes && cutter->total <= CHUNK_WHOLE) {
		entry->content = ENTRY_BLOB;
		r = store_put(cutter->store, OBJECT_BLOB, cutter->window, cutter->have,
			&entry->hash, err);
	} else {
		entry->content = ENTRY_CHUNKS;
		r = cut_window(cutter, 1, err);
		if (r >= 0)
			r = content_put_list(
				cutter->store, cutter->pieces, cutter->n_pieces, &entry->hash, err);
	}
	return r;
}
