/* Tests of pqwrite: every table that is written can be read, with all kinds of rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "pqtable_fixture.h"

static const enum pqwrite_codec codecs[] = { PQWRITE_SNAPPY, PQWRITE_ZSTD };

static uint64_t size_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return (uint64_t)st.st_size;
}

static void a_table_without_rows_is_a_table(void **state)
{
	for (size_t i = 0; i < COUNT(codecs); i++) {
		owned_fd int fd = memory_file();
		uint64_t row;

		finish(writer(fd, codecs[i]));
		owned(pqread_closep) struct pqread *table = reader(fd);
		assert_int_equal(pqread_rows(table), 0);
		assert_int_equal(pqread_find(table, STR(""), &row), 0);
	}
}

static void small_rows_come_back(void **state)
{
	static const struct {
		struct str key, content;
	} rows[] = {
		{ { "", 0 }, { "", 0 } },
		{ { "after:/a", 8 }, { "one", 3 } },
		{ { "twice", 5 }, { "", 0 } },
		{ { "twice", 5 }, { "\0\xff", 2 } },
		{ { "\xc3\xa9", 2 }, { "x", 1 } },
		{ { "before:/a", 9 }, { "two", 3 } },
	};

	for (size_t c = 0; c < COUNT(codecs); c++) {
		owned_fd int fd = memory_file();
		struct pqwrite *out = writer(fd, codecs[c]);
		struct err err = { 0 };
		uint64_t row = 99;

		for (size_t i = 0; i < COUNT(rows); i++)
			assert_ok(pqwrite_row(
				out, rows[i].key, rows[i].content.ptr, rows[i].content.len, &err));
		assert_int_equal(pqwrite_rows(out), COUNT(rows));
		finish(out);
		owned(pqread_closep) struct pqread *table = reader(fd);
		assert_int_equal(pqread_rows(table), COUNT(rows));
		for (size_t i = COUNT(rows); i--;)
			assert_row(table, i, rows[i].key, rows[i].content);
		assert_int_equal(pqread_find(table, STR("twice"), &row), 1);
		assert_int_equal(row, 2);
		assert_int_equal(pqread_find(table, STR("before:/a"), &row), 1);
		assert_int_equal(row, 5);
		assert_int_equal(pqread_find(table, STR(""), &row), 1);
		assert_int_equal(row, 0);
		assert_int_equal(pqread_find(table, STR("after:/b"), &row), 0);
		assert_int_equal(pqread_find(table, STR("\xf0"), &row), 0);
	}
}

static size_t many_length(uint64_t row)
{
	return (size_t)(row * 7919 % 1500);
}

static void many_rows_make_several_groups(void **state)
{
	const uint64_t n = 100000;
	owned_mem char *content = mem_alloc(1500);
	owned_fd int fd = memory_file();
	struct pqwrite *out = writer(fd, PQWRITE_SNAPPY);
	struct err err = { 0 };
	char key[32];
	uint64_t row;

	for (uint64_t i = 0; i < n; i++) {
		snprintf(key, sizeof(key), "key %llu", (unsigned long long)i);
		fill(content, i, many_length(i), false);
		assert_ok(pqwrite_row(out, str_of(key), content, many_length(i), &err));
	}
	finish(out);
	owned(pqread_closep) struct pqread *table = reader(fd);
	assert_int_equal(pqread_rows(table), n);
	for (uint64_t i = 0; i < n; i++) {
		snprintf(key, sizeof(key), "key %llu", (unsigned long long)i);
		fill(content, i, many_length(i), false);
		assert_row(table, i, str_of(key), (struct str){ content, many_length(i) });
	}
	/* read some rows out of order, too */
	for (uint64_t i = 0; i < n; i += 33333) {
		snprintf(key, sizeof(key), "key %llu", (unsigned long long)i);
		fill(content, i, many_length(i), false);
		assert_int_equal(pqread_find(table, str_of(key), &row), 1);
		assert_int_equal(row, i);
		assert_row(table, i, str_of(key), (struct str){ content, many_length(i) });
	}
}

static void write_large(struct pqwrite *out, uint64_t len, size_t piece, bool noise)
{
	owned_mem char *bytes = mem_alloc(piece);
	struct err err = { 0 };

	assert_ok(pqwrite_begin(out, STR("large"), len, &err));
	for (uint64_t done = 0, part; done < len; done += part) {
		part = len - done < piece ? len - done : piece;
		fill(bytes, done, (size_t)part, noise);
		assert_ok(pqwrite_piece(out, bytes, (size_t)part, &err));
	}
	assert_ok(pqwrite_end(out, &err));
}

struct checked {
	uint64_t seen;
	bool noise;
};

static int check_piece(void *arg, const void *bytes, size_t len, struct err *err)
{
	struct checked *checked = arg;
	owned_mem char *want = mem_alloc(len);

	assert_true(len <= MIB);
	fill(want, checked->seen, len, checked->noise);
	assert_memory_equal(bytes, want, len);
	checked->seen += len;
	return 0;
}

static void contents_larger_than_a_group_go_through_in_pieces(void **state)
{
	static const uint64_t lengths[] = { PQWRITE_GROUP - 8, PQWRITE_GROUP, PQWRITE_GROUP + 1,
		40 * MIB };
	static const size_t pieces[] = { 1000003, 65536, 3 * MIB, 12345 };

	for (size_t i = 0; i < COUNT(lengths) * COUNT(codecs) * 2; i++) {
		uint64_t len = lengths[i / 4];
		struct checked checked = { .noise = i & 2 };
		owned_fd int fd = memory_file();
		struct pqwrite *out = writer(fd, codecs[i & 1]);
		struct err err = { 0 };

		assert_ok(pqwrite_row(out, STR("before"), "b", 1, &err));
		write_large(out, len, pieces[i / 4], checked.noise);
		assert_ok(pqwrite_row(out, STR("after"), "a", 1, &err));
		finish(out);
		assert_true(checked.noise ? size_of(fd) > len : size_of(fd) < len / 3);
		owned(pqread_closep) struct pqread *table = reader(fd);
		assert_int_equal(pqread_rows(table), 3);
		assert_row(table, 0, STR("before"), STR("b"));
		assert_row(table, 2, STR("after"), STR("a"));
		assert_ok(pqread_content(table, 1, check_piece, &checked, &err));
		assert_true(checked.seen == len);
	}
}

static void a_row_given_up_was_never_there(void **state)
{
	const uint64_t lengths[] = { 0, 1000, 40 * MIB };
	owned_mem char *zeros = mem_zalloc(30 * MIB);

	for (size_t i = 0; i < COUNT(lengths) * COUNT(codecs); i++) {
		uint64_t len = lengths[i / 2];
		owned_fd int fd = memory_file();
		struct pqwrite *out = writer(fd, codecs[i % 2]);
		struct err err = { 0 };

		assert_ok(pqwrite_cancel(out, &err)); /* no row was begun */
		for (int round = 0; round < 3; round++) {
			assert_ok(pqwrite_begin(out, STR("gone"), len, &err));
			assert_ok(pqwrite_piece(out, zeros, (size_t)(len * 3 / 4), &err));
			assert_ok(pqwrite_cancel(out, &err));
			assert_int_equal(pqwrite_rows(out), round);
			assert_ok(pqwrite_row(out, STR("kept"), "content", 7, &err));
		}
		assert_ok(pqwrite_begin(out, STR("gone"), len, &err));
		assert_ok(pqwrite_cancel(out, &err));
		finish(out);
		assert_true(size_of(fd) < 4096);
		owned(pqread_closep) struct pqread *table = reader(fd);
		assert_int_equal(pqread_rows(table), 3);
		for (uint64_t row = 0; row < 3; row++)
			assert_row(table, row, STR("kept"), STR("content"));
	}
}

/* Write rows of all kinds.  The last row is not ended. */
static void rows_since_a_mark_were_never_there(void **state)
{
	owned_mem char *zeros = mem_zalloc(30 * MIB);

	for (size_t i = 0; i < COUNT(codecs); i++) {
		owned_fd int fd = memory_file();
		struct pqwrite *out = writer(fd, codecs[i]);
		struct pqwrite_mark mark;
		struct err err = { 0 };

		assert_ok(pqwrite_row(out, STR("kept"), "content", 7, &err));
		for (int round = 0; round < 2; round++) {
			assert_ok(pqwrite_set_mark(out, &mark, &err));
			assert_ok(pqwrite_row(out, STR("gone"), "small", 5, &err));
			assert_ok(pqwrite_row(out, STR("gone#2"), zeros, 30 * MIB, &err));
			assert_ok(pqwrite_begin(out, STR("gone#3"), 30 * MIB, &err));
			assert_ok(pqwrite_piece(out, zeros, MIB, &err));
			assert_ok(pqwrite_return(out, &mark, &err));
			assert_int_equal(pqwrite_rows(out), round + 1);
			assert_ok(pqwrite_row(out, STR("kept"), "content", 7, &err));
		}
		finish(out);
		assert_true(size_of(fd) < 4096);
		owned(pqread_closep) struct pqread *table = reader(fd);
		assert_int_equal(pqread_rows(table), 3);
		for (uint64_t row = 0; row < 3; row++)
			assert_row(table, row, STR("kept"), STR("content"));
	}
}

static void pieces_must_add_up(void **state)
{
	const uint64_t lengths[] = { 1000, 20 * MIB };
	owned_mem char *zeros = mem_zalloc(20 * MIB + 1);

	for (size_t i = 0; i < COUNT(lengths) * COUNT(codecs); i++) {
		size_t len = (size_t)lengths[i / 2];
		owned_fd int fd = memory_file();
		struct pqwrite *out = writer(fd, codecs[i % 2]);
		struct err err = { 0 };

		assert_ok(pqwrite_begin(out, STR("short"), len, &err));
		assert_ok(pqwrite_piece(out, zeros, len - 1, &err));
		assert_int_equal(pqwrite_end(out, &err), -ERR_INVALID);
		assert_ok(pqwrite_cancel(out, &err));
		assert_ok(pqwrite_begin(out, STR("long"), len, &err));
		assert_int_equal(pqwrite_piece(out, zeros, len + 1, &err), -ERR_INVALID);
		assert_ok(pqwrite_piece(out, zeros, len, &err));
		assert_int_equal(pqwrite_piece(out, zeros, 1, &err), -ERR_INVALID);
		assert_ok(pqwrite_end(out, &err));
		finish(out);
		owned(pqread_closep) struct pqread *table = reader(fd);
		assert_int_equal(pqread_rows(table), 1);
		assert_row(table, 0, STR("long"), (struct str){ zeros, len });
	}
}

static void refuses_what_does_not_fit_a_table(void **state)
{
	owned_fd int fd = memory_file();
	struct pqwrite *out = writer(fd, PQWRITE_SNAPPY);
	owned_mem char *key = mem_zalloc(PQ_KEY_MAX + 1);
	struct err err = { 0 };

	assert_int_equal(pqwrite_begin(out, STR("k"), PQWRITE_CONTENT_MAX + 1, &err), -ERR_LIMIT);
	assert_int_equal(pqwrite_begin(out, STR("k"), UINT64_MAX, &err), -ERR_LIMIT);
	assert_int_equal(pqwrite_row(out, STR("\xff"), "", 0, &err), -ERR_INVALID);
	assert_int_equal(
		pqwrite_row(out, (struct str){ key, PQ_KEY_MAX + 1 }, "", 0, &err), -ERR_LIMIT);
	assert_ok(pqwrite_begin(out, STR("k"), PQWRITE_CONTENT_MAX, &err));
	assert_ok(pqwrite_cancel(out, &err));
	assert_ok(pqwrite_row(out, (struct str){ key, PQ_KEY_MAX }, "c", 1, &err));
	finish(out);
	owned(pqread_closep) struct pqread *table = reader(fd);
	assert_int_equal(pqread_rows(table), 1);
	assert_row(table, 0, (struct str){ key, PQ_KEY_MAX }, STR("c"));
}

static void refuses_more_keys_than_can_be_read(void **state)
{
	owned_fd int fd = memory_file();
	struct pqwrite *out = writer(fd, PQWRITE_ZSTD);
	owned_mem char *key = mem_zalloc(PQ_KEY_MAX);
	struct err err = { 0 };
	uint64_t n = 0;
	int r;

	while ((r = pqwrite_row(out, (struct str){ key, PQ_KEY_MAX }, "c", 1, &err)) == 0)
		n++;
	assert_int_equal(r, -ERR_LIMIT);
	assert_int_equal(n, PQ_KEYS_MAX / (PQ_KEY_MAX + PQ_LENGTH_LEN));
	finish(out);
	owned(pqread_closep) struct pqread *table = reader(fd);
	assert_int_equal(pqread_rows(table), n);
	assert_row(table, n - 1, (struct str){ key, PQ_KEY_MAX }, STR("c"));
}

static int try_all(struct pqwrite *out, const char *noise, struct err *err)
{
	int r = pqwrite_row(out, STR("small"), noise, 100, err);

	if (r >= 0)
		r = pqwrite_row(out, STR("large"), noise, 20 * MIB, err);
	return r >= 0 ? pqwrite_finish(out, err) : r;
}

/* A limit on the size of files stands for a full disk. */
static void a_failed_row_can_be_left_out(void **state)
{
	owned_mem char *noise = mem_alloc(20 * MIB);
	struct rlimit before, limit;

	fill(noise, 0, 20 * MIB, true);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	for (uint64_t room = 1; room < 20 * MIB; room *= 4) {
		owned(pqwrite_closep) struct pqwrite *out = NULL;
		owned_fd int fd = memory_file();
		struct err err = { 0 };

		limit = (struct rlimit){ room, before.rlim_max };
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
		out = pqwrite_open(fd, PQWRITE_SNAPPY, &err);
		int r = out ? try_all(out, noise, &err) : -ERR_SYSTEM;
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
		assert_int_equal(r, -ERR_SYSTEM);
		assert_int_equal(out ? pqwrite_rows(out) : 1, 1);
		if (!out)
			continue;
		assert_ok(pqwrite_finish(out, &err));
		owned(pqread_closep) struct pqread *table = reader(fd);
		assert_int_equal(pqread_rows(table), 1);
		assert_row(table, 0, STR("small"), (struct str){ noise, 100 });
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_without_rows_is_a_table),
		cmocka_unit_test(small_rows_come_back),
		cmocka_unit_test(many_rows_make_several_groups),
		cmocka_unit_test(contents_larger_than_a_group_go_through_in_pieces),
		cmocka_unit_test(a_row_given_up_was_never_there),
		cmocka_unit_test(rows_since_a_mark_were_never_there),
		cmocka_unit_test(pieces_must_add_up),
		cmocka_unit_test(refuses_what_does_not_fit_a_table),
		cmocka_unit_test(refuses_more_keys_than_can_be_read),
		cmocka_unit_test(a_failed_row_can_be_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
