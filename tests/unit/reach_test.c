/* Tests of reach: the set of objects that trees need. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "history/reach.h"
#include "history_fixture.h"

#define DEPTH 16384

static struct object_key numbered(uint64_t n, enum object_type type)
{
	struct object_key key = { .type = type };

	memcpy(key.hash.bytes, &n, sizeof(n));
	return key;
}

static void the_set_has_what_was_added_and_nothing_else(void **state)
{
	owned(reach_release) struct reach reach;

	reach_init(&reach, NULL);
	struct object_key none = numbered(0, OBJECT_BLOB);
	assert_false(reach_has(&reach, &none));
	for (uint64_t i = 0; i < 100000; i++) {
		struct object_key key = numbered(i, OBJECT_BLOB);

		assert_true(reach_add(&reach, &key));
		assert_false(reach_add(&reach, &key));
	}
	assert_int_equal(reach.count, 100000);
	assert_true(reach.cap <= 262144);
	for (uint64_t i = 0; i < 200000; i++) {
		struct object_key blob = numbered(i, OBJECT_BLOB), tree = numbered(i, OBJECT_TREE);

		assert_int_equal(reach_has(&reach, &blob), i < 100000);
		assert_false(reach_has(&reach, &tree));
	}
}

static void every_byte_of_a_name_counts(void **state)
{
	owned(reach_release) struct reach reach;

	reach_init(&reach, NULL);
	for (size_t i = 0; i < HASH_SIZE; i++)
		for (int bit = 0; bit < 8; bit++) {
			struct object_key key = { .type = OBJECT_TREE };

			key.hash.bytes[i] = (uint8_t)(1 << bit);
			assert_true(reach_add(&reach, &key));
		}
}

struct seen {
	uint64_t count[OBJECT_TYPE_END];
	uint64_t total;
	uint64_t stop_at;
};

static int see(void *arg, const struct object_key *key, struct err *err)
{
	struct seen *seen = arg;

	seen->count[key->type]++;
	if (++seen->total == seen->stop_at)
		return err_set(err, ERR_LIMIT, "enough");
	return 0;
}

/* Check that the set has every object of the store, and that each object was visited once. */
static void assert_whole_store(struct past *past, struct reach *reach, const struct seen *seen)
{
	past_ok(past, store_flush(past->fixture->store, past_err(past)));
	struct db_query *query = db_query(
		past->fixture->db, past_err(past), "SELECT hash, type FROM every_object", "");
	assert_non_null(query);
	uint64_t count = 0;
	while (db_step(query, past_err(past)) > 0) {
		struct object_key key = { .type = (enum object_type)db_int(query, 1) };

		memcpy(key.hash.bytes, db_bytes(query, 0).ptr, HASH_SIZE);
		assert_true(reach_has(reach, &key));
		count++;
	}
	assert_int_equal(seen->total, count);
	assert_int_equal(reach->count, count);
}

static struct hash put_xattrs(struct past *past, const char *value)
{
	owned(buf_release) struct buf bytes = BUF_INIT;
	struct xattr xattr = { STR("user.x"), str_of(value) };
	struct hash hash;

	xattrs_encode(&xattr, 1, &bytes);
	past_ok(past, store_put(past->fixture->store, OBJECT_XATTRS, bytes.data, bytes.len, &hash,
			      past_err(past)));
	return hash;
}

/* Returns a file of n chunks of one byte each, of which a third are holes. */
static struct entry chunked(struct past *past, struct str name, size_t n)
{
	struct entry entry = {
		.name = name, .type = ENTRY_FILE, .content = ENTRY_CHUNKS, .size = n
	};
	owned_mem struct content_piece *pieces = mem_zalloc(n * sizeof(*pieces));

	for (size_t i = 0; i < n; i++) {
		char byte = (char)i;

		pieces[i].length = 1;
		pieces[i].hole = i % 3 == 1;
		if (!pieces[i].hole)
			past_ok(past, store_put(past->fixture->store, OBJECT_BLOB, &byte, 1,
					      &pieces[i].hash, past_err(past)));
	}
	past_ok(past,
		content_put_list(past->fixture->store, pieces, n, &entry.hash, past_err(past)));
	return entry;
}

static void a_tree_needs_everything_below_it(void **state)
{
	struct past *past = *state;
	owned_mem struct treebuild *build = mem_alloc(sizeof(*build));
	owned(reach_release) struct reach reach;
	struct seen seen = { 0 };

	/*
	 * A large directory, whose tree nodes have several levels, is in a directory with all kinds
	 * of entries.
	 */
	treebuild_init(build, past->fixture->store);
	for (int i = 0; i < 20000; i++) {
		char name[16], content[16];
		struct str text = { content,
			(size_t)snprintf(content, sizeof(content), "%d", i % 7000) };

		snprintf(name, sizeof(name), "%08d", i);
		struct entry file = past_file(past, str_of(name), text);
		past_ok(past, treebuild_add(build, &file, past_err(past)));
	}
	struct entry big = {
		.name = STR("big"), .type = ENTRY_DIR, .xattrs = put_xattrs(past, "dir")
	};
	past_ok(past, treebuild_finish(build, &big, past_err(past)));
	struct entry chunks = chunked(past, STR("chunks"), 10000);
	chunks.xattrs = put_xattrs(past, "file");
	struct entry others[] = {
		big,
		chunks,
		{ .name = STR("device"),
			.type = ENTRY_CHAR,
			.major = 1,
			.xattrs = put_xattrs(past, "dev") },
		{ .name = STR("empty"), .type = ENTRY_FILE },
		{ .name = STR("link"), .type = ENTRY_LINK, .target = STR("big") },
		{ .name = STR("none"), .type = ENTRY_DIR },
		{ .name = STR("unread"), .type = ENTRY_FILE, .content = ENTRY_UNREAD, .size = 9 },
	};
	for (size_t i = 0; i < COUNT(others); i++)
		past_ok(past, treebuild_add(build, &others[i], past_err(past)));
	struct hash tree = past_root(past, build);
	treebuild_release(build);

	reach_init(&reach, past->fixture->store);
	reach.visit = see;
	reach.arg = &seen;
	past_ok(past, reach_tree(&reach, &tree, past_err(past)));
	assert_whole_store(past, &reach, &seen);
	/* the blobs "0" to "9" are both files and chunks */
	assert_int_equal(seen.count[OBJECT_BLOB], 7000 + 256 - 10);
	assert_int_equal(seen.count[OBJECT_XATTRS], 3);
	assert_int_equal(seen.count[OBJECT_CHUNKS], 4);
	assert_true(seen.count[OBJECT_TREE] > 200);

	/* adding the tree again adds no object */
	past_ok(past, reach_tree(&reach, &tree, past_err(past)));
	assert_int_equal(seen.total, reach.count);
}

static void what_is_shared_is_visited_once(void **state)
{
	struct past *past = *state;
	owned(reach_release) struct reach reach;
	struct seen seen = { 0 };

	struct hash one = past_tree(past, "a=1 d/x=1 d/y=2 e/x=1 e/y=2");
	struct hash two = past_tree(past, "a=2 d/x=1 d/y=2 e/x=1 e/y=2");
	past_ok(past, store_flush(past->fixture->store, past_err(past)));
	reach_init(&reach, past->fixture->store);
	reach.visit = see;
	reach.arg = &seen;
	past_ok(past, reach_tree(&reach, &one, past_err(past)));
	assert_int_equal(seen.count[OBJECT_BLOB], 2);
	assert_int_equal(seen.count[OBJECT_TREE], 3);
	past_ok(past, reach_tree(&reach, &two, past_err(past)));
	assert_int_equal(seen.count[OBJECT_BLOB], 2);
	assert_int_equal(seen.count[OBJECT_TREE], 5);
	assert_whole_store(past, &reach, &seen);
}

static void no_tree_is_too_deep(void **state)
{
	struct past *past = *state;
	owned_mem struct treebuild *build = mem_alloc(sizeof(*build));
	owned(reach_release) struct reach reach;
	struct entry dir = past_file(past, STR("bottom"), STR("here"));

	treebuild_init(build, past->fixture->store);
	for (int i = 0; i < DEPTH; i++) {
		past_ok(past, treebuild_add(build, &dir, past_err(past)));
		dir = (struct entry){ .name = STR("d"), .type = ENTRY_DIR };
		past_ok(past, treebuild_finish(build, &dir, past_err(past)));
	}
	past_ok(past, treebuild_add(build, &dir, past_err(past)));
	struct hash tree = past_root(past, build);
	treebuild_release(build);
	reach_init(&reach, past->fixture->store);
	past_ok(past, reach_tree(&reach, &tree, past_err(past)));
	assert_int_equal(reach.count, DEPTH + 3);
}

static void the_visitor_can_stop_the_walk(void **state)
{
	struct past *past = *state;
	owned(reach_release) struct reach reach;
	struct seen seen = { .stop_at = 3 };
	struct hash tree = past_tree(past, "a=1 b=2 d/x=1 d/y=2");
	struct err err = { 0 };

	reach_init(&reach, past->fixture->store);
	reach.visit = see;
	reach.arg = &seen;
	assert_int_equal(reach_tree(&reach, &tree, &err), -ERR_LIMIT);
	assert_string_equal(err.text, "enough");
	assert_int_equal(seen.total, 3);
}

static void a_missing_or_malformed_object_is_an_error(void **state)
{
	struct past *past = *state;
	owned(reach_release) struct reach reach;
	struct hash missing = { { 1 } }, junk;
	struct err err = { 0 };

	reach_init(&reach, past->fixture->store);
	assert_int_equal(reach_tree(&reach, &missing, &err), -ERR_CORRUPT);
	assert_non_null(strstr(err.text, "missing"));
	past_ok(past,
		store_put(past->fixture->store, OBJECT_TREE, "junk", 4, &junk, past_err(past)));
	assert_int_equal(reach_tree(&reach, &junk, &err), -ERR_CORRUPT);
	assert_non_null(strstr(err.text, "malformed"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_set_has_what_was_added_and_nothing_else),
		cmocka_unit_test(every_byte_of_a_name_counts),
		past_test(a_tree_needs_everything_below_it),
		past_test(what_is_shared_is_visited_once),
		past_test(no_tree_is_too_deep),
		past_test(the_visitor_can_stop_the_walk),
		past_test(a_missing_or_malformed_object_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
