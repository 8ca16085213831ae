/* Tests of store_verify: every planted fault is found, and no other fault is reported. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/store_priv.h"

#include "store_fixture.h"

#define SIZE 3000
#define OBJECTS 30

/* Offset of the record of object n.  The objects are stored in order and without compression. */
#define PLACE(n) (PACK_START + (n) * (PACK_HEADER + SIZE))

static void fill(struct fixture *fixture)
{
	for (uint64_t seed = 0; seed < OBJECTS; seed++)
		fixture_put_noise(fixture, SIZE, seed);
	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
}

static void finds_nothing_in_a_sound_store(void **state)
{
	struct fixture *fixture = *state;
	struct store_verify verify = { 0 };

	fixture_assert_sound(fixture);
	fill(fixture);
	fixture_next_pack(fixture);
	for (uint64_t seed = 100; seed < 110; seed++)
		fixture_put_noise(fixture, 1 << 20, seed);
	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	fixture_assert_sound(fixture);
	assert_ok(fixture, store_verify(fixture->store, &verify, &fixture->err));
	assert_int_equal(verify.objects, OBJECTS + 10);
	assert_int_equal(
		verify.bytes, OBJECTS * (SIZE + PACK_HEADER) + 10 * ((1 << 20) + PACK_HEADER));
}

/* A way to damage a store, and the fault that store_verify must report. */
struct fault_case {
	const char *name;
	uint64_t flip;   /* offset of a byte of pack 1, in which a bit is flipped */
	off_t truncate;  /* size to which pack 1 is truncated */
	const char *sql; /* statements that change the index */
	const char *expect;
};

static const struct fault_case fault_cases[] = {
	{ "payload", .flip = PLACE(3) + PACK_HEADER + 5,
		.expect = "object: content does not match its hash\n" },
	{ "last byte", .flip = PLACE(OBJECTS) - 1,
		.expect = "object: content does not match its hash\n" },
	{ "magic", .flip = PLACE(3), .expect = "object: record header is damaged\n" },
	{ "type", .flip = PLACE(3) + 4, .expect = "object: record header is damaged\n" },
	{ "zero", .flip = PLACE(3) + 6, .expect = "object: record header is damaged\n" },
	{ "length", .flip = PLACE(3) + 8, .expect = "object: record header is damaged\n" },
	{ "hash", .flip = PLACE(3) + 20, .expect = "object: index row and record differ\n" },
	{ "start", .flip = 3, .expect = "pack has no valid start\n" },
	{ "cut", .truncate = PLACE(OBJECTS) - 1,
		.expect = "pack is cut off\nobject: pack is cut off\n" },
	{ "cut at a record", .truncate = PLACE(OBJECTS - 2),
		.expect = "pack is cut off\nobject: pack is cut off\nobject: pack is cut off\n" },
	{ "deleted row", .sql = "DELETE FROM fresh WHERE offset = 16",
		.expect = "totals are wrong\n" },
	{ "row to another record", .sql = "UPDATE fresh SET offset = 16 WHERE offset = 3064",
		.expect = "object: index row and record differ\n" },
	{ "row into a record", .sql = "UPDATE fresh SET offset = 17 WHERE offset = 16",
		.expect = "object: record header is damaged\n" },
	{ "row past the end", .sql = "UPDATE fresh SET offset = 999999 WHERE offset = 16",
		.expect = "object: index row points outside its pack\n" },
	{ "row before the start", .sql = "UPDATE fresh SET offset = 0 WHERE offset = 16",
		.expect = "object: index row points outside its pack\n" },
	{ "row with a negative offset", .sql = "UPDATE fresh SET offset = -1 WHERE offset = 16",
		.expect = "malformed index row\ntotals are wrong\n" },
	{ "row of no pack", .sql = "UPDATE fresh SET pack = 9 WHERE offset = 16",
		.expect = "object: index row points at a pack that is not listed\n" },
	{ "row of a giant", .sql = "UPDATE fresh SET raw = 99999999 WHERE offset = 16",
		.expect = "object: index row with impossible length\ntotals are wrong\n" },
	{ "pack row too short", .sql = "UPDATE pack SET size = size - 1",
		.expect = "object: index row points outside its pack\n" },
	{ "pack row too long", .sql = "UPDATE pack SET size = size + 1",
		.expect = "pack is cut off\n" },
	{ "wrong bytes", .sql = "UPDATE total SET bytes = bytes + 1",
		.expect = "totals are wrong\n" },
	{ "wrong raw", .sql = "UPDATE total SET raw = 0", .expect = "totals are wrong\n" },
	{ "wrong count", .sql = "UPDATE total SET objects = objects - 1",
		.expect = "totals are wrong\n" },
	{ "no totals", .sql = "DELETE FROM total", .expect = "the store has no totals row\n" },
};

static void finds_each_planted_fault(void **state)
{
	for (size_t i = 0; i < sizeof(fault_cases) / sizeof(fault_cases[0]); i++) {
		const struct fault_case *c = &fault_cases[i];
		void *own;

		assert_int_equal(fixture_setup(&own), 0);
		struct fixture *fixture = own;
		fill(fixture);
		if (c->flip)
			fixture_flip(fixture, 1, c->flip);
		if (c->truncate)
			fixture_truncate(fixture, 1, c->truncate);
		if (c->sql)
			assert_ok(fixture, db_exec(fixture->db, c->sql, &fixture->err));
		owned_mem char *found = fixture_verify(fixture);
		if (strcmp(found, c->expect))
			print_error("case: %s\n", c->name);
		assert_string_equal(found, c->expect);
		fixture_teardown(&own);
	}
}

static void names_every_object_of_a_missing_pack(void **state)
{
	struct fixture *fixture = *state;
	struct fixture_faults faults = { .text = BUF_INIT };
	struct store_verify verify = { .fault = fixture_fault, .arg = &faults };

	fill(fixture);
	fixture_next_pack(fixture);
	struct hash kept = fixture_put_noise(fixture, SIZE, 99);
	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	fixture_remove_pack(fixture, 1);
	assert_ok(fixture, store_verify(fixture->store, &verify, &fixture->err));
	assert_int_equal(faults.count, OBJECTS + 1);
	assert_int_equal(faults.objects, OBJECTS);
	assert_false(hash_eq(&faults.last.hash, &kept));
	assert_non_null(
		strstr(faults.text.data, "pack file is missing\nobject: pack file is missing\n"));
	buf_release(&faults.text);
}

static void says_which_object_it_is(void **state)
{
	struct fixture *fixture = *state;
	struct fixture_faults faults = { .text = BUF_INIT };
	struct store_verify verify = { .fault = fixture_fault, .arg = &faults };
	owned_mem char *bytes = fixture_noise(SIZE, 3);
	struct hash hash;

	fill(fixture);
	fixture_flip(fixture, 1, PLACE(3) + PACK_HEADER);
	assert_ok(fixture, store_verify(fixture->store, &verify, &fixture->err));
	hash_of(bytes, SIZE, &hash);
	assert_int_equal(faults.count, 1);
	assert_true(hash_eq(&faults.last.hash, &hash));
	assert_int_equal(faults.last.type, OBJECT_BLOB);
	assert_int_equal(verify.objects, OBJECTS);
	buf_release(&faults.text);
}

static void finds_a_bit_in_compressed_content(void **state)
{
	struct fixture *fixture = *state;
	owned_mem char *zeros = mem_zalloc(100000);

	fixture_put(fixture, zeros, 100000);
	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	fixture_flip(fixture, 1, PACK_START + PACK_HEADER + 9);
	owned_mem char *found = fixture_verify(fixture);
	assert_string_equal(found, "object: content does not match its hash\n");
}

static void finds_all_faults_not_just_the_first(void **state)
{
	struct fixture *fixture = *state;
	struct fixture_faults faults = { .text = BUF_INIT };
	struct store_verify verify = { .fault = fixture_fault, .arg = &faults };

	for (uint64_t seed = 0; seed < 2000; seed++)
		fixture_put_noise(fixture, SIZE, seed);
	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	for (uint64_t n = 0; n < 2000; n += 100)
		fixture_flip(fixture, 1, PLACE(n) + PACK_HEADER + n);
	assert_ok(fixture, store_verify(fixture->store, &verify, &fixture->err));
	assert_int_equal(faults.objects, 20);
	assert_int_equal(faults.count, 20);
	assert_int_equal(verify.objects, 2000);
	buf_release(&faults.text);
}

static void ignores_the_tail_of_a_dead_writer(void **state)
{
	struct fixture *fixture = *state;

	fill(fixture);
	fixture_put_noise(fixture, 3 << 20, 77);
	fixture_reopen(fixture);
	assert_true(fixture_pack_size(fixture, 1) > PLACE(OBJECTS));
	fixture_assert_sound(fixture);
}

static void finds_a_damaged_database(void **state)
{
	struct fixture *fixture = *state;
	char page[4096];

	for (uint64_t seed = 0; seed < 500; seed++)
		fixture_put_noise(fixture, 100, seed);
	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	assert_ok(fixture, db_exec(fixture->db, "PRAGMA wal_checkpoint(TRUNCATE)", &fixture->err));
	fixture_close(fixture);
	memset(page, 0xa5, sizeof(page));
	owned_fd int fd = openat(fixture->rootfd, "strata.db", O_RDWR | O_CLOEXEC);
	/* pages from the sixth on contain rows of objects */
	assert_int_equal(pwrite(fd, page, sizeof(page), 6 * sizeof(page)), sizeof(page));
	fixture_open(fixture, 0);
	owned_mem char *found = fixture_verify(fixture);
	assert_memory_equal(found, "database: ", 10);
}

static void count_progress(void *arg, uint64_t done, uint64_t total)
{
	uint64_t *last = arg;

	assert_true(done > *last && done <= total && total == 2000);
	*last = done;
}

static void tells_how_far_it_is(void **state)
{
	struct fixture *fixture = *state;
	uint64_t last = 0;
	struct store_verify verify = { .progress = count_progress, .arg = &last };

	for (uint64_t seed = 0; seed < 2000; seed++)
		fixture_put_noise(fixture, 100, seed);
	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	assert_ok(fixture, store_verify(fixture->store, &verify, &fixture->err));
	assert_int_equal(last, 2000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture_test(finds_nothing_in_a_sound_store),
		cmocka_unit_test(finds_each_planted_fault),
		fixture_test(names_every_object_of_a_missing_pack),
		fixture_test(says_which_object_it_is),
		fixture_test(finds_a_bit_in_compressed_content),
		fixture_test(finds_all_faults_not_just_the_first),
		fixture_test(ignores_the_tail_of_a_dead_writer),
		fixture_test(finds_a_damaged_database),
		fixture_test(tells_how_far_it_is),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
