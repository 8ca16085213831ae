/* Tests of store_repair: intact objects come back, and damaged packs are put into quarantine. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/store_priv.h"

#include "store_fixture.h"

#define SIZE 3000
#define OBJECTS 10
#define PLACE(n) (PACK_START + (n) * (PACK_HEADER + SIZE))

static void fill(struct fixture *fixture)
{
	for (uint64_t seed = 0; seed < OBJECTS; seed++)
		fixture_put_noise(fixture, SIZE, seed);
	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
}

/*
 * Returns the number of files in quarantine/ that come from a pack.  Checks that each has this
 * size, and the year in its name.
 */
static int in_quarantine(struct fixture *fixture, uint32_t pack, off_t size)
{
	int fd = openat(fixture->rootfd, "quarantine", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	char name[PACK_NAME_MAX];
	struct dirent *entry;
	int n = 0;

	pack_name(pack, name);
	while (dir && (entry = readdir(dir))) {
		struct stat st;

		if (strncmp(entry->d_name, name, strlen(name)))
			continue;
		assert_non_null(strstr(entry->d_name + strlen(name), ".20"));
		assert_int_equal(fstatat(fd, entry->d_name, &st, 0), 0);
		assert_int_equal(st.st_size, size);
		n++;
	}
	if (dir)
		closedir(dir);
	return n;
}

static void repair(struct fixture *fixture, uint64_t want_rescued, uint64_t want_dropped)
{
	uint64_t rescued = 99, dropped = 99;

	assert_ok(fixture, store_repair(fixture->store, &rescued, &dropped, &fixture->err));
	assert_int_equal(rescued, want_rescued);
	assert_int_equal(dropped, want_dropped);
	fixture_assert_sound(fixture);
	/* a second repair finds nothing to do */
	assert_ok(fixture, store_repair(fixture->store, &rescued, &dropped, &fixture->err));
	assert_int_equal(rescued, 0);
	assert_int_equal(dropped, 0);
	fixture_assert_sound(fixture);
}

/* Check that the store has all objects except those from first to end, without end itself. */
static void assert_all_but(struct fixture *fixture, uint64_t first, uint64_t end)
{
	for (uint64_t seed = 0; seed < OBJECTS; seed++)
		assert_int_equal(
			fixture_holds_noise(fixture, SIZE, seed), seed < first || seed >= end);
}

static void leaves_a_sound_store_alone(void **state)
{
	struct fixture *fixture = *state;

	repair(fixture, 0, 0);
	fill(fixture);
	repair(fixture, 0, 0);
	assert_int_equal(in_quarantine(fixture, 1, 0), 0);
	assert_all_but(fixture, 0, 0);
}

static void brings_back_deleted_rows(void **state)
{
	struct fixture *fixture = *state;

	fill(fixture);
	assert_ok(fixture,
		db_exec(fixture->db, "DELETE FROM fresh WHERE offset > 9000", &fixture->err));
	repair(fixture, 7, 0);
	assert_int_equal(in_quarantine(fixture, 1, 0), 0);
	assert_all_but(fixture, 0, 0);
}

static void rebuilds_an_index_that_is_lost(void **state)
{
	struct fixture *fixture = *state;

	fill(fixture);
	fixture_next_pack(fixture);
	fixture_put_noise(fixture, SIZE, 50);
	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	assert_ok(fixture,
		db_exec(fixture->db, "DELETE FROM fresh; DELETE FROM pack; DELETE FROM total",
			&fixture->err));
	fixture_reopen(fixture);
	repair(fixture, OBJECTS + 1, 0);
	assert_all_but(fixture, 0, 0);
	assert_true(fixture_holds_noise(fixture, SIZE, 50));
	assert_int_equal(fixture_number(fixture, "SELECT count(*) FROM pack"), 2);
}

static void drops_a_damaged_object_and_keeps_the_pack_aside(void **state)
{
	struct fixture *fixture = *state;

	fill(fixture);
	fixture_flip(fixture, 1, PLACE(3) + PACK_HEADER + 7);
	repair(fixture, 0, 1);
	assert_int_equal(in_quarantine(fixture, 1, PLACE(OBJECTS)), 1);
	assert_all_but(fixture, 3, 4);
	/* the object is not in the index any more, so it can be stored again */
	fixture_put_noise(fixture, SIZE, 3);
	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	assert_all_but(fixture, 0, 0);
	fixture_assert_sound(fixture);
}

static void finds_the_way_back_after_a_damaged_header(void **state)
{
	static const unsigned at[] = { 0, 4, 8, 9, 11, 12, 20 };

	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		void *own;

		assert_int_equal(fixture_setup(&own), 0);
		struct fixture *fixture = own;
		fill(fixture);
		fixture_flip(fixture, 1, PLACE(3) + at[i]);
		repair(fixture, 0, 1);
		assert_all_but(fixture, 3, 4);
		fixture_teardown(&own);
	}
}

static void keeps_what_is_before_a_cut(void **state)
{
	struct fixture *fixture = *state;

	fill(fixture);
	fixture_truncate(fixture, 1, PLACE(8) + 100);
	repair(fixture, 0, 2);
	assert_int_equal(in_quarantine(fixture, 1, PLACE(8) + 100), 1);
	assert_all_but(fixture, 8, OBJECTS);
	assert_int_equal(fixture_number(fixture, "SELECT size FROM pack"), PLACE(8));
	fixture_put_noise(fixture, SIZE, 9);
	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	fixture_assert_sound(fixture);
	/* the copy in quarantine/ is not changed */
	assert_int_equal(in_quarantine(fixture, 1, PLACE(8) + 100), 1);
}

static void forgets_a_missing_pack(void **state)
{
	struct fixture *fixture = *state;

	fill(fixture);
	fixture_next_pack(fixture);
	fixture_put_noise(fixture, SIZE, 50);
	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	fixture_remove_pack(fixture, 1);
	repair(fixture, 0, OBJECTS);
	assert_all_but(fixture, 0, OBJECTS);
	assert_true(fixture_holds_noise(fixture, SIZE, 50));
}

static void corrects_rows_that_point_elsewhere(void **state)
{
	struct fixture *fixture = *state;

	fill(fixture);
	assert_ok(fixture, db_exec(fixture->db,
				   "UPDATE fresh SET offset = 17 WHERE offset = 16;"
				   "UPDATE fresh SET pack = 77 WHERE offset = 3064;"
				   "UPDATE fresh SET raw = raw + 1 WHERE offset = 6112;"
				   "UPDATE fresh SET raw = 999999999 WHERE offset = 9160;"
				   "INSERT INTO fresh VALUES (x'00', 1, 1, 16, 1, 1);"
				   "INSERT INTO fresh VALUES (zeroblob(32), 9, 1, 16, 1, 1);"
				   "INSERT INTO fresh VALUES (zeroblob(32), 1, -1, 16, 1, 1);"
				   "INSERT INTO fresh VALUES (zeroblob(32), 2, 1, 16, 3000, 3000)",
				   &fixture->err));
	repair(fixture, 4, 4);
	assert_int_equal(in_quarantine(fixture, 1, 0), 0);
	assert_all_but(fixture, 0, 0);
}

static void uses_the_second_copy_when_the_first_is_damaged(void **state)
{
	struct fixture *fixture = *state;

	fill(fixture);
	assert_ok(fixture, db_exec(fixture->db,
				   "CREATE TEMP TABLE kept AS SELECT * FROM every_object;"
				   "DELETE FROM fresh WHERE offset = 16",
				   &fixture->err));
	fixture_put_noise(fixture, SIZE, 0);
	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	/* the row refers to the first copy, which is damaged; the second copy has no row */
	assert_ok(fixture,
		db_exec(fixture->db,
			"INSERT OR REPLACE INTO fresh SELECT * FROM kept WHERE offset = 16",
			&fixture->err));
	fixture_flip(fixture, 1, PLACE(0) + PACK_HEADER);
	repair(fixture, 1, 0);
	assert_all_but(fixture, 0, 0);
}

static void writes_a_new_start_where_it_is_damaged(void **state)
{
	struct fixture *fixture = *state;

	fill(fixture);
	fixture_next_pack(fixture);
	fixture_flip(fixture, 1, 2);
	repair(fixture, 0, 0);
	assert_int_equal(in_quarantine(fixture, 1, PLACE(OBJECTS)), 1);
	assert_all_but(fixture, 0, 0);
}

static void corrects_wrong_totals(void **state)
{
	struct fixture *fixture = *state;
	struct store_stats stats;

	fill(fixture);
	assert_ok(fixture, db_exec(fixture->db, "UPDATE total SET bytes = 1, raw = -5, objects = 0",
				   &fixture->err));
	repair(fixture, 0, 0);
	assert_ok(fixture, store_stats(fixture->store, &stats, &fixture->err));
	assert_int_equal(stats.objects, OBJECTS);
	assert_int_equal(stats.bytes, PLACE(OBJECTS) - PACK_START);
}

static void rescues_the_tail_of_a_dead_writer(void **state)
{
	struct fixture *fixture = *state;

	fill(fixture);
	fixture_put_noise(fixture, 2 << 20, 50);
	fixture_put_noise(fixture, 10, 51);
	fixture_reopen(fixture);
	repair(fixture, 1, 0);
	assert_true(fixture_holds_noise(fixture, 2 << 20, 50));
	assert_false(fixture_holds_noise(fixture, 10, 51));
	/* an incomplete record behind the recorded end does not count as damage */
	assert_int_equal(in_quarantine(fixture, 1, 0), 0);
}

static void does_not_mind_an_empty_orphan(void **state)
{
	struct fixture *fixture = *state;

	fill(fixture);
	close(fixture_pack_open(fixture, 5, O_RDWR | O_CREAT));
	repair(fixture, 0, 0);
	assert_int_equal(fixture_number(fixture, "SELECT count(*) FROM pack"), 1);
}

static bool nothing(void *arg, const struct object_key *key)
{
	return false;
}

static bool everything(void *arg, const struct object_key *key)
{
	return true;
}

static void lets_a_sweep_clean_up_the_damage(void **state)
{
	struct fixture *fixture = *state;
	struct store_stats freed;

	fill(fixture);
	fixture_next_pack(fixture);
	for (uint64_t n = 3; n < 6; n++)
		fixture_flip(fixture, 1, PLACE(n));
	repair(fixture, 0, 3);
	assert_ok(fixture, fixture_sweep(fixture, everything, NULL, &freed));
	assert_int_equal(freed.objects, 0);
	assert_true(freed.bytes >= 3 * (SIZE + PACK_HEADER));
	assert_all_but(fixture, 3, 6);
	fixture_assert_sound(fixture);
	assert_ok(fixture, fixture_sweep(fixture, nothing, NULL, &freed));
	assert_all_but(fixture, 0, OBJECTS);
	fixture_assert_sound(fixture);
	assert_int_equal(in_quarantine(fixture, 1, PLACE(OBJECTS)), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture_test(leaves_a_sound_store_alone),
		fixture_test(brings_back_deleted_rows),
		fixture_test(rebuilds_an_index_that_is_lost),
		fixture_test(drops_a_damaged_object_and_keeps_the_pack_aside),
		cmocka_unit_test(finds_the_way_back_after_a_damaged_header),
		fixture_test(keeps_what_is_before_a_cut),
		fixture_test(forgets_a_missing_pack),
		fixture_test(corrects_rows_that_point_elsewhere),
		fixture_test(uses_the_second_copy_when_the_first_is_damaged),
		fixture_test(writes_a_new_start_where_it_is_damaged),
		fixture_test(corrects_wrong_totals),
		fixture_test(rescues_the_tail_of_a_dead_writer),
		fixture_test(does_not_mind_an_empty_orphan),
		fixture_test(lets_a_sweep_clean_up_the_damage),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
