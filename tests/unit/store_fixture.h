/*
 * store_fixture - a real, empty store in a new directory, for tests.
 *
 * Include this header after <cmocka.h>.
 */
#pragma once
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/zstd.h"
#include "store/pack.h"
#include "store/store.h"

struct fixture {
	char path[256];
	int parentfd;
	int rootfd;
	struct db *db;
	struct store *store;
	struct err err;
};

#define assert_ok(fixture, call)                                                                   \
	do {                                                                                       \
		int r_ = (call);                                                                   \
		if (r_ < 0)                                                                        \
			print_error("%s\n", (fixture)->err.text);                                  \
		assert_true(r_ >= 0);                                                              \
	} while (0)

static inline void fixture_open(struct fixture *fixture, unsigned flags)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/strata.db", fixture->path);
	fixture->db =
		db_open(path, flags & STORE_READ_ONLY ? DB_READ_ONLY : DB_CREATE, &fixture->err);
	assert_non_null(fixture->db);
	fixture->store = store_open(fixture->rootfd, fixture->db, flags, &fixture->err);
	assert_non_null(fixture->store);
}

static inline void fixture_close(struct fixture *fixture)
{
	store_close(fixture->store);
	db_close(fixture->db);
	fixture->store = NULL;
	fixture->db = NULL;
}

static inline void fixture_reopen(struct fixture *fixture)
{
	fixture_close(fixture);
	fixture_open(fixture, 0);
}

static inline int fixture_setup(void **state)
{
	struct fixture *fixture = mem_zalloc(sizeof(*fixture));
	const char *tmp = getenv("TMPDIR");
	char path[300];

	snprintf(fixture->path, sizeof(fixture->path), "%s/strata-test-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(fixture->path))
		return -1;
	fixture->rootfd = open(fixture->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fixture->parentfd = open(tmp ? tmp : "/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (mkdirat(fixture->rootfd, "packs", 0700) < 0)
		return -1;
	snprintf(path, sizeof(path), "%s/strata.db", fixture->path);
	fixture->db = db_open(path, DB_CREATE, &fixture->err);
	if (!fixture->db || db_exec(fixture->db, store_schema, &fixture->err) < 0)
		return -1;
	db_close(fixture->db);
	fixture_open(fixture, 0);
	*state = fixture;
	return 0;
}

static inline int fixture_teardown(void **state)
{
	struct fixture *fixture = *state;

	fixture_close(fixture);
	(void)at_remove_tree(fixture->parentfd, strrchr(fixture->path, '/') + 1, &fixture->err);
	close(fixture->rootfd);
	close(fixture->parentfd);
	free(fixture);
	zstd_thread_end();
	return 0;
}

#define fixture_test(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

/* Returns bytes that cannot be compressed.  The same seed gives the same bytes. */
static inline char *fixture_noise(size_t len, uint64_t seed)
{
	uint64_t x = seed * 0x9e3779b97f4a7c15u + 1;
	char *bytes = mem_alloc(len);

	for (size_t i = 0; i < len; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		bytes[i] = (char)(x >> 32);
	}
	return bytes;
}

static inline struct hash fixture_put(struct fixture *fixture, const void *bytes, size_t len)
{
	struct hash hash;

	assert_ok(
		fixture, store_put(fixture->store, OBJECT_BLOB, bytes, len, &hash, &fixture->err));
	return hash;
}

static inline struct hash fixture_put_noise(struct fixture *fixture, size_t len, uint64_t seed)
{
	owned_mem char *bytes = fixture_noise(len, seed);

	return fixture_put(fixture, bytes, len);
}

/* Whether the store has an object with exactly these bytes. */
static inline bool fixture_holds(
	struct fixture *fixture, const struct hash *hash, const void *bytes, size_t len)
{
	owned(buf_release) struct buf out = BUF_INIT;
	struct err ignored = { 0 };

	return store_get(fixture->store, OBJECT_BLOB, hash, &out, &ignored) >= 0 &&
	       out.len == len && (!len || !memcmp(out.data, bytes, len));
}

static inline bool fixture_holds_noise(struct fixture *fixture, size_t len, uint64_t seed)
{
	owned_mem char *bytes = fixture_noise(len, seed);
	struct hash hash;

	hash_of(bytes, len, &hash);
	return fixture_holds(fixture, &hash, bytes, len);
}

static inline int64_t fixture_number(struct fixture *fixture, const char *sql)
{
	struct db_query *query = db_query(fixture->db, &fixture->err, sql, "");

	assert_non_null(query);
	assert_int_equal(db_step(query, &fixture->err), 1);
	int64_t number = db_int(query, 0);
	db_done(query);
	return number;
}

static inline int fixture_pack_open(struct fixture *fixture, uint32_t pack, int flags)
{
	char name[32];

	snprintf(name, sizeof(name), "packs/%08x.pack", pack);
	return openat(fixture->rootfd, name, flags | O_CLOEXEC, 0600);
}

static inline off_t fixture_pack_size(struct fixture *fixture, uint32_t pack)
{
	owned_fd int fd = fixture_pack_open(fixture, pack, O_RDONLY);
	struct stat st;

	return fd < 0 || fstat(fd, &st) < 0 ? -1 : st.st_size;
}

/* Flip one bit of a pack. */
static inline void fixture_flip(struct fixture *fixture, uint32_t pack, uint64_t offset)
{
	owned_fd int fd = fixture_pack_open(fixture, pack, O_RDWR);
	uint8_t byte;

	assert_int_equal(pread(fd, &byte, 1, (off_t)offset), 1);
	byte ^= 0x10;
	assert_int_equal(pwrite(fd, &byte, 1, (off_t)offset), 1);
}

static inline void fixture_truncate(struct fixture *fixture, uint32_t pack, off_t size)
{
	owned_fd int fd = fixture_pack_open(fixture, pack, O_RDWR);

	assert_int_equal(ftruncate(fd, size), 0);
}

static inline void fixture_remove_pack(struct fixture *fixture, uint32_t pack)
{
	char name[32];

	snprintf(name, sizeof(name), "packs/%08x.pack", pack);
	assert_int_equal(unlinkat(fixture->rootfd, name, 0), 0);
}

/* Have the next object written to a new pack. */
static inline void fixture_next_pack(struct fixture *fixture)
{
	owned_fd int fd = -1;

	fixture_reopen(fixture);
	fd = fixture_pack_open(fixture,
		(uint32_t)fixture_number(fixture, "SELECT coalesce(max(id), 0) FROM pack") + 1,
		O_RDWR | O_CREAT | O_EXCL);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, PACK_MAGIC, PACK_START, 0), PACK_START);
	assert_ok(fixture, db_exec(fixture->db,
				   "INSERT INTO pack SELECT coalesce(max(id), 0) + 1, 16 FROM pack",
				   &fixture->err));
}

static inline int fixture_sweep(struct fixture *fixture,
	bool (*live)(void *arg, const struct object_key *key), void *arg, struct store_stats *freed)
{
	const struct store_sweeper sweeper = { .live = live, .arg = arg };

	return store_sweep(fixture->store, &sweeper, freed, &fixture->err);
}

/* The faults that store_verify reports.  'text' has one line for each. */
struct fixture_faults {
	size_t count;
	size_t objects; /* number of these faults that have a key */
	struct buf text;
	struct object_key last;
};

static inline void fixture_fault(void *arg, const struct store_fault *fault)
{
	struct fixture_faults *faults = arg;

	faults->count++;
	if (fault->key.type) {
		faults->objects++;
		faults->last = fault->key;
	}
	buf_addf(&faults->text, "%s%s\n", fault->key.type ? "object: " : "", fault->what);
}

/* Returns the lines of all faults, or "" if there are none. */
static inline char *fixture_verify(struct fixture *fixture)
{
	struct fixture_faults faults = { .text = BUF_INIT };
	struct store_verify verify = { .fault = fixture_fault, .arg = &faults };

	buf_adds(&faults.text, "");
	assert_ok(fixture, store_verify(fixture->store, &verify, &fixture->err));
	return faults.text.data;
}

static inline void fixture_assert_sound(struct fixture *fixture)
{
	owned_mem char *faults = fixture_verify(fixture);

	assert_string_equal(faults, "");
}
