/*
 * Tests of store_sweep: live objects stay, dead objects go, and neither a crash nor damage loses an
 * object.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "store/store_priv.h"

#include "store_fixture.h"

#define SIZE 10000

/* Objects of SIZE bytes that cannot be compressed.  Those in the list are alive. */
struct alive {
	struct hash list[64];
	size_t count;
};

static void add_alive(struct alive *alive, uint64_t seed)
{
	owned_mem char *bytes = fixture_noise(SIZE, seed);

	hash_of(bytes, SIZE, &alive->list[alive->count++]);
}

static bool is_alive(void *arg, const struct object_key *key)
{
	const struct alive *alive = arg;

	for (size_t i = 0; i < alive->count; i++)
		if (key->type == OBJECT_BLOB && hash_eq(&key->hash, &alive->list[i]))
			return true;
	return false;
}

static void put_range(struct fixture *fixture, uint64_t first, uint64_t end)
{
	for (uint64_t seed = first; seed < end; seed++)
		fixture_put_noise(fixture, SIZE, seed);
	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
}

static struct store_stats sweep(struct fixture *fixture, struct alive *alive)
{
	struct store_stats freed = { 0 };

	assert_ok(fixture, fixture_sweep(fixture, is_alive, alive, &freed));
	return freed;
}

static void assert_exactly_alive(
	struct fixture *fixture, uint64_t first, uint64_t end, struct alive *alive)
{
	struct store_stats stats;
	size_t found = 0;

	for (uint64_t seed = first; seed < end; seed++) {
		struct object_key key = { .type = OBJECT_BLOB };
		owned_mem char *bytes = fixture_noise(SIZE, seed);

		hash_of(bytes, SIZE, &key.hash);
		bool there = fixture_holds(fixture, &key.hash, bytes, SIZE);
		assert_int_equal(there, is_alive(alive, &key));
		found += there;
	}
	assert_ok(fixture, store_stats(fixture->store, &stats, &fixture->err));
	assert_int_equal(stats.objects, found);
	assert_int_equal(stats.raw_bytes, found * SIZE);
}

static void frees_the_dead_and_keeps_the_living(void **state)
{
	struct fixture *fixture = *state;
	struct alive alive = { 0 };

	put_range(fixture, 0, 40);
	for (uint64_t seed = 0; seed < 40; seed += 2)
		add_alive(&alive, seed);
	struct store_stats freed = sweep(fixture, &alive);
	assert_int_equal(freed.objects, 20);
	assert_int_equal(freed.raw_bytes, 20 * SIZE);
	assert_int_equal(freed.bytes, 20 * (SIZE + PACK_HEADER));
	assert_int_equal(fixture_pack_size(fixture, 1), -1);
	assert_int_equal(fixture_pack_size(fixture, 2), PACK_START + 20 * (SIZE + PACK_HEADER));
	assert_exactly_alive(fixture, 0, 40, &alive);
	fixture_assert_sound(fixture);
	fixture_reopen(fixture);
	assert_exactly_alive(fixture, 0, 40, &alive);
}

static void does_nothing_the_second_time(void **state)
{
	struct fixture *fixture = *state;
	struct alive alive = { 0 };

	put_range(fixture, 0, 10);
	add_alive(&alive, 3);
	sweep(fixture, &alive);
	int64_t pack = fixture_number(fixture, "SELECT max(id) FROM pack");
	struct store_stats freed = sweep(fixture, &alive);
	assert_int_equal(freed.objects, 0);
	assert_int_equal(freed.bytes, 0);
	assert_int_equal(fixture_number(fixture, "SELECT max(id) FROM pack"), pack);
	assert_exactly_alive(fixture, 0, 10, &alive);
}

static void leaves_a_pack_with_little_dead_in_place(void **state)
{
	struct fixture *fixture = *state;
	struct alive alive = { 0 };

	put_range(fixture, 0, 20);
	for (uint64_t seed = 1; seed < 20; seed++)
		add_alive(&alive, seed);
	off_t size = fixture_pack_size(fixture, 1);
	struct store_stats freed = sweep(fixture, &alive);
	assert_int_equal(freed.objects, 1);
	assert_int_equal(freed.bytes, 0);
	assert_int_equal(fixture_pack_size(fixture, 1), size);
	assert_exactly_alive(fixture, 0, 20, &alive);
	fixture_assert_sound(fixture);
}

static void empties_the_newest_pack_but_keeps_its_number(void **state)
{
	struct fixture *fixture = *state;
	struct alive none = { 0 };

	put_range(fixture, 0, 5);
	struct store_stats freed = sweep(fixture, &none);
	assert_int_equal(freed.objects, 5);
	assert_int_equal(freed.bytes, 5 * (SIZE + PACK_HEADER));
	assert_int_equal(fixture_pack_size(fixture, 1), PACK_START);
	fixture_assert_sound(fixture);
	assert_int_equal(sweep(fixture, &none).bytes, 0);
	put_range(fixture, 0, 5);
	fixture_assert_sound(fixture);
	assert_true(fixture_holds_noise(fixture, SIZE, 4));
}

static void puts_small_packs_together(void **state)
{
	struct fixture *fixture = *state;
	struct alive alive = { 0 };

	for (uint64_t pack = 0; pack < 5; pack++) {
		fixture_next_pack(fixture);
		put_range(fixture, 4 * pack, 4 * pack + 4);
	}
	assert_int_equal(fixture_number(fixture, "SELECT count(*) FROM pack"), 5);
	for (uint64_t seed = 0; seed < 20; seed++)
		add_alive(&alive, seed);
	struct store_stats freed = sweep(fixture, &alive);
	assert_int_equal(freed.objects, 0);
	assert_int_equal(freed.packs, 4);
	assert_int_equal(fixture_number(fixture, "SELECT id FROM pack"), 6);
	assert_exactly_alive(fixture, 0, 20, &alive);
	fixture_assert_sound(fixture);
}

static void keeps_one_of_two_copies(void **state)
{
	struct fixture *fixture = *state;
	struct alive alive = { 0 };

	put_range(fixture, 0, 2);
	/* a flush that was rolled back leaves records to which no row refers */
	fixture_put_noise(fixture, SIZE, 2);
	assert_ok(fixture, db_begin(fixture->db, &fixture->err));
	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	db_rollback(fixture->db);
	put_range(fixture, 2, 4);
	for (uint64_t seed = 0; seed < 4; seed++)
		add_alive(&alive, seed);
	struct store_stats freed = sweep(fixture, &alive);
	assert_int_equal(freed.objects, 0);
	assert_int_equal(freed.bytes, SIZE + PACK_HEADER);
	assert_exactly_alive(fixture, 0, 4, &alive);
	fixture_assert_sound(fixture);
}

static void flushes_what_is_pending_first(void **state)
{
	struct fixture *fixture = *state;
	struct alive alive = { 0 };

	fixture_put_noise(fixture, SIZE, 1);
	fixture_put_noise(fixture, SIZE, 2);
	add_alive(&alive, 1);
	assert_int_equal(sweep(fixture, &alive).objects, 1);
	assert_exactly_alive(fixture, 0, 4, &alive);
	put_range(fixture, 2, 4);
	assert_true(fixture_holds_noise(fixture, SIZE, 3));
	fixture_assert_sound(fixture);
}

static void removes_orphans_nobody_writes_to(void **state)
{
	struct fixture *fixture = *state;
	struct alive alive = { 0 };

	put_range(fixture, 0, 1);
	add_alive(&alive, 0);
	int dead = fixture_pack_open(fixture, 7, O_RDWR | O_CREAT);
	int held = fixture_pack_open(fixture, 8, O_RDWR | O_CREAT);
	assert_int_equal(pwrite(dead, PACK_MAGIC, PACK_START, 0), PACK_START);
	assert_int_equal(flock(held, LOCK_EX | LOCK_NB), 0);
	struct store_stats freed = sweep(fixture, &alive);
	assert_int_equal(freed.bytes, PACK_START);
	assert_int_equal(fixture_pack_size(fixture, 7), -1);
	assert_int_equal(fixture_pack_size(fixture, 8), 0);
	assert_exactly_alive(fixture, 0, 1, &alive);
	close(dead);
	close(held);
}

static void serves_a_reader_that_was_open_before(void **state)
{
	struct fixture *fixture = *state;
	struct fixture reader = *fixture;
	struct alive alive = { 0 };

	put_range(fixture, 0, 10);
	fixture_open(&reader, STORE_READ_ONLY);
	assert_true(fixture_holds_noise(&reader, SIZE, 4));
	add_alive(&alive, 4);
	add_alive(&alive, 5);
	sweep(fixture, &alive);
	assert_true(fixture_holds_noise(&reader, SIZE, 4));
	assert_true(fixture_holds_noise(&reader, SIZE, 5));
	/* all objects go, and the pack is used again while the reader has its file open */
	sweep(fixture, &(struct alive){ 0 });
	put_range(fixture, 20, 24);
	assert_true(fixture_holds_noise(&reader, SIZE, 22));
	fixture_close(&reader);
}

static uint64_t offset_of(struct fixture *fixture, uint64_t seed)
{
	owned_mem char *bytes = fixture_noise(SIZE, seed);
	struct store_place place;
	struct object_key key = { .type = OBJECT_BLOB };

	hash_of(bytes, SIZE, &key.hash);
	assert_int_equal(store_find(fixture->store, &key, &place, &fixture->err), 1);
	return place.offset;
}

static void assert_damage_reported(struct fixture *fixture, struct alive *alive)
{
	struct store_stats freed = { 0 };

	assert_int_equal(fixture_sweep(fixture, is_alive, alive, &freed), -ERR_CORRUPT);
	assert_non_null(strstr(fixture->err.text, "fsck"));
}

static void leaves_a_damaged_living_record_where_it_is(void **state)
{
	struct fixture *fixture = *state;
	struct alive alive = { 0 };

	put_range(fixture, 0, 10);
	for (uint64_t seed = 0; seed < 5; seed++)
		add_alive(&alive, seed);
	fixture_flip(fixture, 1, offset_of(fixture, 2) + PACK_HEADER + 99);
	for (int i = 0; i < 2; i++) {
		assert_damage_reported(fixture, &alive);
		assert_true(fixture_pack_size(fixture, 1) > 0);
		assert_int_equal(fixture_number(fixture, "SELECT count(*) FROM every_object"), 5);
		for (uint64_t seed = 0; seed < 5; seed++)
			assert_int_equal(fixture_holds_noise(fixture, SIZE, seed), seed != 2);
	}
	/* when the bit is flipped back, the object can be read again */
	fixture_flip(fixture, 1, offset_of(fixture, 2) + PACK_HEADER + 99);
	sweep(fixture, &alive);
	assert_exactly_alive(fixture, 0, 10, &alive);
	fixture_assert_sound(fixture);
}

static void keeps_a_pack_whose_headers_are_damaged(void **state)
{
	/* magic, type, stored length, raw length, hash */
	static const unsigned at[] = { 0, 4, 9, 13, 20 };
	struct fixture *fixture = *state;
	struct alive alive = { 0 };

	put_range(fixture, 0, 10);
	for (uint64_t seed = 0; seed < 5; seed++)
		add_alive(&alive, seed);
	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		uint64_t offset = offset_of(fixture, 2) + at[i];

		fixture_flip(fixture, 1, offset);
		assert_damage_reported(fixture, &alive);
		fixture_flip(fixture, 1, offset);
		assert_true(fixture_holds_noise(fixture, SIZE, 2));
	}
	sweep(fixture, &alive);
	assert_exactly_alive(fixture, 0, 10, &alive);
	fixture_assert_sound(fixture);
}

static void goes_on_when_a_pack_file_is_missing(void **state)
{
	struct fixture *fixture = *state;
	struct alive alive = { 0 };

	put_range(fixture, 0, 4);
	fixture_next_pack(fixture);
	put_range(fixture, 4, 8);
	fixture_remove_pack(fixture, 1);
	for (uint64_t seed = 0; seed < 6; seed++)
		add_alive(&alive, seed);
	assert_damage_reported(fixture, &alive);
	assert_true(fixture_holds_noise(fixture, SIZE, 5));
	assert_false(fixture_holds_noise(fixture, SIZE, 6));
	assert_int_equal(fixture_number(fixture, "SELECT count(*) FROM every_object"), 6);
}

/* Ends the process after live() was called 'left' times. */
struct doomed {
	struct alive *alive;
	int left;
};

static bool is_alive_for_a_while(void *arg, const struct object_key *key)
{
	struct doomed *doomed = arg;

	if (!doomed->left--)
		_exit(0);
	return is_alive(doomed->alive, key);
}

static void survives_being_killed_anywhere(void **state)
{
	struct fixture *fixture = *state;
	struct alive alive = { 0 };

	for (uint64_t pack = 0; pack < 4; pack++) {
		fixture_next_pack(fixture);
		put_range(fixture, 5 * pack, 5 * pack + 5);
	}
	for (uint64_t seed = 0; seed < 20; seed += 3)
		add_alive(&alive, seed);
	fixture_close(fixture);
	for (int i = 0; i < 20; i += 2) {
		pid_t pid = fork();

		if (!pid) {
			struct doomed doomed = { &alive, i };
			struct store_stats freed;

			fixture_open(fixture, 0);
			(void)fixture_sweep(fixture, is_alive_for_a_while, &doomed, &freed);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		fixture_open(fixture, 0);
		for (size_t k = 0; k < 20; k += 3)
			assert_true(fixture_holds_noise(fixture, SIZE, k));
		fixture_assert_sound(fixture);
		fixture_close(fixture);
	}
	fixture_open(fixture, 0);
	sweep(fixture, &alive);
	assert_exactly_alive(fixture, 0, 20, &alive);
	fixture_assert_sound(fixture);
}

/* Another writer.  The sweep lets it write before each pack. */
struct busy {
	struct alive alive; /* must be the first member, for is_alive */
	struct fixture *fixture;
	unsigned turns;
	bool open;
};

/* Store an object that exists, is dead and was not swept yet.  Also store a new object. */
static int take_turn(void *arg, struct err *err)
{
	struct busy *busy = arg;
	struct fixture other = *busy->fixture;
	uint64_t again = 5 * (busy->turns + 1) + 1, fresh = 1000 + busy->turns;

	assert_false(busy->open);
	busy->open = true;
	fixture_open(&other, 0);
	if (again < 20) {
		fixture_put_noise(&other, SIZE, again);
		add_alive(&busy->alive, again);
	}
	fixture_put_noise(&other, SIZE, fresh);
	add_alive(&busy->alive, fresh);
	assert_ok(&other, store_flush(other.store, &other.err));
	fixture_close(&other);
	busy->turns++;
	return 0;
}

static void end_turn(void *arg)
{
	((struct busy *)arg)->open = false;
}

static void lets_others_write_between_packs(void **state)
{
	struct fixture *fixture = *state;
	struct busy busy = { .fixture = fixture };
	const struct store_sweeper sweeper = {
		.live = is_alive, .begin = take_turn, .end = end_turn, .arg = &busy
	};
	struct store_stats freed = { 0 };

	for (uint64_t pack = 0; pack < 4; pack++) {
		if (pack)
			fixture_next_pack(fixture);
		put_range(fixture, 5 * pack, 5 * pack + 5);
	}
	for (uint64_t seed = 0; seed < 20; seed += 5)
		add_alive(&busy.alive, seed);
	assert_ok(fixture, store_sweep(fixture->store, &sweeper, &freed, &fixture->err));
	/*
	 * one turn for each of the 4 packs, and one more for the last pack, whose rows were counted
	 * again
	 */
	assert_int_equal(busy.turns, 5);
	assert_false(busy.open);
	assert_true(freed.objects > 8);
	assert_exactly_alive(fixture, 0, 1005, &busy.alive);
	fixture_assert_sound(fixture);
}

#define TINY 64
#define TINY_OBJECTS 4000 /* number of objects in one pack; they take several slices */

/* Before each slice, store one of the last objects of the pack again, and a new object. */
static int take_slice(void *arg, struct err *err)
{
	struct busy *busy = arg;
	struct fixture other = *busy->fixture;
	uint64_t seeds[] = { TINY_OBJECTS - 1 - busy->turns, 2 * TINY_OBJECTS + busy->turns };

	assert_false(busy->open);
	busy->open = true;
	fixture_open(&other, 0);
	for (size_t i = 0; i < 2 && busy->alive.count < 60; i++) {
		owned_mem char *bytes = fixture_noise(TINY, seeds[i]);

		fixture_put_noise(&other, TINY, seeds[i]);
		hash_of(bytes, TINY, &busy->alive.list[busy->alive.count++]);
	}
	assert_ok(&other, store_flush(other.store, &other.err));
	fixture_close(&other);
	busy->turns++;
	return 0;
}

static void lets_others_write_while_it_is_at_one_pack(void **state)
{
	struct fixture *fixture = *state;
	struct busy busy = { .fixture = fixture };
	const struct store_sweeper sweeper = {
		.live = is_alive, .begin = take_slice, .end = end_turn, .arg = &busy
	};
	struct store_stats freed = { 0 }, stats;

	for (uint64_t seed = 0; seed < TINY_OBJECTS; seed++)
		fixture_put_noise(fixture, TINY, seed);
	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	assert_ok(fixture, store_sweep(fixture->store, &sweeper, &freed, &fixture->err));
	assert_true(busy.turns >= 4);
	assert_false(busy.open);
	assert_ok(fixture, store_stats(fixture->store, &stats, &fixture->err));
	assert_int_equal(stats.objects, busy.alive.count);
	for (size_t i = 0; i < busy.alive.count; i++)
		assert_int_equal(
			store_has(fixture->store, OBJECT_BLOB, &busy.alive.list[i], &fixture->err),
			1);
	fixture_assert_sound(fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture_test(frees_the_dead_and_keeps_the_living),
		fixture_test(does_nothing_the_second_time),
		fixture_test(leaves_a_pack_with_little_dead_in_place),
		fixture_test(empties_the_newest_pack_but_keeps_its_number),
		fixture_test(puts_small_packs_together),
		fixture_test(keeps_one_of_two_copies),
		fixture_test(flushes_what_is_pending_first),
		fixture_test(removes_orphans_nobody_writes_to),
		fixture_test(serves_a_reader_that_was_open_before),
		fixture_test(leaves_a_damaged_living_record_where_it_is),
		fixture_test(keeps_a_pack_whose_headers_are_damaged),
		fixture_test(goes_on_when_a_pack_file_is_missing),
		fixture_test(survives_being_killed_anywhere),
		fixture_test(lets_others_write_between_packs),
		fixture_test(lets_others_write_while_it_is_at_one_pack),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
