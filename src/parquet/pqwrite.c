/*
 * Writes the pages, row groups and footer of a table.
 *
 * A page header comes before its page and contains the compressed length of the page.  This length
 * is known only when the page is complete.  So each page is written at a distance of
 * PQ_PAGE_HEADER_MAX bytes from the end of the previous page.  When the page is complete, its
 * header is written directly in front of it.  A few unused bytes remain in front of the header.
 */
#include "parquet/pqwrite.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/at.h"
#include "core/bytes.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/text.h"
#include "core/zstd.h"
#include "parquet/pqsnappy.h"
#include "parquet/thrift.h"

/* number of bytes that are compressed and written at a time */
#define PIECE (16 * PQSNAPPY_FRAGMENT)

/*
 * A column chunk: the offset of its page header, and its sizes before and after compression.  Both
 * sizes include the page header.
 */
struct chunk {
	uint64_t offset, raw, stored;
};

/* The page that is being written. */
struct page {
	uint64_t at; /* offset of the page, after its header */
	uint64_t raw, stored;
};

/* The row that has been begun and not ended. */
struct row {
	bool begun;
	bool alone;    /* the row has a row group of its own, which is being written */
	uint64_t owed; /* number of bytes of the content that the caller still has to pass */
	/* lengths of the gathered pages when this row was begun */
	size_t keys, contents;
	struct chunk key; /* the chunk of the key, if 'alone' is set */
};

struct pqwrite {
	int fd; /* the table's file, borrowed */
	enum pqwrite_codec codec;
	uint64_t end;  /* end of the complete row groups in the file */
	uint64_t rows; /* number of all rows, including those of the group that is being gathered */
	uint64_t key_bytes;
	struct buf groups; /* metadata of the complete row groups, in the form of the footer */
	uint32_t n_groups;
	/* The pages of the row group that is being gathered. */
	struct buf keys, contents;
	uint32_t gathered;
	struct row row;
	struct page page;
	struct buf piece;        /* bytes of the page that have not been compressed yet */
	struct buf packed;       /* compressed bytes that have not been written yet */
	struct zstd_out *stream; /* compressor for zstd; made when it is first needed */
};

struct pqwrite *pqwrite_open(int fd, enum pqwrite_codec codec, struct err *err)
{
	struct pqwrite *table;
	int r = at_pwrite_all(fd, PQ_MAGIC, PQ_MAGIC_LEN, 0);

	if (r < 0) {
		err_number(err, -r, "write table");
		return NULL;
	}
	table = mem_zalloc(sizeof(*table));
	table->fd = fd;
	table->codec = codec;
	table->end = PQ_MAGIC_LEN;
	/* the rest of the footer needs the other half of PQ_FOOTER_MAX */
	table->groups.max = PQ_FOOTER_MAX / 2;
	table->keys.max = table->contents.max = BUF_MAX;
	table->piece.max = table->packed.max = BUF_MAX;
	return table;
}

static int put_at(
	struct pqwrite *table, const void *bytes, size_t len, uint64_t at, struct err *err)
{
	int r = at_pwrite_all(table->fd, bytes, len, at);

	if (r < 0)
		return err_number(err, -r, "write table");
	return 0;
}

/* --- a page --- */

static int page_begin(struct pqwrite *table, uint64_t at, uint64_t raw, struct err *err)
{
	uint8_t begin[PQSNAPPY_BEGIN_MAX];

	assert(raw <= INT32_MAX);
	table->page = (struct page){ .at = at + PQ_PAGE_HEADER_MAX, .raw = raw };
	buf_clear(&table->piece);
	buf_clear(&table->packed);
	if (table->codec == PQWRITE_SNAPPY) {
		buf_add(&table->packed, begin, pqsnappy_begin(begin, (uint32_t)raw));
		return 0;
	}
	if (!table->stream)
		table->stream = zstd_out_new();
	return zstd_out_begin(table->stream, raw, err);
}

static int write_packed(struct pqwrite *table, struct err *err)
{
	struct page *page = &table->page;
	int r = put_at(table, table->packed.data, table->packed.len, page->at + page->stored, err);

	if (r < 0)
		return r;
	page->stored += table->packed.len;
	buf_clear(&table->packed);
	return 0;
}

static int pack(struct pqwrite *table, const void *bytes, size_t len, struct err *err)
{
	struct buf *packed = &table->packed;
	size_t room = pqsnappy_bound(len);
	int r;

	if (table->codec == PQWRITE_SNAPPY) {
		char *out = buf_reserve(packed, room);
		assert(out);
		packed->len += pqsnappy_piece(out, room, bytes, len);
	} else {
		r = zstd_out_add(table->stream, bytes, len, packed, err);
		if (r < 0)
			return r;
	}
	return packed->len < PIECE / 2 ? 0 : write_packed(table, err);
}

/*
 * Add bytes to the page.  Whole pieces are compressed without being copied first.  The rest is
 * copied, and is compressed in a later call.
 */
static int page_add(struct pqwrite *table, const void *bytes, size_t len, struct err *err)
{
	struct buf *piece = &table->piece;
	const char *in = bytes;
	int r = 0;

	while (r >= 0 && piece->len + len >= PIECE) {
		size_t part = PIECE - piece->len;

		if (piece->len) {
			buf_add(piece, in, part);
			r = pack(table, piece->data, PIECE, err);
			buf_clear(piece);
		} else {
			r = pack(table, in, part, err);
		}
		in += part;
		len -= part;
	}
	if (r >= 0 && len)
		buf_add(piece, in, len);
	return r < 0 ? r : 0;
}

static void put_page_header(struct buf *out, const struct page *page, uint32_t rows)
{
	struct thrift_out to = thrift_out_to(out);

	thrift_put_int(&to, PQ_PAGE_TYPE, THRIFT_I32, PQ_PAGE_TYPE_DATA);
	thrift_put_int(&to, PQ_PAGE_RAW_SIZE, THRIFT_I32, (int64_t)page->raw);
	thrift_put_int(&to, PQ_PAGE_SIZE, THRIFT_I32, (int64_t)page->stored);
	thrift_put_struct(&to, PQ_PAGE_DATA);
	thrift_put_int(&to, PQ_DATA_VALUES, THRIFT_I32, rows);
	thrift_put_int(&to, PQ_DATA_ENCODING, THRIFT_I32, PQ_ENCODING_PLAIN);
	thrift_put_int(&to, PQ_DATA_DEFINITIONS, THRIFT_I32, PQ_ENCODING_RLE);
	thrift_put_int(&to, PQ_DATA_REPETITIONS, THRIFT_I32, PQ_ENCODING_RLE);
	thrift_put_end(&to);
	thrift_put_end(&to);
}

static int page_end(struct pqwrite *table, uint32_t rows, struct chunk *chunk, struct err *err)
{
	owned(buf_release) struct buf header = BUF_INIT;
	struct page *page = &table->page;
	int r = 0;

	if (table->piece.len)
		r = pack(table, table->piece.data, table->piece.len, err);
	if (r >= 0 && table->codec == PQWRITE_ZSTD)
		r = zstd_out_end(table->stream, &table->packed, err);
	if (r >= 0)
		r = write_packed(table, err);
	if (r < 0)
		return r;
	if (page->stored > INT32_MAX)
		return err_set(err, ERR_LIMIT, "content is too large when it is compressed");
	put_page_header(&header, page, rows);
	assert(header.len <= PQ_PAGE_HEADER_MAX);
	r = put_at(table, header.data, header.len, page->at - header.len, err);
	if (r < 0)
		return r;
	*chunk = (struct chunk){
		.offset = page->at - header.len,
		.raw = page->raw + header.len,
		.stored = page->stored + header.len,
	};
	return 0;
}

static uint64_t chunk_end(const struct chunk *chunk)
{
	return chunk->offset + chunk->stored;
}

/*
 * Write a page that is in memory to the file, as a chunk.  The chunk begins at the offset 'at' or a
 * few bytes later.
 */
static int write_chunk(struct pqwrite *table, const struct buf *raw, uint64_t at, uint32_t rows,
	struct chunk *chunk, struct err *err)
{
	int r = page_begin(table, at, raw->len, err);

	if (r >= 0)
		r = page_add(table, raw->data, raw->len, err);
	return r < 0 ? r : page_end(table, rows, chunk, err);
}

/* --- metadata --- */

static const struct str column_names[PQ_COLUMNS] = {
	{ "key", 3 },
	{ "content", 7 },
};

/* Write a key as a bound of the statistics.  A key that is too long to be useful is left out. */
static void put_bound(struct thrift_out *to, int id, struct str key)
{
	if (key.len <= PQ_STATISTIC_MAX)
		thrift_put_bytes(to, id, key);
}

/* Write the smallest and the largest key of a page as bounds of its statistics. */
static void put_bounds(struct thrift_out *to, const struct buf *page)
{
	struct cursor in = cursor_of(page->data, page->len);
	struct str least = { 0 }, most = { 0 };

	while (cursor_left(&in)) {
		struct str key =
			cursor_bytes(&in, bytes_get32(cursor_bytes(&in, PQ_LENGTH_LEN).ptr));

		if (!least.ptr || str_cmp(key, least) < 0)
			least = key;
		if (!most.ptr || str_cmp(key, most) > 0)
			most = key;
	}
	put_bound(to, PQ_STATISTICS_MAX, most);
	put_bound(to, PQ_STATISTICS_MIN, least);
	if (most.len <= PQ_STATISTIC_MAX)
		thrift_put_bool(to, PQ_STATISTICS_MAX_EXACT, true);
	if (least.len <= PQ_STATISTIC_MAX)
		thrift_put_bool(to, PQ_STATISTICS_MIN_EXACT, true);
}

static void put_column(struct pqwrite *table, struct thrift_out *to, int column,
	const struct chunk *chunk, uint32_t rows, const struct buf *keys)
{
	thrift_put_struct(to, THRIFT_ITEM);
	thrift_put_int(to, PQ_CHUNK_OFFSET, THRIFT_I64, 0);
	thrift_put_struct(to, PQ_CHUNK_META);
	thrift_put_int(to, PQ_META_TYPE, THRIFT_I32, PQ_TYPE_BYTE_ARRAY);
	thrift_put_list(to, PQ_META_ENCODINGS, THRIFT_I32, 2);
	thrift_put_int(to, THRIFT_ITEM, THRIFT_I32, PQ_ENCODING_PLAIN);
	thrift_put_int(to, THRIFT_ITEM, THRIFT_I32, PQ_ENCODING_RLE);
	thrift_put_list(to, PQ_META_PATH, THRIFT_BYTES, 1);
	thrift_put_bytes(to, THRIFT_ITEM, column_names[column]);
	thrift_put_int(to, PQ_META_CODEC, THRIFT_I32,
		table->codec == PQWRITE_ZSTD ? PQ_CODEC_ZSTD : PQ_CODEC_SNAPPY);
	thrift_put_int(to, PQ_META_VALUES, THRIFT_I64, rows);
	thrift_put_int(to, PQ_META_RAW_SIZE, THRIFT_I64, (int64_t)chunk->raw);
	thrift_put_int(to, PQ_META_SIZE, THRIFT_I64, (int64_t)chunk->stored);
	thrift_put_int(to, PQ_META_PAGE, THRIFT_I64, (int64_t)chunk->offset);
	thrift_put_struct(to, PQ_META_STATISTICS);
	thrift_put_int(to, PQ_STATISTICS_NULLS, THRIFT_I64, 0);
	if (column == PQ_KEY)
		put_bounds(to, keys);
	thrift_put_end(to);
	thrift_put_end(to);
	thrift_put_end(to);
}

/*
 * Add the metadata of a row group whose chunks are in the file.  The parameter 'keys' is the
 * group's page of keys.
 */
static int add_group(struct pqwrite *table, const struct chunk chunks[PQ_COLUMNS], uint32_t rows,
	const struct buf *keys, struct err *err)
{
	struct thrift_out to = thrift_out_to(&table->groups);
	size_t before = table->groups.len;
	uint64_t raw = 0, stored = 0;

	thrift_put_list(&to, PQ_GROUP_COLUMNS, THRIFT_STRUCT, PQ_COLUMNS);
	for (int i = 0; i < PQ_COLUMNS; i++) {
		put_column(table, &to, i, &chunks[i], rows, keys);
		raw += chunks[i].raw;
		stored += chunks[i].stored;
	}
	thrift_put_int(&to, PQ_GROUP_RAW_SIZE, THRIFT_I64, (int64_t)raw);
	thrift_put_int(&to, PQ_GROUP_ROWS, THRIFT_I64, rows);
	thrift_put_int(&to, PQ_GROUP_OFFSET, THRIFT_I64, (int64_t)chunks[PQ_KEY].offset);
	thrift_put_int(&to, PQ_GROUP_SIZE, THRIFT_I64, (int64_t)stored);
	thrift_put_end(&to);
	if (table->groups.overflowed) {
		table->groups.overflowed = false;
		buf_truncate(&table->groups, before);
		return err_set(err, ERR_LIMIT, "too many row groups for one table");
	}
	table->n_groups++;
	table->end = chunk_end(&chunks[PQ_CONTENT]);
	return 0;
}

/* Write the gathered rows, if there are any, as a row group. */
static int flush_group(struct pqwrite *table, struct err *err)
{
	struct chunk chunks[PQ_COLUMNS];
	uint32_t rows = table->gathered;

	if (!rows)
		return 0;
	int r = write_chunk(table, &table->keys, table->end, rows, &chunks[PQ_KEY], err);
	if (r >= 0)
		r = write_chunk(table, &table->contents, chunk_end(&chunks[PQ_KEY]), rows,
			&chunks[PQ_CONTENT], err);
	if (r >= 0)
		r = add_group(table, chunks, rows, &table->keys, err);
	if (r < 0)
		return r;
	buf_clear(&table->keys);
	buf_clear(&table->contents);
	table->gathered = 0;
	return 0;
}

/* --- rows --- */

static void add_length(struct buf *out, uint64_t len)
{
	uint8_t bytes[PQ_LENGTH_LEN];

	bytes_put32(bytes, (uint32_t)len);
	buf_add(out, bytes, sizeof(bytes));
}

static void add_key(struct pqwrite *table, struct str key)
{
	add_length(&table->keys, key.len);
	buf_add(&table->keys, key.ptr, key.len);
}

static int check_row(const struct pqwrite *table, struct str key, uint64_t len, struct err *err)
{
	if (!text_is_utf8(key))
		return err_set(err, ERR_INVALID, "key of a table is not UTF-8");
	if (key.len > PQ_KEY_MAX)
		return err_set(err, ERR_LIMIT, "key of %zu bytes is too large", key.len);
	if (len > PQWRITE_CONTENT_MAX)
		return err_set(err, ERR_LIMIT, "content of %llu bytes is too large for a table",
			(unsigned long long)len);
	if (table->rows == PQ_ROWS_MAX || PQ_KEYS_MAX - table->key_bytes < PQ_LENGTH_LEN + key.len)
		return err_set(err, ERR_LIMIT, "too many rows for one table");
	return 0;
}

/*
 * Begin a row group for a single row: write the chunk of its key, and begin the page of its
 * content.
 */
static int begin_own_group(struct pqwrite *table, uint64_t len, struct err *err)
{
	uint8_t length[PQ_LENGTH_LEN];
	int r = write_chunk(table, &table->keys, table->end, 1, &table->row.key, err);

	if (r >= 0)
		r = page_begin(table, chunk_end(&table->row.key), PQ_LENGTH_LEN + len, err);
	if (r < 0)
		return r;
	bytes_put32(length, (uint32_t)len);
	return page_add(table, length, sizeof(length), err);
}

int pqwrite_begin(struct pqwrite *table, struct str key, uint64_t len, struct err *err)
{
	bool alone = len > PQWRITE_GROUP;
	uint64_t held = table->keys.len + table->contents.len;
	int r = check_row(table, key, len, err);

	assert(!table->row.begun);
	if (r >= 0 && (alone || held + 2 * PQ_LENGTH_LEN + key.len + len > PQWRITE_GROUP))
		r = flush_group(table, err);
	if (r < 0)
		return r;
	table->row = (struct row){
		.begun = true,
		.alone = alone,
		.owed = len,
		.keys = table->keys.len,
		.contents = table->contents.len,
	};
	add_key(table, key);
	if (!alone) {
		(void)buf_reserve(&table->contents, PQ_LENGTH_LEN + len);
		add_length(&table->contents, len);
		return 0;
	}
	r = begin_own_group(table, len, err);
	if (r < 0)
		(void)pqwrite_cancel(table, &(struct err){ 0 });
	return r;
}

int pqwrite_piece(struct pqwrite *table, const void *bytes, size_t len, struct err *err)
{
	struct row *row = &table->row;

	assert(row->begun);
	if (len > row->owed)
		return err_set(err, ERR_INVALID, "content is longer than it was said to be");
	row->owed -= len;
	if (row->alone)
		return page_add(table, bytes, len, err);
	buf_add(&table->contents, bytes, len);
	return 0;
}

static int end_alone(struct pqwrite *table, struct err *err)
{
	struct chunk chunks[PQ_COLUMNS] = { table->row.key };
	int r = page_end(table, 1, &chunks[PQ_CONTENT], err);

	if (r >= 0)
		r = add_group(table, chunks, 1, &table->keys, err);
	if (r < 0)
		return r;
	table->key_bytes += table->keys.len;
	buf_clear(&table->keys);
	return 0;
}

int pqwrite_end(struct pqwrite *table, struct err *err)
{
	struct row *row = &table->row;
	int r;

	assert(row->begun);
	if (row->owed)
		return err_set(err, ERR_INVALID, "content is shorter than it was said to be");
	if (row->alone) {
		r = end_alone(table, err);
		if (r < 0)
			return r;
	} else {
		table->key_bytes += table->keys.len - row->keys;
		table->gathered++;
	}
	table->rows++;
	row->begun = false;
	return 0;
}

int pqwrite_cancel(struct pqwrite *table, struct err *err)
{
	struct row *row = &table->row;

	if (!row->begun)
		return 0;
	row->begun = false;
	buf_truncate(&table->keys, row->keys);
	buf_truncate(&table->contents, row->contents);
	/* Free the space now, since a full disk may be the reason for cancelling the row. */
	if (row->alone && ftruncate(table->fd, (off_t)table->end) < 0)
		return err_errno(err, "cut table");
	return 0;
}

int pqwrite_set_mark(struct pqwrite *table, struct pqwrite_mark *mark, struct err *err)
{
	int r = flush_group(table, err);

	assert(!table->row.begun);
	*mark = (struct pqwrite_mark){
		.end = table->end,
		.rows = table->rows,
		.key_bytes = table->key_bytes,
		.groups = table->groups.len,
		.n_groups = table->n_groups,
	};
	return r;
}

int pqwrite_return(struct pqwrite *table, const struct pqwrite_mark *mark, struct err *err)
{
	table->row.begun = false;
	buf_clear(&table->keys);
	buf_clear(&table->contents);
	table->gathered = 0;
	table->end = mark->end;
	table->rows = mark->rows;
	table->key_bytes = mark->key_bytes;
	buf_truncate(&table->groups, mark->groups);
	table->n_groups = mark->n_groups;
	/* Free the space now, since a full disk may be the reason for returning to the mark. */
	if (ftruncate(table->fd, (off_t)table->end) < 0)
		return err_errno(err, "cut table");
	return 0;
}

int pqwrite_row(
	struct pqwrite *table, struct str key, const void *bytes, size_t len, struct err *err)
{
	int r = pqwrite_begin(table, key, len, err);

	if (r >= 0)
		r = pqwrite_piece(table, bytes, len, err);
	if (r >= 0)
		r = pqwrite_end(table, err);
	if (r < 0)
		(void)pqwrite_cancel(table, &(struct err){ 0 });
	return r;
}

uint64_t pqwrite_rows(const struct pqwrite *table)
{
	return table->rows;
}

/* --- footer --- */

static void put_schema(struct thrift_out *to)
{
	thrift_put_list(to, PQ_FILE_SCHEMA, THRIFT_STRUCT, 1 + PQ_COLUMNS);
	thrift_put_struct(to, THRIFT_ITEM);
	thrift_put_bytes(to, PQ_SCHEMA_NAME, STR("schema"));
	thrift_put_int(to, PQ_SCHEMA_CHILDREN, THRIFT_I32, PQ_COLUMNS);
	thrift_put_end(to);
	for (int i = 0; i < PQ_COLUMNS; i++) {
		thrift_put_struct(to, THRIFT_ITEM);
		thrift_put_int(to, PQ_SCHEMA_TYPE, THRIFT_I32, PQ_TYPE_BYTE_ARRAY);
		thrift_put_int(to, PQ_SCHEMA_REPETITION, THRIFT_I32, PQ_REPETITION_REQUIRED);
		thrift_put_bytes(to, PQ_SCHEMA_NAME, column_names[i]);
		if (i == PQ_KEY) {
			thrift_put_int(to, PQ_SCHEMA_CONVERTED, THRIFT_I32, PQ_CONVERTED_UTF8);
			thrift_put_struct(to, PQ_SCHEMA_LOGICAL);
			thrift_put_struct(to, PQ_LOGICAL_STRING);
			thrift_put_end(to);
			thrift_put_end(to);
		}
		thrift_put_end(to);
	}
}

/*
 * Write how the values of each column are ordered.  Readers ignore the bounds of the statistics if
 * the order is missing.
 */
static void put_orders(struct thrift_out *to)
{
	thrift_put_list(to, PQ_FILE_ORDERS, THRIFT_STRUCT, PQ_COLUMNS);
	for (int i = 0; i < PQ_COLUMNS; i++) {
		thrift_put_struct(to, THRIFT_ITEM);
		thrift_put_struct(to, PQ_ORDER_OF_TYPE);
		thrift_put_end(to);
		thrift_put_end(to);
	}
}

static void put_footer(struct pqwrite *table, struct buf *out)
{
	struct thrift_out to = thrift_out_to(out);

	thrift_put_int(&to, PQ_FILE_VERSION, THRIFT_I32, PQ_VERSION);
	put_schema(&to);
	thrift_put_int(&to, PQ_FILE_ROWS, THRIFT_I64, (int64_t)table->rows);
	thrift_put_list(&to, PQ_FILE_GROUPS, THRIFT_STRUCT, table->n_groups);
	buf_add(out, table->groups.data, table->groups.len);
	thrift_put_bytes(&to, PQ_FILE_CREATED_BY, STR("strata version " STRATA_VERSION));
	put_orders(&to);
	thrift_put_end(&to);
	add_length(out, out->len);
	buf_adds(out, PQ_MAGIC);
}

int pqwrite_finish(struct pqwrite *table, struct err *err)
{
	owned(buf_release) struct buf footer = BUF_INIT;

	assert(!table->row.begun);
	int r = flush_group(table, err);
	if (r < 0)
		return r;
	put_footer(table, &footer);
	r = put_at(table, footer.data, footer.len, table->end, err);
	if (r < 0)
		return r;
	if (ftruncate(table->fd, (off_t)(table->end + footer.len)) < 0)
		return err_errno(err, "cut table");
	return 0;
}

void pqwrite_close(struct pqwrite *table)
{
	if (!table)
		return;
	buf_release(&table->groups);
	buf_release(&table->keys);
	buf_release(&table->contents);
	buf_release(&table->piece);
	buf_release(&table->packed);
	zstd_out_free(table->stream);
	free(table);
}

void pqwrite_closep(struct pqwrite **table)
{
	pqwrite_close(*table);
}
