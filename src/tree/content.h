/*
 * content - stores the bytes of a file as objects, and reads them back.
 *
 * A file of up to CHUNK_WHOLE bytes without holes is one blob.  A larger file, or one with holes,
 * is a chunk list:
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

#define CONTENT_LIST_MAX 4096 /* maximum number of items in one chunk list */

struct content_piece {
	uint64_t length;
	bool hole;
	struct hash hash;
};

/*
 * Store a list of pieces.  A long list becomes several levels of chunk lists.  *hash is set to the
 * hash of the top list.
 */
int content_put_list(struct store *store, const struct content_piece *pieces, size_t count,
	struct hash *hash, struct err *err);

/* A chunk list while it is decoded. */
struct content_list {
	struct cursor in;
	unsigned level;
	uint64_t left;
	bool hole; /* the piece that was read last is a hole */
};
int content_list_open(struct content_list *list, const void *bytes, size_t len, struct err *err);
/* Read the next piece.  Returns 1, or 0 after the last piece, or a negative error. */
int content_list_next(struct content_list *list, struct content_piece *piece, struct err *err);

/*
 * Pass at most 'length' bytes of a file's content, beginning at 'offset', to the callback 'sink',
 * in order.  For a hole, the sink gets NULL as bytes.  If the sink returns a negative value, the
 * reading ends, and content_read returns that value.  Otherwise the sink must return 0.
 */
typedef int (*content_sink)(void *arg, const void *bytes, uint64_t len, struct err *err);
int content_read(struct store *store, const struct entry *file, uint64_t offset, uint64_t length,
	content_sink sink, void *arg, struct err *err);

/*
 * Pass 'length' bytes of an open file to the callback 'sink', beginning at 'offset'.  The sink gets
 * fewer bytes if the file ends earlier.  The string 'name' is for error messages.
 */
int content_fd_read(int fd, const char *name, uint64_t offset, uint64_t length, content_sink sink,
	void *arg, struct err *err);
/*
 * Do the same as content_fd_read.  For a hole, however, the sink gets NULL as bytes, and not zeros.
 */
int content_fd_sparse(int fd, const char *name, uint64_t offset, uint64_t length, content_sink sink,
	void *arg, struct err *err);

/* A content_sink that appends the bytes to arg, which is a struct buf.  A hole becomes zeros. */
int content_append(void *arg, const void *bytes, uint64_t len, struct err *err);

/* Append at most 'max' bytes from the start of a file to *out.  A hole becomes zeros. */
int content_load(struct store *store, const struct entry *file, uint64_t max, struct buf *out,
	struct err *err);

/* Write the whole content of a file to fd, which must be an empty file.  Holes stay holes. */
int content_write(struct store *store, const struct entry *file, int fd, struct err *err);
