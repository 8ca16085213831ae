/*
 * Reads the footer and the pages of a table.
 *
 * A table may come from anyone, so the footer is checked.  The schema must be that of pqwrite.  Row
 * groups must follow each other in the file without overlapping.  The page header of each chunk
 * must agree with the footer.  So a small file cannot claim to have many or huge groups.
 *
 * A group expands to at most PQ_PAGE_MAX bytes, unless it has a single row.  The content of such a
 * row may be larger, and is never in the heap as a whole.
 */
#include "parquet/pqread.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "core/arena.h"
#include "core/at.h"
#include "core/buf.h"
#include "core/bytes.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/zstd.h"
#include "parquet/pqformat.h"
#include "parquet/pqsnappy.h"
#include "parquet/thrift.h"

#define PIECE ((size_t)256 << 10) /* number of bytes that are read and passed on at a time */

/* A column chunk, as the footer describes it. */
struct chunk {
	uint64_t offset;
	/* 'raw' and 'stored' are the sizes before and after compression, with the page header */
	uint64_t raw;
	uint64_t stored, values;
	int64_t codec;
};

struct group {
	struct chunk chunks[PQ_COLUMNS];
	uint64_t rows;
	uint64_t first; /* number of the group's first row */
};

/* A page, as its header describes it. */
struct page {
	uint64_t at; /* offset of the compressed bytes */
	size_t raw, stored;
	int64_t codec;
};

struct pqread {
	int fd;         /* the table's file, borrowed */
	int spool;      /* directory for temporary files, borrowed; -1: none */
	uint64_t limit; /* offset of the footer */
	struct group *groups;
	size_t n_groups, groups_cap;
	uint64_t rows;
	struct arena pages; /* memory for the pages of keys */
	uint64_t key_bytes; /* number of bytes in the pages of keys */
	struct str *keys;
	uint32_t *sorted; /* row numbers, sorted by key and then by number */
	/* The row group whose contents are in memory. */
	const struct group *loaded;
	struct buf page;
	struct str *contents;
};

static int damaged(struct err *err, const char *what)
{
	return err_set(err, ERR_CORRUPT, "table: %s", what);
}

static int read_at(struct pqread *table, void *out, size_t len, uint64_t at, struct err *err)
{
	ssize_t n = at_pread_full(table->fd, out, len, at);

	if (n < 0)
		return err_number(err, (int)-n, "read table");
	return (size_t)n == len ? 0 : damaged(err, "cut off");
}

/* --- footer --- */

/*
 * Begin to read a list of structs.  Returns the number of structs, or 0 if the field has another
 * type.
 */
static size_t get_structs(
	struct thrift_in *in, const struct thrift_field *field, struct thrift_field *item)
{
	size_t count = thrift_get_list(in, field, item);

	if (count && item->type != THRIFT_STRUCT)
		in->in.bad = true;
	return in->in.bad ? 0 : count;
}

struct element {
	int64_t type, repetition, children;
	struct str name;
};

static struct element get_element(struct thrift_in *in, const struct thrift_field *item)
{
	struct element element = { .type = -1, .repetition = -1, .children = -1 };
	struct thrift_field field;

	thrift_get_struct(in, item);
	while (thrift_next(in, &field))
		switch (field.id) {
		case PQ_SCHEMA_TYPE:
			element.type = thrift_get_int(in, &field);
			break;
		case PQ_SCHEMA_REPETITION:
			element.repetition = thrift_get_int(in, &field);
			break;
		case PQ_SCHEMA_NAME:
			element.name = thrift_get_bytes(in, &field);
			break;
		case PQ_SCHEMA_CHILDREN:
			element.children = thrift_get_int(in, &field);
			break;
		default:
			thrift_skip(in, &field);
		}
	return element;
}

static bool is_column(const struct element *element, struct str name)
{
	return element->type == PQ_TYPE_BYTE_ARRAY &&
	       element->repetition == PQ_REPETITION_REQUIRED && element->children <= 0 &&
	       str_eq(element->name, name);
}

static int get_schema(struct thrift_in *in, const struct thrift_field *field, struct err *err)
{
	struct thrift_field item;
	struct element root, key, content;

	if (get_structs(in, field, &item) != 1 + PQ_COLUMNS)
		return damaged(err, "not two columns");
	root = get_element(in, &item);
	key = get_element(in, &item);
	content = get_element(in, &item);
	if (in->in.bad || root.children != PQ_COLUMNS || !is_column(&key, STR("key")) ||
		!is_column(&content, STR("content")))
		return damaged(err, "not the columns 'key' and 'content'");
	return 0;
}

static uint64_t get_size(struct thrift_in *in, const struct thrift_field *field)
{
	int64_t value = thrift_get_int(in, field);

	if (value < 0)
		in->in.bad = true;
	return (uint64_t)value;
}

static void get_meta(
	struct thrift_in *in, const struct thrift_field *struct_field, struct chunk *chunk)
{
	struct thrift_field field;

	thrift_get_struct(in, struct_field);
	while (thrift_next(in, &field))
		switch (field.id) {
		case PQ_META_TYPE:
			if (thrift_get_int(in, &field) != PQ_TYPE_BYTE_ARRAY)
				in->in.bad = true;
			break;
		case PQ_META_CODEC:
			chunk->codec = thrift_get_int(in, &field);
			break;
		case PQ_META_VALUES:
			chunk->values = get_size(in, &field);
			break;
		case PQ_META_RAW_SIZE:
			chunk->raw = get_size(in, &field);
			break;
		case PQ_META_SIZE:
			chunk->stored = get_size(in, &field);
			break;
		case PQ_META_PAGE:
			chunk->offset = get_size(in, &field);
			break;
		default:
			thrift_skip(in, &field);
		}
}

static void get_chunk(struct thrift_in *in, const struct thrift_field *item, struct chunk *chunk)
{
	struct thrift_field field;

	thrift_get_struct(in, item);
	while (thrift_next(in, &field))
		if (field.id == PQ_CHUNK_META)
			get_meta(in, &field, chunk);
		else
			thrift_skip(in, &field);
}

static void get_chunks(struct thrift_in *in, const struct thrift_field *field, struct group *group)
{
	struct thrift_field item;

	if (get_structs(in, field, &item) != PQ_COLUMNS)
		in->in.bad = true;
	for (int i = 0; i < PQ_COLUMNS && !in->in.bad; i++)
		get_chunk(in, &item, &group->chunks[i]);
}

static int check_chunk(const struct pqread *table, const struct group *group,
	const struct chunk *chunk, uint64_t from, struct err *err)
{
	if (chunk->codec != PQ_CODEC_SNAPPY && chunk->codec != PQ_CODEC_ZSTD)
		return damaged(err, "compressed by something else than Snappy and zstd");
	if (chunk->values != group->rows)
		return damaged(err, "columns of different lengths");
	if (chunk->offset < from || chunk->offset > table->limit ||
		chunk->stored > table->limit - chunk->offset)
		return damaged(err, "column chunk outside its place");
	return 0;
}

/* Add a row group.  It must come after the previous group in the file. */
static int add_group(struct pqread *table, struct group *group, struct err *err)
{
	const struct group *last = table->n_groups ? &table->groups[table->n_groups - 1] : NULL;
	const struct chunk *before = last ? &last->chunks[PQ_CONTENT] : NULL;
	uint64_t from = before ? before->offset + before->stored : PQ_MAGIC_LEN;

	if (!group->rows)
		return damaged(err, "row group without rows");
	if (group->rows > PQ_ROWS_MAX - table->rows)
		return err_set(err, ERR_LIMIT, "table: more than %llu rows",
			(unsigned long long)PQ_ROWS_MAX);
	for (int i = 0; i < PQ_COLUMNS; i++) {
		const struct chunk *chunk = &group->chunks[i];
		int r = check_chunk(table, group, chunk, from, err);

		if (r < 0)
			return r;
		from = chunk->offset + chunk->stored;
	}
	group->first = table->rows;
	table->rows += group->rows;
	mem_grow(&table->groups, &table->groups_cap, table->n_groups);
	table->groups[table->n_groups++] = *group;
	return 0;
}

static int get_groups(struct pqread *table, struct thrift_in *in, const struct thrift_field *list,
	struct err *err)
{
	struct thrift_field item, field;

	for (size_t count = get_structs(in, list, &item); count && !in->in.bad; count--) {
		struct group group = { 0 };
		int r;

		thrift_get_struct(in, &item);
		while (thrift_next(in, &field))
			if (field.id == PQ_GROUP_COLUMNS)
				get_chunks(in, &field, &group);
			else if (field.id == PQ_GROUP_ROWS)
				group.rows = get_size(in, &field);
			else
				thrift_skip(in, &field);
		r = in->in.bad ? 0 : add_group(table, &group, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int decode_footer(struct pqread *table, const void *bytes, size_t len, struct err *err)
{
	struct thrift_in in = thrift_in_of(bytes, len);
	struct thrift_field field;
	bool has_schema = false;
	int64_t rows = -1;
	int r = 0;

	while (r >= 0 && thrift_next(&in, &field))
		switch (field.id) {
		case PQ_FILE_SCHEMA:
			r = get_schema(&in, &field, err);
			has_schema = true;
			break;
		case PQ_FILE_ROWS:
			rows = thrift_get_int(&in, &field);
			break;
		case PQ_FILE_GROUPS:
			r = get_groups(table, &in, &field, err);
			break;
		default:
			thrift_skip(&in, &field);
		}
	if (r < 0)
		return r;
	if (in.in.bad || cursor_left(&in.in))
		return damaged(err, "footer does not decode");
	if (!has_schema || rows < 0 || (uint64_t)rows != table->rows)
		return damaged(err, "footer does not add up");
	return 0;
}

static int read_footer(struct pqread *table, struct err *err)
{
	owned_mem char *footer = NULL;
	char head[PQ_MAGIC_LEN], tail[PQ_TAIL_LEN];
	struct statx stx;
	int r = at_fd_stat(table->fd, &stx);

	if (r < 0)
		return err_number(err, -r, "read table");
	if (stx.stx_size < PQ_MAGIC_LEN + PQ_TAIL_LEN)
		return damaged(err, "not a Parquet file");
	r = read_at(table, head, sizeof(head), 0, err);
	if (r >= 0)
		r = read_at(table, tail, sizeof(tail), stx.stx_size - PQ_TAIL_LEN, err);
	if (r < 0)
		return r;
	if (memcmp(head, PQ_MAGIC, PQ_MAGIC_LEN) || memcmp(tail + 4, PQ_MAGIC, PQ_MAGIC_LEN))
		return damaged(err, "not a Parquet file");
	size_t len = bytes_get32(tail);
	if (len > stx.stx_size - PQ_MAGIC_LEN - PQ_TAIL_LEN)
		return damaged(err, "footer longer than the file");
	if (len > PQ_FOOTER_MAX)
		return err_set(err, ERR_LIMIT, "table: footer of %zu bytes", len);
	table->limit = stx.stx_size - PQ_TAIL_LEN - len;
	footer = mem_alloc(len + 1);
	r = read_at(table, footer, len, table->limit, err);
	return r < 0 ? r : decode_footer(table, footer, len, err);
}

/* --- pages --- */

static uint64_t get_data_header(struct thrift_in *in, const struct thrift_field *struct_field)
{
	struct thrift_field field;
	uint64_t values = 0;

	thrift_get_struct(in, struct_field);
	while (thrift_next(in, &field))
		if (field.id == PQ_DATA_VALUES)
			values = get_size(in, &field);
		else if (field.id != PQ_DATA_ENCODING)
			thrift_skip(in, &field);
		else if (thrift_get_int(in, &field) != PQ_ENCODING_PLAIN)
			in->in.bad = true;
	return values;
}

static int get_page(
	struct thrift_in *in, const struct chunk *chunk, struct page *page, struct err *err)
{
	uint64_t raw = 0, stored = 0, values = 0;
	const uint8_t *start = in->in.p;
	struct thrift_field field;
	int64_t type = -1;

	while (thrift_next(in, &field))
		switch (field.id) {
		case PQ_PAGE_TYPE:
			type = thrift_get_int(in, &field);
			break;
		case PQ_PAGE_RAW_SIZE:
			raw = get_size(in, &field);
			break;
		case PQ_PAGE_SIZE:
			stored = get_size(in, &field);
			break;
		case PQ_PAGE_DATA:
			values = get_data_header(in, &field);
			break;
		default:
			thrift_skip(in, &field);
		}
	size_t header = (size_t)(in->in.p - start);
	if (in->in.bad || type != PQ_PAGE_TYPE_DATA)
		return damaged(err, "page header does not decode");
	if (values != chunk->values || raw > INT32_MAX || stored > INT32_MAX ||
		raw + header != chunk->raw || stored + header != chunk->stored)
		return damaged(err, "page header disagrees with the footer");
	if (raw < PQ_LENGTH_LEN * values)
		return damaged(err, "page too short for its values");
	*page = (struct page){ chunk->offset + header, raw, stored, chunk->codec };
	return 0;
}

/*
 * Read a page header, and check that its sizes are plausible.  A compressed page can be only a
 * little longer than its raw bytes.  With Snappy, it can be shorter by no more than the factor
 * SNAP_RATIO_MAX.
 */
static int read_page_header(
	struct pqread *table, const struct chunk *chunk, struct page *page, struct err *err)
{
	char bytes[PQ_PAGE_HEADER_MAX];
	size_t len = chunk->stored < sizeof(bytes) ? chunk->stored : sizeof(bytes);
	bool snappy = chunk->codec == PQ_CODEC_SNAPPY;
	int r = read_at(table, bytes, len, chunk->offset, err);

	if (r < 0)
		return r;
	struct thrift_in in = thrift_in_of(bytes, len);
	r = get_page(&in, chunk, page, err);
	if (r < 0)
		return r;
	if (page->stored > (snappy ? pqsnappy_bound(page->raw) : zstd_bound(page->raw)) ||
		(snappy && page->raw / SNAP_RATIO_MAX > page->stored))
		return damaged(err, "impossible size of a page");
	return 0;
}

static int expand(
	void *out, const struct page *page, const void *bytes, size_t stored, struct err *err)
{
	int r = page->codec == PQ_CODEC_SNAPPY ? pqsnappy_expand(out, page->raw, bytes, stored, err)
					       : zstd_expand(out, page->raw, bytes, stored, err);

	return r < 0 ? err_context(err, "table") : r;
}

/* Read a page of at most PQ_PAGE_MAX bytes into 'out', which has room for the whole page. */
static int read_page(struct pqread *table, const struct page *page, void *out, struct err *err)
{
	owned_mem void *bytes = mem_alloc(page->stored + 1);
	int r = read_at(table, bytes, page->stored, page->at, err);

	return r < 0 ? r : expand(out, page, bytes, page->stored, err);
}

/* Split a page into its values, which must fill the page exactly. */
static int split_page(struct str page, struct str *values, uint64_t n, struct err *err)
{
	struct cursor in = cursor_of(page.ptr, page.len);

	for (uint64_t i = 0; i < n; i++) {
		struct str length = cursor_bytes(&in, PQ_LENGTH_LEN);

		if (!in.bad)
			values[i] = cursor_bytes(&in, bytes_get32(length.ptr));
	}
	if (in.bad || cursor_left(&in))
		return damaged(err, "values do not fill their page");
	return 0;
}

/* --- keys --- */

static int read_keys(struct pqread *table, const struct group *group, struct err *err)
{
	struct page page;
	int r = read_page_header(table, &group->chunks[PQ_KEY], &page, err);

	if (r < 0)
		return r;
	if (page.raw > PQ_PAGE_MAX || page.raw > PQ_KEYS_MAX - table->key_bytes)
		return err_set(err, ERR_LIMIT, "table: too many keys");
	table->key_bytes += page.raw;
	char *bytes = arena_alloc(&table->pages, page.raw + 1);
	r = read_page(table, &page, bytes, err);
	if (r < 0)
		return r;
	table->keys = mem_realloc(table->keys, (group->first + group->rows) * sizeof(*table->keys));
	return split_page(
		(struct str){ bytes, page.raw }, table->keys + group->first, group->rows, err);
}

static int compare_keys(const void *a, const void *b, void *arg)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct str *keys = arg;
	int order = str_cmp(keys[x], keys[y]);

	return order ? order : (x > y) - (x < y);
}

static void sort_keys(struct pqread *table)
{
	bool in_order = true;

	table->sorted = mem_alloc((table->rows + 1) * sizeof(*table->sorted));
	for (uint32_t i = 0; i < table->rows; i++) {
		table->sorted[i] = i;
		in_order = in_order && (!i || str_cmp(table->keys[i - 1], table->keys[i]) <= 0);
	}
	if (!in_order)
		qsort_r(table->sorted, table->rows, sizeof(*table->sorted), compare_keys,
			table->keys);
}

static int load_keys(struct pqread *table, struct err *err)
{
	int r = read_footer(table, err);

	for (size_t i = 0; r >= 0 && i < table->n_groups; i++)
		r = read_keys(table, &table->groups[i], err);
	if (r < 0)
		return r;
	sort_keys(table);
	return 0;
}

struct pqread *pqread_open(int fd, struct err *err)
{
	struct pqread *table = mem_zalloc(sizeof(*table));

	table->fd = fd;
	table->spool = -1;
	table->page.max = BUF_MAX;
	if (load_keys(table, err) >= 0)
		return table;
	pqread_close(table);
	return NULL;
}

void pqread_spool(struct pqread *table, int dirfd)
{
	table->spool = dirfd;
}

uint64_t pqread_rows(const struct pqread *table)
{
	return table->rows;
}

struct str pqread_key(const struct pqread *table, uint64_t row)
{
	assert(row < table->rows);
	return table->keys[row];
}

int pqread_find(const struct pqread *table, struct str key, uint64_t *row)
{
	size_t low = 0, high = table->rows;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (str_cmp(table->keys[table->sorted[middle]], key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == table->rows || !str_eq(table->keys[table->sorted[low]], key))
		return 0;
	*row = table->sorted[low];
	return 1;
}

/* --- contents --- */

/*
 * The only value of a page, which is passed to the caller's sink.  The length in front of the value
 * is not passed.
 */
struct value {
	int (*sink)(void *arg, const void *bytes, size_t len, struct err *err);
	void *arg;
	uint8_t length[PQ_LENGTH_LEN];
	uint64_t seen; /* number of bytes of the page that were passed so far */
	uint64_t raw;  /* number of bytes of the whole page */
};

static int pass_to_sink(struct value *value, const char *bytes, size_t len, struct err *err)
{
	for (size_t part; len; bytes += part, len -= part) {
		part = len < PIECE ? len : PIECE;
		int r = value->sink(value->arg, bytes, part, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int take_piece(void *arg, const void *bytes, size_t len, struct err *err)
{
	struct value *value = arg;
	const char *in = bytes;

	if (len > value->raw - value->seen)
		return damaged(err, "content longer than its page");
	for (; len && value->seen < PQ_LENGTH_LEN; value->seen++, len--)
		value->length[value->seen] = (uint8_t)*in++;
	if (value->seen < PQ_LENGTH_LEN)
		return 0;
	if (bytes_get32(value->length) != value->raw - PQ_LENGTH_LEN)
		return damaged(err, "values do not fill their page");
	value->seen += len;
	return pass_to_sink(value, in, len, err);
}

static int stream_zstd(
	struct pqread *table, const struct page *page, struct value *value, struct err *err)
{
	owned(zstd_in_freep) struct zstd_in *stream = zstd_in_new();
	owned_mem char *bytes = mem_alloc(PIECE);
	int r = 0;

	for (size_t done = 0, part; done < page->stored; done += part) {
		part = page->stored - done < PIECE ? page->stored - done : PIECE;
		r = read_at(table, bytes, part, page->at + done, err);
		if (r >= 0)
			r = zstd_in_add(stream, bytes, part, take_piece, value, err);
		if (r < 0)
			return r;
	}
	return r == 1 && value->seen == value->raw ? 0 : damaged(err, "content is cut off");
}

/*
 * Memory that is mapped from a file without a name.  It is used for contents that must not be in
 * the heap.
 */
struct room {
	char *at;
	size_t len;
};

static void room_release(struct room *room)
{
	if (room->at)
		(void)munmap(room->at, room->len);
}

static int room_open(struct pqread *table, struct room *room, size_t len, struct err *err)
{
	owned_fd int fd = at_tmpfile(table->spool, err);
	void *at;

	if (fd < 0)
		return fd;
	/*
	 * Reserve the disk space now, so that a full disk is an error.  Otherwise a write to the
	 * memory would kill the process by a signal when the disk is full.
	 */
	errno = posix_fallocate(fd, 0, (off_t)len);
	if (errno)
		return err_errno(err, "make room for a content of a table");
	at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return err_errno(err, "map a temporary file");
	*room = (struct room){ at, len };
	return 0;
}

/*
 * Expand a Snappy page in a temporary file, since Snappy cannot expand a page in pieces.  The
 * compressed bytes are copied into that file, too.  The table itself is not mapped, since another
 * process may truncate it.
 */
static int spool_snappy(
	struct pqread *table, const struct page *page, struct value *value, struct err *err)
{
	owned(room_release) struct room room = { 0 };
	int r = room_open(table, &room, page->raw + page->stored, err);

	if (r < 0)
		return r;
	for (size_t done = 0, part; done < page->stored; done += part) {
		part = page->stored - done < PIECE ? page->stored - done : PIECE;
		r = read_at(table, room.at + page->raw + done, part, page->at + done, err);
		if (r < 0)
			return r;
	}
	r = expand(room.at, page, room.at + page->raw, page->stored, err);
	return r < 0 ? r : take_piece(value, room.at, page->raw, err);
}

static int load_contents(
	struct pqread *table, const struct group *group, const struct page *page, struct err *err)
{
	table->loaded = NULL;
	buf_clear(&table->page);
	char *room = buf_reserve(&table->page, page->raw);
	assert(room);
	int r = read_page(table, page, room, err);
	if (r < 0)
		return r;
	table->contents = mem_realloc(table->contents, group->rows * sizeof(*table->contents));
	r = split_page((struct str){ room, page->raw }, table->contents, group->rows, err);
	if (r < 0)
		return r;
	table->loaded = group;
	return 0;
}

static const struct group *group_of(const struct pqread *table, uint64_t row)
{
	size_t low = 0, high = table->n_groups;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (table->groups[middle].first <= row)
			low = middle;
		else
			high = middle;
	}
	return &table->groups[low];
}

int pqread_content(struct pqread *table, uint64_t row,
	int (*sink)(void *arg, const void *bytes, size_t len, struct err *err), void *arg,
	struct err *err)
{
	struct value value = { .sink = sink, .arg = arg };
	struct page page;
	int r;

	assert(row < table->rows);
	const struct group *group = group_of(table, row);
	if (table->loaded != group) {
		r = read_page_header(table, &group->chunks[PQ_CONTENT], &page, err);
		if (r < 0)
			return r;
		if (page.raw > PQ_PAGE_MAX && group->rows > 1)
			return err_set(err, ERR_LIMIT, "table: row group of %zu bytes", page.raw);
		value.raw = page.raw;
		if (page.raw > PQ_PAGE_MAX)
			return page.codec == PQ_CODEC_SNAPPY
				       ? spool_snappy(table, &page, &value, err)
				       : stream_zstd(table, &page, &value, err);
		r = load_contents(table, group, &page, err);
		if (r < 0)
			return r;
	}
	struct str content = table->contents[row - group->first];
	return pass_to_sink(&value, content.ptr, content.len, err);
}

void pqread_close(struct pqread *table)
{
	if (!table)
		return;
	arena_release(&table->pages);
	buf_release(&table->page);
	free(table->groups);
	free(table->keys);
	free(table->sorted);
	free(table->contents);
	free(table);
}

void pqread_closep(struct pqread **table)
{
	pqread_close(*table);
}
