/* Tests of store: put, get and flush, several writers, and the data that a killed writer leaves. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "store/store_priv.h"

#include "store/store_priv.h"
#include "store_fixture.h"

static void gives_back_what_was_put(void **state)
{
	struct fixture *fixture = *state;
	static const char text[] =
		"some text, some text, some text, some text, some text, some text";
	struct hash hash = fixture_put(fixture, text, sizeof(text));

	assert_true(fixture_holds(fixture, &hash, text, sizeof(text)));
	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	assert_true(fixture_holds(fixture, &hash, text, sizeof(text)));
	fixture_reopen(fixture);
	assert_true(fixture_holds(fixture, &hash, text, sizeof(text)));
	fixture_assert_sound(fixture);
}

static void keeps_any_size(void **state)
{
	static const size_t sizes[] = { 0, 1, 63, 64, 65, 4096, 1 << 20, 5 << 20 };
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		owned_mem char *zeros = mem_zalloc(sizes[i]);

		fixture_put_noise(fixture, sizes[i], i);
		fixture_put(fixture, zeros, sizes[i]);
	}
	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	fixture_reopen(fixture);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		owned_mem char *zeros = mem_zalloc(sizes[i]);
		struct hash hash;

		hash_of(zeros, sizes[i], &hash);
		assert_true(fixture_holds(fixture, &hash, zeros, sizes[i]));
		assert_true(fixture_holds_noise(fixture, sizes[i], i));
	}
	fixture_assert_sound(fixture);
}

static void names_an_object_by_its_sha256(void **state)
{
	struct fixture *fixture = *state;
	struct hash hash = fixture_put(fixture, "abc", 3);
	char hex[HASH_HEX];

	assert_string_equal(hash_hex(&hash, hex),
		"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void stores_the_same_content_once(void **state)
{
	struct fixture *fixture = *state;
	struct store_stats stats;

	for (int i = 0; i < 3; i++)
		fixture_put_noise(fixture, 1000, 1);
	assert_int_equal(store_added(fixture->store).objects, 1);
	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	fixture_put_noise(fixture, 1000, 1);
	fixture_reopen(fixture);
	fixture_put_noise(fixture, 1000, 1);
	assert_int_equal(store_added(fixture->store).objects, 0);
	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	assert_ok(fixture, store_stats(fixture->store, &stats, &fixture->err));
	assert_int_equal(stats.objects, 1);
	assert_int_equal(stats.raw_bytes, 1000);
	assert_int_equal(stats.bytes, 1000 + PACK_HEADER);
	assert_int_equal(stats.packs, 1);
}

static void tells_types_apart(void **state)
{
	struct fixture *fixture = *state;
	owned(buf_release) struct buf out = BUF_INIT;
	struct hash blob = fixture_put(fixture, "x", 1);
	struct hash tree;

	assert_int_equal(store_has(fixture->store, OBJECT_TREE, &blob, &fixture->err), 0);
	assert_int_equal(
		store_get(fixture->store, OBJECT_TREE, &blob, &out, &fixture->err), -ERR_CORRUPT);
	assert_int_equal(out.len, 0);
	assert_ok(fixture, store_put(fixture->store, OBJECT_TREE, "x", 1, &tree, &fixture->err));
	assert_true(hash_eq(&blob, &tree));
	assert_int_equal(store_has(fixture->store, OBJECT_TREE, &blob, &fixture->err), 1);
	assert_int_equal(store_added(fixture->store).objects, 2);
}

static void refuses_an_object_beyond_the_limit(void **state)
{
	struct fixture *fixture = *state;
	owned_mem char *bytes = mem_zalloc(OBJECT_MAX + 1);
	struct hash hash;

	assert_int_equal(
		store_put(fixture->store, OBJECT_BLOB, bytes, OBJECT_MAX + 1, &hash, &fixture->err),
		-ERR_LIMIT);
	hash = fixture_put(fixture, bytes, OBJECT_MAX);
	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	assert_true(fixture_holds(fixture, &hash, bytes, OBJECT_MAX));
}

static void does_not_grow_what_cannot_be_compressed(void **state)
{
	struct fixture *fixture = *state;
	struct store_stats added;

	fixture_put_noise(fixture, 100000, 7);
	added = store_added(fixture->store);
	assert_int_equal(added.bytes, 100000 + PACK_HEADER);
}

static void squeezes_what_can_be_compressed(void **state)
{
	struct fixture *fixture = *state;
	owned_mem char *zeros = mem_zalloc(100000);

	fixture_put(fixture, zeros, 100000);
	assert_true(store_added(fixture->store).bytes < 1000);
}

static void forgets_only_what_was_not_flushed(void **state)
{
	struct fixture *fixture = *state;

	fixture_put_noise(fixture, 500, 1);
	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	/* the object exceeds the output buffer, so a part of it is in the file */
	fixture_put_noise(fixture, 3 << 20, 2);
	fixture_put_noise(fixture, 500, 3);
	assert_true(fixture_holds_noise(fixture, 3 << 20, 2));
	fixture_reopen(fixture);
	assert_true(fixture_holds_noise(fixture, 500, 1));
	assert_false(fixture_holds_noise(fixture, 3 << 20, 2));
	assert_false(fixture_holds_noise(fixture, 500, 3));
	fixture_assert_sound(fixture);
}

static void cuts_off_the_tail_of_a_dead_writer(void **state)
{
	struct fixture *fixture = *state;

	fixture_put_noise(fixture, 500, 1);
	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	off_t size = fixture_pack_size(fixture, 1);
	fixture_put_noise(fixture, 3 << 20, 2);
	fixture_reopen(fixture);
	assert_true(fixture_pack_size(fixture, 1) > size);

	fixture_put_noise(fixture, 100, 4);
	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	assert_int_equal(fixture_pack_size(fixture, 1), size + PACK_HEADER + 100);
	assert_int_equal(fixture_number(fixture, "SELECT count(*) FROM pack"), 1);
	assert_true(fixture_holds_noise(fixture, 500, 1));
	assert_true(fixture_holds_noise(fixture, 100, 4));
	fixture_assert_sound(fixture);
}

static void leaves_a_pack_shorter_than_its_row_alone(void **state)
{
	struct fixture *fixture = *state;

	fixture_put_noise(fixture, 500, 1);
	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	fixture_truncate(fixture, 1, 300);
	fixture_reopen(fixture);
	fixture_put_noise(fixture, 500, 2);
	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	assert_int_equal(fixture_pack_size(fixture, 1), 300);
	assert_true(fixture_pack_size(fixture, 2) > 500);
	assert_true(fixture_holds_noise(fixture, 500, 2));
	assert_false(fixture_holds_noise(fixture, 500, 1));
}

static void flushes_inside_the_callers_transaction(void **state)
{
	struct fixture *fixture = *state;
	struct store_stats stats;

	fixture_put_noise(fixture, 500, 1);
	assert_ok(fixture, db_begin(fixture->db, &fixture->err));
	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	db_rollback(fixture->db);
	assert_false(fixture_holds_noise(fixture, 500, 1));

	/* a later flush succeeds, although the bytes of the first flush have no rows */
	fixture_put_noise(fixture, 500, 1);
	fixture_put_noise(fixture, 500, 2);
	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	assert_true(fixture_holds_noise(fixture, 500, 1));
	assert_ok(fixture, store_stats(fixture->store, &stats, &fixture->err));
	assert_int_equal(stats.objects, 2);
	fixture_assert_sound(fixture);
}

/*
 * Start a process that waits until gate is closed.  It then puts n objects, with a flush after
 * each.
 */
static pid_t start_writer(struct fixture *fixture, const int gate[2], uint64_t seed, int n)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	close(gate[1]);
	struct err err = { 0 };
	char path[300], go;
	snprintf(path, sizeof(path), "%s/strata.db", fixture->path);
	struct db *db = db_open(path, 0, &err);
	struct store *store = db ? store_open(fixture->rootfd, db, 0, &err) : NULL;
	int r = store && read(gate[0], &go, 1) >= 0 ? 0 : -1;
	for (int i = 0; i < n && r >= 0; i++) {
		owned_mem char *bytes = fixture_noise(1000, seed + (uint64_t)i);
		struct hash hash;

		r = store_put(store, OBJECT_BLOB, bytes, 1000, &hash, &err);
		if (r >= 0)
			r = store_flush(store, &err);
	}
	if (r < 0)
		print_error("writer: %s\n", err.text);
	store_close(store);
	db_close(db);
	_exit(r < 0);
}

static void lets_two_processes_write_at_once(void **state)
{
	struct fixture *fixture = *state;
	int gate[2], status;

	fixture_close(fixture);
	assert_int_equal(pipe(gate), 0);
	/* half of the objects of the two writers are the same */
	pid_t first = start_writer(fixture, gate, 100, 40);
	pid_t second = start_writer(fixture, gate, 120, 40);
	close(gate[0]);
	close(gate[1]);
	assert_int_equal(waitpid(first, &status, 0), first);
	assert_int_equal(status, 0);
	assert_int_equal(waitpid(second, &status, 0), second);
	assert_int_equal(status, 0);

	fixture_open(fixture, 0);
	for (uint64_t seed = 100; seed < 160; seed++)
		assert_true(fixture_holds_noise(fixture, 1000, seed));
	assert_int_equal(fixture_number(fixture, "SELECT count(*) FROM every_object"), 60);
	fixture_assert_sound(fixture);
}

/* The read transaction of store_reading_begin must not decide where the same process writes. */
static void a_reading_writer_does_not_write_over_another(void **state)
{
	struct fixture *fixture = *state;
	struct fixture other = *fixture;
	struct hash first = fixture_put(fixture, "first", 5);

	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	fixture_reopen(fixture);
	store_reading_begin(fixture->store);
	assert_int_equal(store_has(fixture->store, OBJECT_BLOB, &first, &fixture->err), 1);

	fixture_open(&other, 0);
	struct hash theirs = fixture_put_noise(&other, 100000, 7);
	assert_ok(&other, store_flush(other.store, &other.err));
	fixture_close(&other);

	struct hash ours = fixture_put_noise(fixture, 50000, 8);
	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	store_reading_end(fixture->store);
	const struct hash *all[] = { &first, &theirs, &ours };
	for (size_t i = 0; i < 3; i++) {
		owned(buf_release) struct buf bytes = { .max = OBJECT_MAX };

		assert_ok(fixture,
			store_get(fixture->store, OBJECT_BLOB, all[i], &bytes, &fixture->err));
	}
}

static void gives_each_writer_a_pack_of_its_own(void **state)
{
	struct fixture *fixture = *state;
	struct err err = { 0 };
	char path[300];

	fixture_put_noise(fixture, 1000, 1);
	snprintf(path, sizeof(path), "%s/strata.db", fixture->path);
	struct db *db = db_open(path, 0, &err);
	struct store *other = store_open(fixture->rootfd, db, 0, &err);
	owned_mem char *bytes = fixture_noise(1000, 2);
	owned_mem char *same = fixture_noise(1000, 1);
	struct hash hash;
	assert_ok(fixture, store_put(other, OBJECT_BLOB, bytes, 1000, &hash, &fixture->err));
	assert_ok(fixture, store_put(other, OBJECT_BLOB, same, 1000, &hash, &fixture->err));
	assert_ok(fixture, store_flush(other, &fixture->err));
	store_close(other);
	db_close(db);
	assert_ok(fixture, store_flush(fixture->store, &fixture->err));

	assert_int_equal(fixture_number(fixture, "SELECT count(*) FROM pack"), 2);
	assert_int_equal(fixture_number(fixture, "SELECT count(*) FROM every_object"), 2);
	assert_int_equal(
		fixture_number(fixture, "SELECT count(DISTINCT pack) FROM every_object"), 1);
	assert_true(fixture_holds_noise(fixture, 1000, 1));
	assert_true(fixture_holds_noise(fixture, 1000, 2));
	/* an object that both have stored counts once in every total */
	fixture_assert_sound(fixture);
}

static int64_t log_size(struct fixture *fixture, uint32_t *magic)
{
	owned_fd int fd = openat(fixture->rootfd, "strata.db-wal", O_RDONLY | O_CLOEXEC);
	struct stat st;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	*magic = 0;
	assert_true(pread(fd, magic, sizeof(*magic), 0) >= 0);
	return st.st_size;
}

/*
 * The log must be empty after db_checkpoint.  If a part of it looked valid, SQLite would return to
 * an older state of the database.
 */
static void empties_a_long_log_at_once(void **state)
{
	struct fixture *fixture = *state;
	const size_t batches[] = { 1500, STORE_FRESH_BATCH + 16000 };
	uint64_t seed = 0;
	uint32_t magic;

	for (size_t i = 0; i < 2; i++) {
		for (size_t n = 0; n < batches[i]; n++)
			fixture_put_noise(fixture, 16, seed++);
		assert_ok(fixture, store_flush(fixture->store, &fixture->err));
		int64_t before = log_size(fixture, &magic);
		assert_int_not_equal(magic, 0);
		db_checkpoint(fixture->db);
		int64_t after = log_size(fixture, &magic);
		assert_int_equal(magic, 0);
		/* a short log keeps its size, and a long log is truncated */
		assert_int_equal(before > 1 << 20, i == 1);
		assert_int_equal(after, i ? 0 : before);
		fixture_reopen(fixture);
	}
	assert_int_equal(fixture_number(fixture, "SELECT count(*) FROM every_object"), seed);
	fixture_assert_sound(fixture);
}

/*
 * Rows are first inserted into the small table "fresh".  When it has many rows, they are moved to
 * "object".
 */
static void moves_rows_when_there_are_many(void **state)
{
	struct fixture *fixture = *state;
	const size_t batch = 3000, batches = STORE_FRESH_MAX / 3000 + 1;
	struct fixture other = *fixture;
	uint64_t seed = 0;

	for (size_t i = 0; i < batches; i++) {
		/* only the last batch exceeds the limit */
		assert_int_equal(fixture_number(fixture, "SELECT count(*) FROM fresh"), i * batch);
		for (size_t n = 0; n < batch; n++)
			fixture_put_noise(fixture, 16, seed++);
		/*
		 * another store has some of the same objects, not flushed, while the rows are moved
		 */
		if (i == batches - 1) {
			fixture_open(&other, 0);
			fixture_put_noise(&other, 16, 0);
			fixture_put_noise(&other, 16, seed - 1);
			fixture_put_noise(&other, 16, seed);
		}
		assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	}
	assert_int_equal(fixture_number(fixture, "SELECT count(*) FROM fresh"), 0);
	assert_int_equal(fixture_number(fixture, "SELECT count(*) FROM object"), seed);
	assert_ok(&other, store_flush(other.store, &other.err));
	fixture_close(&other);
	assert_int_equal(fixture_number(fixture, "SELECT count(*) FROM fresh"), 1);

	for (size_t n = 0; n < STORE_FRESH_BATCH; n++)
		fixture_put_noise(fixture, 16, ++seed);
	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	assert_int_equal(fixture_number(fixture, "SELECT count(*) FROM fresh"), 1);
	assert_int_equal(fixture_number(fixture, "SELECT count(*) FROM every_object"), seed + 1);
	fixture_reopen(fixture);
	for (uint64_t i = 0; i <= seed; i += 97)
		assert_true(fixture_holds_noise(fixture, 16, i));
	fixture_assert_sound(fixture);
}

/*
 * The rows of a full pack may still be in an open transaction of the first writer when a second
 * writer looks for a pack to continue.
 */
static void holds_a_full_pack_until_its_rows_are_committed(void **state)
{
	struct fixture *fixture = *state;
	owned_fd int fd = -1;

	fixture_put_noise(fixture, 1000, 1);
	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	/* make the store believe that the pack is nearly full, to save the time of filling it */
	fixture->store->out_end = fixture->store->out_synced = STORE_PACK_TARGET - 100;
	assert_ok(fixture, db_begin(fixture->db, &fixture->err));
	fixture_put_noise(fixture, 1000, 2);
	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	fd = fixture_pack_open(fixture, 1, O_RDWR);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), -1);
	fixture_put_noise(fixture, 1000, 3);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), -1);
	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	assert_ok(fixture, db_commit(fixture->db, &fixture->err));

	fixture_put_noise(fixture, 1000, 4);
	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	for (uint64_t seed = 1; seed <= 4; seed++)
		assert_true(fixture_holds_noise(fixture, 1000, seed));
	assert_int_equal(fixture_number(fixture, "SELECT count(*) FROM pack"), 2);
}

static void reads_only_when_opened_read_only(void **state)
{
	struct fixture *fixture = *state;
	struct hash hash;

	fixture_put_noise(fixture, 1000, 1);
	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	fixture_close(fixture);
	fixture_open(fixture, STORE_READ_ONLY);
	assert_true(fixture_holds_noise(fixture, 1000, 1));
	fixture_assert_sound(fixture);
	assert_int_equal(
		store_put(fixture->store, OBJECT_BLOB, "x", 1, &hash, &fixture->err), -ERR_DENIED);
	assert_int_equal(fixture_pack_size(fixture, 2), -1);
}

static void reads_a_copy_nobody_can_write_to(void **state)
{
	struct fixture *fixture = *state;

	fixture_put_noise(fixture, 1000, 1);
	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	fixture_close(fixture);
	assert_int_equal(fchmod(fixture->rootfd, 0500), 0);
	fixture_open(fixture, STORE_READ_ONLY);
	assert_true(fixture_holds_noise(fixture, 1000, 1));
	assert_int_equal(fchmod(fixture->rootfd, 0700), 0);
}

#define THREADS 6

static void *put_many(void *arg)
{
	struct fixture *fixture = arg;
	struct err err = { 0 };
	intptr_t r = 0;

	for (uint64_t i = 0; i < 200 && r >= 0; i++) {
		owned_mem char *bytes = fixture_noise(3000, i);
		struct hash hash;

		/*
		 * half of each object can be compressed, so that threads meet in the middle of a
		 * put
		 */
		memset(bytes, 0, 1500);
		r = store_put(fixture->store, OBJECT_BLOB, bytes, 3000, &hash, &err);
	}
	zstd_thread_end();
	return (void *)r;
}

static void stores_once_what_threads_put_at_the_same_time(void **state)
{
	struct fixture *fixture = *state;
	pthread_t threads[THREADS];
	void *result;

	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, put_many, fixture), 0);
	for (size_t i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &result), 0);
		assert_true((intptr_t)result >= 0);
	}
	assert_int_equal(store_added(fixture->store).objects, 200);
	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	assert_int_equal(fixture_number(fixture, "SELECT count(*) FROM every_object"), 200);
	fixture_assert_sound(fixture);
}

static void skips_a_file_left_by_a_writer_that_never_flushed(void **state)
{
	struct fixture *fixture = *state;
	int fd = fixture_pack_open(fixture, 1, O_RDWR | O_CREAT);

	close(fd);
	fixture_put_noise(fixture, 1000, 1);
	assert_int_equal(fixture->err.code, 0);
	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	assert_int_equal(fixture_number(fixture, "SELECT id FROM pack"), 2);
	assert_int_equal(fixture_pack_size(fixture, 1), 0);
}

static void says_which_object_is_damaged(void **state)
{
	struct fixture *fixture = *state;
	owned(buf_release) struct buf out = BUF_INIT;
	struct hash hash = fixture_put_noise(fixture, 1000, 1);
	char hex[HASH_HEX];

	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	fixture_flip(fixture, 1, PACK_START + PACK_HEADER + 10);
	assert_int_equal(
		store_get(fixture->store, OBJECT_BLOB, &hash, &out, &fixture->err), -ERR_CORRUPT);
	assert_int_equal(out.len, 0);
	hash_hex(&hash, hex);
	hex[12] = '\0';
	assert_non_null(strstr(fixture->err.text, hex));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture_test(gives_back_what_was_put),
		fixture_test(keeps_any_size),
		fixture_test(names_an_object_by_its_sha256),
		fixture_test(stores_the_same_content_once),
		fixture_test(tells_types_apart),
		fixture_test(refuses_an_object_beyond_the_limit),
		fixture_test(does_not_grow_what_cannot_be_compressed),
		fixture_test(squeezes_what_can_be_compressed),
		fixture_test(forgets_only_what_was_not_flushed),
		fixture_test(cuts_off_the_tail_of_a_dead_writer),
		fixture_test(leaves_a_pack_shorter_than_its_row_alone),
		fixture_test(flushes_inside_the_callers_transaction),
		fixture_test(lets_two_processes_write_at_once),
		fixture_test(a_reading_writer_does_not_write_over_another),
		fixture_test(gives_each_writer_a_pack_of_its_own),
		fixture_test(moves_rows_when_there_are_many),
		fixture_test(empties_a_long_log_at_once),
		fixture_test(holds_a_full_pack_until_its_rows_are_committed),
		fixture_test(reads_only_when_opened_read_only),
		fixture_test(reads_a_copy_nobody_can_write_to),
		fixture_test(stores_once_what_threads_put_at_the_same_time),
		fixture_test(skips_a_file_left_by_a_writer_that_never_flushed),
		fixture_test(says_which_object_is_damaged),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
