/*
 * content - the bytes of a file as objects, and back.
 *
 * Up to CHUNK_WHOLE bytes without holes are one blob.  Anything larger, and
 * anything with holes, is a chunk list:
 *
 *	version   1 byte   1
 *	level     1 byte   0: pieces of the file; n: chunk lists of level n-1
 *	count     varint
 *	each      level 0: varint length * 2 + hole, hash unless a hole
 *	          else:    varint length, hash
 *
 * Lengths are positive and add up to the size of the file; no two holes follow each other.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/err.h"
#include "store/store.h"
#include "tree/entry.h"

#define CONTENT_LIST_MAX 4096 /* items of one chunk list */

struct content_piece {
	uint64_t length;
	bool hole;
	struct hash hash;
};

/* Store a list of pieces, in several levels if it is long; *hash names the top list. */
int content_put_list(struct store *store, const struct content_piece *pieces, size_t count,
	struct hash *hash, struct err *err);

/* A chunk list while it is decoded. */
struct content_list {
	struct cursor in;
	unsigned level;
	uint64_t left;
	bool hole; /* the last piece was a hole */
};
int content_list_open(struct content_list *list, const void *bytes, size_t len, struct err *err);
int content_list_next(struct content_list *list, struct content_piece *piece, struct err *err);

/*
 * Hand the content of a file to sink in order, from offset on, at most length bytes.  Holes come as
 * bytes == NULL.  The sink returns < 0 to stop (its value is returned), else 0.
 */
typedef int (*content_sink)(void *arg, const void *bytes, uint64_t len, struct err *err);
int content_read(struct store *store, const struct entry *file, uint64_t offset, uint64_t length,
	content_sink sink, void *arg, struct err *err);

/* A sink that appends to a struct buf; holes become zeros. */
int content_append(void *arg, const void *bytes, uint64_t len, struct err *err);

/* Append up to max bytes from the start of a file; holes read as zeros. */
int content_load(struct store *store, const struct entry *file, uint64_t max, struct buf *out,
	struct err *err);

/* Write a file's whole content to an empty file, keeping holes. */
int content_write(struct store *store, const struct entry *file, int fd, struct err *err);
