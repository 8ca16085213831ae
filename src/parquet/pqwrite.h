/*
 * pqwrite - writes a Parquet table as a stream.  The table has two required columns: key (UTF-8
 * string) and content (binary).
 *
 * Rows are gathered into row groups of about PQWRITE_GROUP bytes.  A larger content gets a row
 * group of its own and is compressed piece by piece.  So the memory that is needed does not depend
 * on the size of a content.
 *
 * The table is complete only after pqwrite_finish.  No function of pqwrite syncs it.
 *
 * If a call fails, the earlier rows are unchanged.  If a row was begun before the failure, the
 * caller must discard that row with pqwrite_cancel.
 */
#pragma once
#include <stdint.h>

#include "core/err.h"
#include "core/str.h"
#include "parquet/pqformat.h"

#define PQWRITE_GROUP PQ_GROUP
/*
 * Maximum number of bytes of a content.  The format stores the sizes of a page as int32, both
 * before and after compression.  Compression makes some data longer by up to 1/65.
 */
#define PQWRITE_CONTENT_MAX ((uint64_t)INT32_MAX - ((uint64_t)64 << 20))

enum pqwrite_codec {
	PQWRITE_SNAPPY,
	PQWRITE_ZSTD,
};

struct pqwrite;

/*
 * Begin a table in fd, which is borrowed.  The file must be empty, seekable and open for writing.
 * Returns NULL on error.
 */
struct pqwrite *pqwrite_open(int fd, enum pqwrite_codec codec, struct err *err);
/* Write one row with all of its content. */
int pqwrite_row(
	struct pqwrite *table, struct str key, const void *bytes, size_t len, struct err *err);
/*
 * Write one row in pieces.  pqwrite_begin gets the length of the content.  The functions return
 * ERR_INVALID if the pieces together do not have that length, or if the key is not UTF-8.  They
 * return ERR_LIMIT if the content is longer than PQWRITE_CONTENT_MAX, or if the key or the table is
 * larger than pqformat.h allows.
 */
int pqwrite_begin(struct pqwrite *table, struct str key, uint64_t len, struct err *err);
int pqwrite_piece(struct pqwrite *table, const void *bytes, size_t len, struct err *err);
int pqwrite_end(struct pqwrite *table, struct err *err);
/*
 * Discard the row that was begun.  The caller calls this instead of pqwrite_end.  If no row was
 * begun, nothing happens.
 */
int pqwrite_cancel(struct pqwrite *table, struct err *err);

/*
 * A position between two rows, to which pqwrite_return can return.  pqwrite_set_mark first writes
 * the gathered rows as a row group.
 */
struct pqwrite_mark {
	uint64_t end, rows, key_bytes;
	size_t groups;
	uint32_t n_groups;
};

int pqwrite_set_mark(struct pqwrite *table, struct pqwrite_mark *mark, struct err *err);
/* Discard all rows since the mark, including a row that was begun. */
int pqwrite_return(struct pqwrite *table, const struct pqwrite_mark *mark, struct err *err);
uint64_t pqwrite_rows(const struct pqwrite *table);
/* Write the gathered rows and the footer.  Afterwards only pqwrite_close may be called. */
int pqwrite_finish(struct pqwrite *table, struct err *err);
void pqwrite_close(struct pqwrite *table);
void pqwrite_closep(struct pqwrite **table);
