/* windex: written records are read again, and a damaged index counts as absent. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tree/windex.h"

#include "store_fixture.h"

#define STAMP INT64_C(1700000000123456789)

static struct windex *new_index(struct fixture *fixture)
{
	int fd = openat(fixture->rootfd, "index.new", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	return windex_new_take(fd, STAMP);
}

static struct windex *save_and_open(struct fixture *fixture, struct windex *index)
{
	assert_ok(
		fixture, windex_save(index, fixture->rootfd, "index.new", "index", &fixture->err));
	windex_close(index);
	index = windex_open(fixture->rootfd, "index");
	assert_non_null(index);
	return index;
}

/*
 * Add record number n of a directory.  Every third record has attributes, and every fifth an
 * override.
 */
static void add_record(struct windex_writer *writer, unsigned n, unsigned pad)
{
	struct windex_record record = {
		.type = ENTRY_FILE,
		.content = ENTRY_BLOB,
		.mode = 0644,
		.uid = n,
		.ino = n + 1000,
		.size = n * 2,
		.flags = WINDEX_LINKED,
	};
	struct windex_override override = { .type = ENTRY_CHAR, .uid = n + 7 };
	struct hash xattrs;
	char name[256];

	hash_of(&n, sizeof(n), &record.hash);
	hash_of("x", 1, &xattrs);
	int len = snprintf(name, sizeof(name), "n%0*u", (int)pad, n);
	assert_int_equal(windex_writer_add(writer, &record, n % 3 ? NULL : &xattrs,
				 n % 5 ? NULL : &override, (struct str){ name, (size_t)len }),
		0);
}

static void check_record(const struct windex_item *item, unsigned n, unsigned pad)
{
	struct hash hash;
	char name[256];
	int len = snprintf(name, sizeof(name), "n%0*u", (int)pad, n);

	assert_true(str_eq(item->name, (struct str){ name, (size_t)len }));
	hash_of(&n, sizeof(n), &hash);
	assert_true(hash_eq(&item->record.hash, &hash));
	assert_int_equal(item->record.uid, n);
	assert_int_equal(item->record.size, n * 2);
	assert_int_equal(item->record.flags & WINDEX_LINKED, WINDEX_LINKED);
	assert_int_equal(!(item->record.flags & WINDEX_XATTRS), n % 3 != 0);
	assert_int_equal(hash_is_none(&item->xattrs), n % 3 != 0);
	assert_int_equal(!(item->record.flags & WINDEX_OVERRIDE), n % 5 != 0);
	if (n % 5 == 0)
		assert_int_equal(item->override.uid, n + 7);
}

/* Write a directory with 'count' records.  Returns its id. */
static uint32_t write_dir(struct windex *index, struct windex_writer *writer, uint32_t parent,
	unsigned count, unsigned pad)
{
	uint32_t id = windex_add_dir(index, parent);

	assert_int_equal(windex_writer_begin(writer, &windex_dir(index, id)->segment), 0);
	for (unsigned n = 0; n < count; n++)
		add_record(writer, n, pad);
	windex_writer_end(writer);
	windex_dir(index, id)->count = count;
	return id;
}

static void check_dir(struct windex *index, uint32_t id, unsigned count, unsigned pad)
{
	struct windex_reader reader;
	struct windex_item item;
	struct windex_dir dir;

	assert_true(windex_get_dir(index, id, &dir));
	assert_int_equal(dir.count, count);
	windex_reader_init(&reader, index);
	windex_reader_begin(&reader, dir.segment);
	for (unsigned n = 0; n < count; n++) {
		assert_int_equal(windex_reader_next(&reader, &item), 1);
		check_record(&item, n, pad);
	}
	assert_int_equal(windex_reader_next(&reader, &item), 0);
	windex_reader_release(&reader);
}

static void reads_back_what_was_written(void **state)
{
	static const unsigned counts[] = { 0, 1, 2, 30, 5000, 3, 20000, 0, 7 };
	struct fixture *fixture = *state;
	struct windex *index = new_index(fixture);
	struct windex_writer writer;

	windex_writer_init(&writer, index);
	for (uint32_t i = 0; i < 9; i++)
		assert_int_equal(write_dir(index, &writer, i / 2, counts[i], 1 + i * 30), i);
	assert_int_equal(windex_writer_finish(&writer), 0);
	index = save_and_open(fixture, index);
	assert_int_equal(windex_stamp(index), STAMP);
	assert_int_equal(windex_dirs(index), 9);
	for (uint32_t i = 0; i < 9; i++)
		check_dir(index, i, counts[i], 1 + i * 30);

	struct windex_dir dir;
	assert_true(windex_get_dir(index, 8, &dir));
	assert_int_equal(dir.parent, 4);
	assert_false(windex_get_dir(index, 9, &dir));
	windex_close(index);
}

static void keeps_more_rows_than_a_block(void **state)
{
	struct fixture *fixture = *state;
	struct windex *index = new_index(fixture);
	struct windex_dir dir;

	for (uint32_t i = 0; i < 5000; i++)
		assert_int_equal(windex_add_dir(index, i / 3), i);
	windex_dir(index, 4321)->flags = WINDEX_DIR_UNREAD;
	index = save_and_open(fixture, index);
	assert_int_equal(windex_dirs(index), 5000);
	for (uint32_t i = 0; i < 5000; i++) {
		assert_true(windex_get_dir(index, i, &dir));
		assert_int_equal(dir.parent, i / 3);
		assert_int_equal(dir.flags, i == 4321 ? WINDEX_DIR_UNREAD : 0);
	}
	windex_close(index);
}

static void changes_a_record_in_place(void **state)
{
	struct fixture *fixture = *state;
	struct windex *index = new_index(fixture);
	struct windex_writer writer;
	struct windex_reader reader;
	struct windex_item item;

	windex_writer_init(&writer, index);
	write_dir(index, &writer, 0, 10, 1);
	assert_int_equal(windex_writer_finish(&writer), 0);
	windex_reader_init(&reader, index);
	windex_reader_begin(&reader, windex_dir(index, 0)->segment);
	while (windex_reader_next(&reader, &item) > 0) {
		item.record.size = 77;
		assert_int_equal(windex_set_record(index, item.offset, &item.record), 0);
	}
	windex_reader_begin(&reader, windex_dir(index, 0)->segment);
	for (unsigned n = 0; n < 10; n++) {
		assert_int_equal(windex_reader_next(&reader, &item), 1);
		assert_int_equal(item.record.size, 77);
		item.record.size = n * 2;
		check_record(&item, n, 1);
	}
	windex_reader_release(&reader);
	windex_close(index);
}

struct filler {
	struct windex *index;
	uint32_t dirs[50];
};

static void *fill(void *arg)
{
	struct filler *filler = arg;
	struct windex_writer writer;

	windex_writer_init(&writer, filler->index);
	for (unsigned i = 0; i < 50; i++)
		filler->dirs[i] = write_dir(filler->index, &writer, 0, i * 7, 20);
	return (void *)(intptr_t)windex_writer_finish(&writer);
}

static void lets_threads_write_at_the_same_time(void **state)
{
	struct fixture *fixture = *state;
	struct windex *index = new_index(fixture);
	struct filler fillers[4];
	pthread_t threads[4];
	void *result;

	for (size_t i = 0; i < 4; i++) {
		fillers[i].index = index;
		assert_int_equal(pthread_create(&threads[i], NULL, fill, &fillers[i]), 0);
	}
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(threads[i], &result), 0);
		assert_null(result);
	}
	index = save_and_open(fixture, index);
	for (size_t i = 0; i < 4; i++)
		for (unsigned k = 0; k < 50; k++)
			check_dir(index, fillers[i].dirs[k], k * 7, 20);
	windex_close(index);
}

static void make_index(struct fixture *fixture)
{
	struct windex *index = new_index(fixture);
	struct windex_writer writer;

	windex_writer_init(&writer, index);
	write_dir(index, &writer, 0, 100, 10);
	assert_int_equal(windex_writer_finish(&writer), 0);
	windex_close(save_and_open(fixture, index));
}

static void write_at(struct fixture *fixture, off_t offset, const void *bytes, size_t len)
{
	owned_fd int fd = openat(fixture->rootfd, "index", O_RDWR | O_CLOEXEC);

	assert_int_equal(pwrite(fd, bytes, len, offset), len);
}

static void counts_as_absent_when_it_is_cut_or_foreign(void **state)
{
	struct fixture *fixture = *state;
	struct stat st;

	assert_null(windex_open(fixture->rootfd, "index"));
	make_index(fixture);
	write_at(fixture, 0, "foreign", 7);
	assert_null(windex_open(fixture->rootfd, "index"));

	make_index(fixture);
	owned_fd int fd = openat(fixture->rootfd, "index", O_RDWR | O_CLOEXEC);
	assert_int_equal(fstat(fd, &st), 0);
	for (off_t size = st.st_size - 1; size > 0; size /= 2) {
		assert_int_equal(ftruncate(fd, size), 0);
		assert_null(windex_open(fixture->rootfd, "index"));
	}
}

static void is_checked_after_a_reboot(void **state)
{
	struct fixture *fixture = *state;
	struct windex *index;
	const off_t boot = 16, body = 200;

	/* After another boot, an undamaged index is accepted. */
	make_index(fixture);
	write_at(fixture, boot, "another boot", 12);
	index = windex_open(fixture->rootfd, "index");
	assert_non_null(index);
	check_dir(index, 0, 100, 10);
	windex_close(index);
	/* After another boot, an index with a torn page is refused. */
	write_at(fixture, body, "torn", 4);
	assert_null(windex_open(fixture->rootfd, "index"));
}

static void does_not_follow_segments_in_a_circle(void **state)
{
	struct fixture *fixture = *state;
	struct windex_reader reader;
	struct windex_item item;
	struct windex_dir dir;

	make_index(fixture);
	struct windex *index = windex_open(fixture->rootfd, "index");
	assert_true(windex_get_dir(index, 0, &dir));
	windex_close(index);
	uint64_t segment[2] = { 0, dir.segment };
	write_at(fixture, (off_t)dir.segment, segment, sizeof(segment));
	index = windex_open(fixture->rootfd, "index");
	windex_reader_init(&reader, index);
	windex_reader_begin(&reader, dir.segment);
	assert_int_equal(windex_reader_next(&reader, &item), 0);
	/* An offset beyond the end of the file is refused. */
	windex_reader_begin(&reader, UINT64_C(1) << 62);
	assert_int_equal(windex_reader_next(&reader, &item), 0);
	windex_reader_release(&reader);
	windex_close(index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture_test(reads_back_what_was_written),
		fixture_test(keeps_more_rows_than_a_block),
		fixture_test(changes_a_record_in_place),
		fixture_test(lets_threads_write_at_the_same_time),
		fixture_test(counts_as_absent_when_it_is_cut_or_foreign),
		fixture_test(is_checked_after_a_reboot),
		fixture_test(does_not_follow_segments_in_a_circle),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
