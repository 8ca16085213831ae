/* Tests of pqread: a damaged table causes an error and no other harm, and nothing is read twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "core/bytes.h"
#include "parquet/thrift.h"
#include "pqtable_fixture.h"

static int ignore(void *arg, const void *bytes, size_t len, struct err *err)
{
	return 0;
}

/* Read the whole table.  Returns the first error. */
static int read_all(int fd, struct err *err)
{
	owned(pqread_closep) struct pqread *table = pqread_open(fd, err);
	int r = table ? 0 : -(int)err->code;

	for (uint64_t row = 0; r >= 0 && row < pqread_rows(table); row++) {
		uint64_t found;

		assert_int_equal(pqread_find(table, pqread_key(table, row), &found), 1);
		assert_true(found <= row);
		r = pqread_content(table, row, ignore, NULL, err);
	}
	return r;
}

static int file_of(const void *bytes, size_t len)
{
	int fd = memory_file();

	assert_int_equal(write(fd, bytes, len), len);
	return fd;
}

static void load(int fd, struct buf *out)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	assert_non_null(buf_reserve(out, (size_t)st.st_size));
	assert_int_equal(pread(fd, out->data, (size_t)st.st_size, 0), st.st_size);
	out->len = (size_t)st.st_size;
}

/* Make a table of a few hundred bytes.  With zstd it has two row groups. */
static void small_table(enum pqwrite_codec codec, struct buf *out)
{
	owned_fd int fd = memory_file();
	owned_mem char *zeros = mem_zalloc(PQWRITE_GROUP);
	struct pqwrite *table = writer(fd, codec);
	struct err err = { 0 };

	assert_ok(pqwrite_row(table, STR("after:/a"), "hello, hello, hello, hello", 26, &err));
	assert_ok(pqwrite_row(table, STR("after:/b"), "", 0, &err));
	if (codec == PQWRITE_ZSTD) /* the content fills a row group, but is small when compressed */
		assert_ok(pqwrite_row(table, STR("zeros"), zeros, PQWRITE_GROUP, &err));
	assert_ok(pqwrite_row(table, STR("before:/a"), "bye", 3, &err));
	finish(table);
	load(fd, out);
}

static void every_flipped_bit_is_an_error_or_another_table(void **state)
{
	for (int codec = PQWRITE_SNAPPY; codec <= PQWRITE_ZSTD; codec++) {
		owned(buf_release) struct buf bytes = BUF_INIT;

		small_table((enum pqwrite_codec)codec, &bytes);
		for (size_t bit = 0; bit < bytes.len * 8; bit += codec == PQWRITE_ZSTD ? 37 : 1) {
			bytes.data[bit / 8] ^= (char)(1 << bit % 8);
			owned_fd int fd = file_of(bytes.data, bytes.len);
			bytes.data[bit / 8] ^= (char)(1 << bit % 8);
			struct err err = { 0 };
			int r = read_all(fd, &err);

			assert_true(r == 0 || r == -ERR_CORRUPT || r == -ERR_LIMIT);
		}
	}
}

static void a_table_that_is_cut_off_is_none(void **state)
{
	owned(buf_release) struct buf bytes = BUF_INIT;

	small_table(PQWRITE_SNAPPY, &bytes);
	for (size_t len = 0; len < bytes.len; len++) {
		owned_fd int front = file_of(bytes.data, len);
		owned_fd int back = file_of(bytes.data + bytes.len - len, len);
		struct err err = { 0 };

		assert_int_equal(read_all(front, &err), -ERR_CORRUPT);
		assert_int_equal(read_all(back, &err), -ERR_CORRUPT);
	}
}

/* --- tables made by hand --- */

/*
 * Differences to a correct table with one row.  A table is made with these values added, so zeros
 * make a correct table.
 */
struct said {
	const char *what;
	int result;
	int64_t columns, key_name, key_type, optional;
	int64_t rows, group_rows, values, page_values;
	int64_t codec, offset, size, raw_size, page_type, page_raw, page_size, encoding;
	int64_t footer, groups, content_before_key, length;
};

static const uint8_t page_key[] = { 5, 4 << 2, 1, 0, 0, 0, 'k' }; /* Snappy by hand */
static const uint8_t page_content[] = { 7, 6 << 2, 3, 0, 0, 0, 'a', 'b', 'c' };

static void put_element(struct thrift_out *to, struct str name, const struct said *said)
{
	thrift_put_struct(to, THRIFT_ITEM);
	thrift_put_int(to, PQ_SCHEMA_TYPE, THRIFT_I32, PQ_TYPE_BYTE_ARRAY + said->key_type);
	thrift_put_int(to, PQ_SCHEMA_REPETITION, THRIFT_I32, said->optional);
	thrift_put_bytes(to, PQ_SCHEMA_NAME, name);
	thrift_put_end(to);
}

static size_t put_page(struct buf *out, const uint8_t *page, size_t len, const struct said *said)
{
	struct thrift_out to = thrift_out_to(out);
	size_t before = out->len;

	thrift_put_int(&to, PQ_PAGE_TYPE, THRIFT_I32, PQ_PAGE_TYPE_DATA + said->page_type);
	thrift_put_int(&to, PQ_PAGE_RAW_SIZE, THRIFT_I32, page[0] + said->page_raw);
	thrift_put_int(&to, PQ_PAGE_SIZE, THRIFT_I32, (int64_t)len + said->page_size);
	thrift_put_struct(&to, PQ_PAGE_DATA);
	thrift_put_int(&to, PQ_DATA_VALUES, THRIFT_I32, 1 + said->page_values);
	thrift_put_int(&to, PQ_DATA_ENCODING, THRIFT_I32, PQ_ENCODING_PLAIN + said->encoding);
	thrift_put_end(&to);
	thrift_put_end(&to);
	size_t header = out->len - before;
	buf_add(out, page, len);
	out->data[before + header + 2] = (char)(out->data[before + header + 2] + said->length);
	return header;
}

static void put_chunk(struct thrift_out *to, size_t offset, size_t header, const uint8_t *page,
	size_t len, const struct said *said)
{
	thrift_put_struct(to, THRIFT_ITEM);
	thrift_put_struct(to, PQ_CHUNK_META);
	thrift_put_int(to, PQ_META_TYPE, THRIFT_I32, PQ_TYPE_BYTE_ARRAY);
	thrift_put_int(to, PQ_META_CODEC, THRIFT_I32, PQ_CODEC_SNAPPY + said->codec);
	thrift_put_int(to, PQ_META_VALUES, THRIFT_I64, 1 + said->values);
	thrift_put_int(
		to, PQ_META_RAW_SIZE, THRIFT_I64, (int64_t)(header + page[0]) + said->raw_size);
	thrift_put_int(to, PQ_META_SIZE, THRIFT_I64, (int64_t)(header + len) + said->size);
	thrift_put_int(to, PQ_META_PAGE, THRIFT_I64, (int64_t)offset + said->offset);
	thrift_put_end(to);
	thrift_put_end(to);
}

static void put_footer(
	struct buf *out, const size_t offsets[2], const size_t headers[2], const struct said *said)
{
	struct thrift_out to = thrift_out_to(out);
	size_t before = out->len;
	uint8_t length[4];

	thrift_put_int(&to, PQ_FILE_VERSION, THRIFT_I32, PQ_VERSION);
	thrift_put_list(&to, PQ_FILE_SCHEMA, THRIFT_STRUCT, 3);
	thrift_put_struct(&to, THRIFT_ITEM);
	thrift_put_bytes(&to, PQ_SCHEMA_NAME, STR("root"));
	thrift_put_int(&to, PQ_SCHEMA_CHILDREN, THRIFT_I32, 2 + said->columns);
	thrift_put_end(&to);
	put_element(&to, said->key_name ? STR("name") : STR("key"), said);
	put_element(&to, STR("content"), said);
	thrift_put_int(&to, PQ_FILE_ROWS, THRIFT_I64, 1 + said->groups + said->rows);
	thrift_put_list(&to, PQ_FILE_GROUPS, THRIFT_STRUCT, (uint32_t)(1 + said->groups));
	for (int64_t i = 0; i <= said->groups; i++) {
		int first = said->content_before_key ? 1 : 0;

		thrift_put_struct(&to, THRIFT_ITEM);
		thrift_put_list(&to, PQ_GROUP_COLUMNS, THRIFT_STRUCT, 2);
		put_chunk(&to, offsets[first], headers[first], first ? page_content : page_key,
			first ? sizeof(page_content) : sizeof(page_key), said);
		put_chunk(&to, offsets[!first], headers[!first], first ? page_key : page_content,
			first ? sizeof(page_key) : sizeof(page_content), said);
		thrift_put_int(&to, PQ_GROUP_ROWS, THRIFT_I64, 1 + said->group_rows);
		thrift_put_end(&to);
	}
	thrift_put_end(&to);
	bytes_put32(length, (uint32_t)((int64_t)(out->len - before) + said->footer));
	buf_add(out, length, sizeof(length));
	buf_adds(out, PQ_MAGIC);
}

static void put_table(struct buf *out, const struct said *said)
{
	size_t offsets[2], headers[2];

	buf_adds(out, PQ_MAGIC);
	offsets[0] = out->len;
	headers[0] = put_page(out, page_key, sizeof(page_key), said);
	offsets[1] = out->len;
	headers[1] = put_page(out, page_content, sizeof(page_content), said);
	put_footer(out, offsets, headers, said);
}

static void reads_a_table_made_by_hand(void **state)
{
	owned(buf_release) struct buf bytes = BUF_INIT;

	put_table(&bytes, &(struct said){ 0 });
	owned_fd int fd = file_of(bytes.data, bytes.len);
	owned(pqread_closep) struct pqread *table = reader(fd);
	assert_int_equal(pqread_rows(table), 1);
	assert_row(table, 0, STR("k"), STR("abc"));
}

static void believes_nothing(void **state)
{
	static const struct said cases[] = {
		{ .what = "a third column", .columns = 1, .result = -ERR_CORRUPT },
		{ .what = "other name", .key_name = 1, .result = -ERR_CORRUPT },
		{ .what = "other type", .key_type = -1, .result = -ERR_CORRUPT },
		{ .what = "optional", .optional = 1, .result = -ERR_CORRUPT },
		{ .what = "more rows", .rows = 1, .result = -ERR_CORRUPT },
		{ .what = "less than no rows", .rows = -2, .result = -ERR_CORRUPT },
		{ .what = "empty group", .group_rows = -1, .values = -1, .result = -ERR_CORRUPT },
		{ .what = "rows of group", .group_rows = 1, .rows = 1, .result = -ERR_CORRUPT },
		{ .what = "values", .values = 1, .result = -ERR_CORRUPT },
		{ .what = "values of page", .page_values = 1, .result = -ERR_CORRUPT },
		{ .what = "more values than there is room for",
			.rows = 1,
			.group_rows = 1,
			.values = 1,
			.page_values = 1,
			.result = -ERR_CORRUPT },
		{ .what = "very many rows",
			.rows = INT64_MAX - 1,
			.group_rows = INT64_MAX - 1,
			.values = INT64_MAX - 1,
			.result = -ERR_LIMIT },
		{ .what = "other codec", .codec = 1, .result = -ERR_CORRUPT },
		{ .what = "zstd that is not", .codec = 5, .result = -ERR_CORRUPT },
		{ .what = "offset in the magic", .offset = -1, .result = -ERR_CORRUPT },
		{ .what = "negative offset", .offset = -1000, .result = -ERR_CORRUPT },
		{ .what = "offset past the end",
			.offset = INT64_MAX - 1000,
			.result = -ERR_CORRUPT },
		{ .what = "size", .size = 1, .result = -ERR_CORRUPT },
		{ .what = "size past the end", .size = INT64_MAX - 1000, .result = -ERR_CORRUPT },
		{ .what = "no size", .size = -1000, .result = -ERR_CORRUPT },
		{ .what = "raw size", .raw_size = 1, .result = -ERR_CORRUPT },
		{ .what = "both raw sizes", .raw_size = 1, .page_raw = 1, .result = -ERR_CORRUPT },
		{ .what = "both sizes", .size = -1, .page_size = -1, .result = -ERR_CORRUPT },
		{ .what = "raw sizes too large for the page",
			.raw_size = 1 << 20,
			.page_raw = 1 << 20,
			.result = -ERR_CORRUPT },
		{ .what = "page type", .page_type = 2, .result = -ERR_CORRUPT },
		{ .what = "encoding", .encoding = 2, .result = -ERR_CORRUPT },
		{ .what = "length of a value", .length = 1, .result = -ERR_CORRUPT },
		{ .what = "shorter value", .length = -1, .result = -ERR_CORRUPT },
		{ .what = "footer longer", .footer = 1, .result = -ERR_CORRUPT },
		{ .what = "footer shorter", .footer = -1, .result = -ERR_CORRUPT },
		{ .what = "footer longer than the file",
			.footer = 1 << 20,
			.result = -ERR_CORRUPT },
		{ .what = "a group twice", .groups = 1, .result = -ERR_CORRUPT },
		{ .what = "columns swapped", .content_before_key = 1, .result = -ERR_CORRUPT },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		owned(buf_release) struct buf bytes = BUF_INIT;
		struct err err = { 0 };

		put_table(&bytes, &cases[i]);
		owned_fd int fd = file_of(bytes.data, bytes.len);
		int r = read_all(fd, &err);
		if (r != cases[i].result)
			fail_msg("%s: %d, not %d", cases[i].what, r, cases[i].result);
	}
}

/* --- reading --- */

static uint64_t bytes_read(void)
{
	char text[512] = "";
	owned_fd int fd = open("/proc/self/io", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0 || strncmp(text, "rchar: ", 7) != 0)
		return 0;
	return strtoull(text + 7, NULL, 10);
}

static void rows_in_order_read_each_group_once(void **state)
{
	owned_mem char *noise = mem_alloc(1000);
	owned_fd int fd = memory_file();
	struct pqwrite *out = writer(fd, PQWRITE_SNAPPY);
	struct err err = { 0 };
	struct stat st;

	fill(noise, 0, 1000, true);
	for (int i = 0; i < 20000; i++)
		assert_ok(pqwrite_row(out, STR("key"), noise, 1000, &err));
	finish(out);
	assert_int_equal(fstat(fd, &st), 0);
	uint64_t before = bytes_read();
	assert_int_equal(read_all(fd, &err), 0);
	assert_true(bytes_read() - before <= (uint64_t)st.st_size + 100000);
}

static int stop(void *arg, const void *bytes, size_t len, struct err *err)
{
	(*(int *)arg)++;
	return err_set(err, ERR_BUSY, "enough");
}

static void the_sink_can_stop_it(void **state)
{
	owned_mem char *zeros = mem_zalloc(20 * MIB);

	for (int codec = PQWRITE_SNAPPY; codec <= PQWRITE_ZSTD; codec++) {
		owned_fd int fd = memory_file();
		struct pqwrite *out = writer(fd, (enum pqwrite_codec)codec);
		struct err err = { 0 };
		int calls = 0;

		assert_ok(pqwrite_row(out, STR("small"), zeros, 1, &err));
		assert_ok(pqwrite_row(out, STR("empty"), zeros, 0, &err));
		assert_ok(pqwrite_row(out, STR("large"), zeros, 20 * MIB, &err));
		finish(out);
		owned(pqread_closep) struct pqread *table = reader(fd);
		assert_int_equal(pqread_content(table, 0, stop, &calls, &err), -ERR_BUSY);
		assert_int_equal(pqread_content(table, 1, stop, &calls, &err), 0);
		assert_int_equal(pqread_content(table, 2, stop, &calls, &err), -ERR_BUSY);
		assert_int_equal(calls, 2);
	}
}

static void a_large_content_is_unpacked_where_it_is_told(void **state)
{
	const char *tmp = getenv("TMPDIR");
	owned_fd int dir = open(tmp ? tmp : "/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	owned_mem char *noise = mem_alloc(20 * MIB);
	owned_fd int fd = memory_file();
	struct pqwrite *out = writer(fd, PQWRITE_SNAPPY);
	struct err err = { 0 };

	fill(noise, 0, 20 * MIB, true);
	assert_ok(pqwrite_row(out, STR("large"), noise, 20 * MIB, &err));
	finish(out);
	owned(pqread_closep) struct pqread *table = reader(fd);
	pqread_spool(table, dir);
	assert_row(table, 0, STR("large"), (struct str){ noise, 20 * MIB });
}

/*
 * Returns the start of the page of the second column, which is a zstd frame, or the length of a
 * Snappy block.
 */
static char *large_page(struct buf *bytes, enum pqwrite_codec codec)
{
	static const char frame[] = "\x28\xb5\x2f\xfd", block[] = "\x84\x80\x80\x0a";
	char *at = memmem(bytes->data, bytes->len, codec == PQWRITE_ZSTD ? frame : block, 4);

	assert_non_null(at);
	if (codec == PQWRITE_ZSTD)
		at = memmem(at + 4, bytes->len - (size_t)(at + 4 - bytes->data), frame, 4);
	assert_non_null(at);
	return at;
}

static void damage_in_a_large_content_is_an_error(void **state)
{
	static const int places[] = { 0, 1, 4 };
	owned_mem char *zeros = mem_zalloc(20 * MIB);

	for (int codec = PQWRITE_SNAPPY; codec <= PQWRITE_ZSTD; codec++) {
		owned_fd int fd = memory_file();
		struct pqwrite *out = writer(fd, (enum pqwrite_codec)codec);
		owned(buf_release) struct buf bytes = BUF_INIT;
		struct err err = { 0 };

		assert_ok(pqwrite_row(out, STR("large"), zeros, 20 * MIB, &err));
		finish(out);
		load(fd, &bytes);
		char *page = large_page(&bytes, (enum pqwrite_codec)codec);
		for (size_t i = 0; i < COUNT(places); i++) {
			page[places[i]] ^= 0x55;
			owned_fd int bad = file_of(bytes.data, bytes.len);
			assert_int_equal(read_all(bad, &err), -ERR_CORRUPT);
			page[places[i]] ^= 0x55;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_flipped_bit_is_an_error_or_another_table),
		cmocka_unit_test(a_table_that_is_cut_off_is_none),
		cmocka_unit_test(reads_a_table_made_by_hand),
		cmocka_unit_test(believes_nothing),
		cmocka_unit_test(rows_in_order_read_each_group_once),
		cmocka_unit_test(the_sink_can_stop_it),
		cmocka_unit_test(a_large_content_is_unpacked_where_it_is_told),
		cmocka_unit_test(damage_in_a_large_content_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
