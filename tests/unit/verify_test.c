/* Tests of verify: each planted fault is found, with the nodes that it affects. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "history/verify.h"
#include "history_fixture.h"

#define START (INT64_C(1700000000) * WHEN_SECOND)
#define FOUND_MAX 64

struct found {
	size_t count;
	struct {
		char what[300];
		char nodes[VERIFY_NODES_LISTED][NODE_ID];
		size_t n_nodes;
		uint64_t total;
	} list[FOUND_MAX];
	struct verify verify;
	uint64_t done, total; /* the progress that was reported last */
	bool backwards;
};

static void note(void *arg, const struct verify_error *error)
{
	struct found *found = arg;

	assert_true(found->count < FOUND_MAX);
	snprintf(found->list[found->count].what, sizeof(found->list[0].what), "%s", error->what);
	found->list[found->count].n_nodes = error->n_nodes;
	found->list[found->count].total = error->total_nodes;
	memcpy(found->list[found->count].nodes, error->nodes, error->n_nodes * NODE_ID);
	found->count++;
}

static void note_progress(void *arg, uint64_t done, uint64_t total)
{
	struct found *found = arg;

	found->backwards |= done < found->done || done > total;
	found->done = done;
	found->total = total;
}

static void verify(struct past *past, struct found *found)
{
	past_reopen(past);
	memset(found, 0, sizeof(*found));
	found->verify = (struct verify){ .error = note, .progress = note_progress, .arg = found };
	past_ok(past, verify_run(&past->history, &found->verify, past_err(past)));
	assert_int_equal(found->verify.errors, found->count);
	assert_false(found->backwards);
	assert_int_equal(found->done, found->total);
}

static void show(const struct found *found)
{
	for (size_t i = 0; i < found->count; i++) {
		print_error("found: %s [", found->list[i].what);
		for (size_t j = 0; j < found->list[i].n_nodes; j++)
			print_error(" %s", found->list[i].nodes[j]);
		print_error(" ]\n");
	}
}

/*
 * Check that a fault was found whose text contains 'says', and which affects exactly the nodes with
 * these numbers.
 */
static void expect(struct past *past, struct found *found, const char *says, const char *numbers)
{
	for (size_t i = 0; i < found->count; i++) {
		size_t matched = 0;

		if (!strstr(found->list[i].what, says))
			continue;
		for (const char *n = numbers; *n; n++)
			for (size_t j = 0; j < found->list[i].n_nodes; j++)
				matched += !strcmp(found->list[i].nodes[j], past->id[*n - '0']);
		if (matched == strlen(numbers) && found->list[i].n_nodes == matched &&
			found->list[i].total == matched) {
			found->list[i].what[0] = '\0'; /* a fault must not be expected twice */
			return;
		}
	}
	show(found);
	fail_msg("not found: %s [%s]", says, numbers);
}

static void expect_count(struct found *found, size_t count)
{
	if (found->count != count) {
		show(found);
		fail_msg("%zu faults, not %zu", found->count, count);
	}
}

/* Returns the offset of an object's record, and sets *pack to its pack. */
static uint64_t place_of(
	struct past *past, enum object_type type, const struct hash *hash, uint32_t *pack)
{
	struct db_query *query = db_query(past->fixture->db, past_err(past),
		"SELECT offset, pack FROM every_object WHERE hash = ? AND type = ?", "bi",
		hash->bytes, (size_t)HASH_SIZE, (int64_t)type);

	assert_non_null(query);
	assert_int_equal(db_step(query, past_err(past)), 1);
	uint64_t offset = (uint64_t)db_int(query, 0);
	*pack = (uint32_t)db_int(query, 1);
	db_done(query);
	return offset;
}

static void flip(struct past *past, enum object_type type, const struct hash *hash)
{
	uint32_t pack;
	uint64_t offset = place_of(past, type, hash, &pack);

	fixture_flip(past->fixture, pack, offset + PACK_HEADER);
}

static void forget(struct past *past, enum object_type type, const struct hash *hash)
{
	past_ok(past, db_run(past->fixture->db, past_err(past),
			      "DELETE FROM fresh WHERE hash = ? AND type = ?", "bi", hash->bytes,
			      (size_t)HASH_SIZE, (int64_t)type));
	assert_int_equal(db_changed(past->fixture->db), 1);
	past_sql(past, "UPDATE total SET objects = (SELECT count(*) FROM every_object),"
		       " raw = (SELECT sum(raw) FROM every_object),"
		       " bytes = (SELECT sum(stored) + 48 * count(*) FROM every_object)");
}

static struct hash blob(const char *content)
{
	struct hash hash;

	hash_of(content, strlen(content), &hash);
	return hash;
}

static void fill_object(const struct hash *hash, const char *type, const char *says, char out[100])
{
	char hex[HASH_HEX];

	snprintf(out, 100, "%s %.12s: %s", type, hash_hex(hash, hex), says);
}

/*
 * Make the nodes 0 to 5 of past_line, where node N has a=N, d/common=same and d/x=N/2.  Also make a
 * tag, a second workspace and a movement of its HEAD.
 */
static void some_history(struct past *past)
{
	past_line(past, 6, START);
	past_ok(past, history_tag_set(&past->history, "v1", past->id[2], past_err(past)));
	past_workspace(past, "side", past->id[1]);
	past_ok(past,
		history_move(&past->history, "side", past->id[3], "checkout", past_err(past)));
}

static struct hash tree_of(struct past *past, const char *id)
{
	owned(arena_release) struct arena arena = { 0 };
	struct node node;

	assert_int_equal(history_get(&past->history, id, &arena, &node, past_err(past)), 1);
	return node.tree;
}

static struct hash dir_of(struct past *past, const char *id)
{
	owned_mem struct treeiter *iter = mem_alloc(sizeof(*iter));
	struct hash tree = tree_of(past, id);
	struct entry entry;

	treeiter_init(iter, past->fixture->store);
	assert_int_equal(treeiter_path(iter, &tree, STR("d"), &entry, past_err(past)), 1);
	treeiter_release(iter);
	return entry.hash;
}

static void a_sound_history_has_no_faults(void **state)
{
	struct past *past = *state;
	struct found found;

	some_history(past);
	past_ok(past, history_delete(&past->history, past->id[4], past_err(past)));
	past_ok(past, history_delete(&past->history, past->id[0], past_err(past)));
	verify(past, &found);
	expect_count(&found, 0);
	assert_int_equal(found.verify.nodes, 4);
	assert_int_equal(
		found.verify.objects, fixture_number(past->fixture, "SELECT objects FROM total"));
	assert_true(found.verify.bytes > 0);
}

static void an_empty_history_has_no_faults(void **state)
{
	struct past *past = *state;
	struct found found;

	verify(past, &found);
	expect_count(&found, 0);
}

/* --------------------------------------------------------- damaged objects */

static void a_flipped_bit_in_a_file_touches_the_nodes_that_have_it(void **state)
{
	static const struct {
		const char *content, *nodes;
	} cases[] = {
		{ "same", "012345" }, { "5", "5" }, { "4", "4" }, { "3", "3" },
		{ "1", "123" }, /* a=1 in node 1, d/x=1 in 2 and 3 */
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		void *fresh = NULL;
		struct found found;

		assert_int_equal(past_setup(&fresh), 0);
		struct past *past = fresh;
		some_history(past);
		struct hash hash = blob(cases[i].content);
		char says[100];
		fill_object(&hash, "blob", "", says);
		flip(past, OBJECT_BLOB, &hash);
		verify(past, &found);
		expect_count(&found, 1);
		expect(past, &found, says, cases[i].nodes);
		assert_int_equal(past_teardown(&fresh), 0);
	}
}

static void a_flipped_bit_in_a_directory_touches_the_nodes_that_have_it(void **state)
{
	struct past *past = *state;
	struct found found;

	some_history(past);
	struct hash shared = dir_of(past, past->id[2]); /* the directory d of the nodes 2 and 3 */
	struct hash root = tree_of(past, past->id[5]);
	flip(past, OBJECT_TREE, &shared);
	flip(past, OBJECT_TREE, &root);
	verify(past, &found);
	expect_count(&found, 2);
	char says[100];
	fill_object(&shared, "tree", "", says);
	expect(past, &found, says, "23");
	fill_object(&root, "tree", "", says);
	expect(past, &found, says, "5");
}

static void damage_that_no_node_needs_is_reported_without_nodes(void **state)
{
	struct past *past = *state;
	struct found found;

	some_history(past);
	struct hash hash = fixture_put(past->fixture, "nobody's", 8);
	past_ok(past, store_flush(past->fixture->store, past_err(past)));
	flip(past, OBJECT_BLOB, &hash);
	verify(past, &found);
	expect_count(&found, 1);
	char says[100];
	fill_object(&hash, "blob", "", says);
	expect(past, &found, says, "");
}

static void a_deleted_object_row_is_found(void **state)
{
	struct past *past = *state;
	struct found found;
	char says[100];

	some_history(past);
	struct hash file = blob("4"), dir = dir_of(past, past->id[0]),
		    root = tree_of(past, past->id[3]);
	forget(past, OBJECT_BLOB, &file);
	forget(past, OBJECT_TREE, &dir);
	forget(past, OBJECT_TREE, &root);
	verify(past, &found);
	expect_count(&found, 3);
	fill_object(&file, "blob", "missing from the store", says);
	expect(past, &found, says, "4");
	fill_object(&dir, "tree", "missing from the store", says);
	expect(past, &found, says, "01");
	fill_object(&root, "tree", "missing from the store", says);
	expect(past, &found, says, "3");
}

static void a_truncated_pack_touches_what_was_behind_the_cut(void **state)
{
	struct past *past = *state;
	struct found found;
	uint32_t pack;

	some_history(past);
	/* all objects of node 5 were written after those of node 4 */
	struct hash file = blob("5"), root = tree_of(past, past->id[5]);
	fixture_truncate(past->fixture, 1, (off_t)place_of(past, OBJECT_BLOB, &file, &pack) + 10);
	verify(past, &found);
	char says[100];
	expect(past, &found, "pack 00000001: ", "");
	fill_object(&root, "tree", "", says);
	expect(past, &found, says, "5");
	/* the root of node 5 cannot be read, so it is not known that node 5 needs the blob */
	fill_object(&file, "blob", "", says);
	expect(past, &found, says, "");
	for (size_t i = 0; i < found.count; i++)
		for (size_t j = 0; j < found.list[i].n_nodes; j++)
			assert_string_equal(found.list[i].nodes[j], past->id[5]);
}

static void a_lost_pack_touches_everything(void **state)
{
	struct past *past = *state;
	struct found found;

	some_history(past);
	fixture_remove_pack(past->fixture, 1);
	verify(past, &found);
	char says[100];
	for (int i = 0; i < 6; i++) {
		struct hash root;
		struct db_query *query = db_query(past->fixture->db, past_err(past),
			"SELECT tree FROM node WHERE id = ?", "t", past->id[i]);

		assert_int_equal(db_step(query, past_err(past)), 1);
		memcpy(root.bytes, db_bytes(query, 0).ptr, HASH_SIZE);
		db_done(query);
		fill_object(&root, "tree", "", says);
		expect(past, &found, says, (char[]){ (char)('0' + i), '\0' });
	}
}

static void the_count_of_nodes_is_exact_when_the_list_is_not(void **state)
{
	struct past *past = *state;
	struct found found;

	past_line(past, VERIFY_NODES_LISTED + 9, START);
	struct hash hash = blob("same");
	flip(past, OBJECT_BLOB, &hash);
	verify(past, &found);
	expect_count(&found, 1);
	assert_int_equal(found.list[0].n_nodes, VERIFY_NODES_LISTED);
	assert_int_equal(found.list[0].total, VERIFY_NODES_LISTED + 9);
	/* the newest node is first */
	assert_string_equal(found.list[0].nodes[0], past->id[VERIFY_NODES_LISTED + 8]);
}

/* ------------------------------------------------------------- wrong trees */

/* Add a node whose root has these entries. */
static void add_tree(struct past *past, const struct entry *entries, size_t n, int number)
{
	owned_mem struct treebuild *build = mem_alloc(sizeof(*build));

	treebuild_init(build, past->fixture->store);
	for (size_t i = 0; i < n; i++)
		past_ok(past, treebuild_add(build, &entries[i], past_err(past)));
	struct hash tree = past_root(past, build);
	treebuild_release(build);
	past_add(past, number ? past->id[number - 1] : "", &tree, START, NULL, past->id[number]);
}

static struct entry directory(struct past *past, const char *name, int files)
{
	owned_mem struct treebuild *build = mem_alloc(sizeof(*build));
	struct entry dir = { .name = str_of(name), .type = ENTRY_DIR };

	treebuild_init(build, past->fixture->store);
	for (int i = 0; i < files; i++) {
		char text[16];

		snprintf(text, sizeof(text), "%06d", i);
		struct entry file = past_file(past, str_of(text), str_of(text));
		past_ok(past, treebuild_add(build, &file, past_err(past)));
	}
	past_ok(past, treebuild_finish(build, &dir, past_err(past)));
	treebuild_release(build);
	return dir;
}

static struct entry list_of(struct past *past, const char *name, uint64_t second)
{
	struct entry file = { .name = str_of(name), .type = ENTRY_FILE, .content = ENTRY_CHUNKS };
	struct content_piece pieces[] = {
		{ .length = 3, .hash = fixture_put(past->fixture, "abc", 3) },
		{ .length = 10, .hole = true },
		{ .length = second, .hash = fixture_put(past->fixture, "de", 2) },
	};

	past_ok(past,
		content_put_list(past->fixture->store, pieces, 3, &file.hash, past_err(past)));
	file.size = 13 + second;
	return file;
}

/*
 * Wrong claims about an object are found, even if a right claim about the same object was checked
 * before.
 */
static void wrong_sums_and_lengths_are_found(void **state)
{
	struct past *past = *state;
	struct entry good[] = {
		directory(past, "dir", 3),
		past_file(past, STR("file"), STR("12345")),
		list_of(past, "list", 2),
		directory(past, "many", 1000),
	};
	struct found found;

	add_tree(past, good, 4, 0);
	for (int i = 1; i <= 5; i++) {
		struct entry bad[4];

		memcpy(bad, good, sizeof(bad));
		if (i == 1)
			bad[0].count++;
		if (i == 2)
			bad[0].size--;
		if (i == 3)
			bad[1].size = 6;
		if (i == 4)
			bad[2].size = 16;
		if (i == 5)
			bad[3].count = 1001;
		add_tree(past, bad, 4, i);
	}
	/* make the same wrong claim in another directory */
	struct entry again[2] = { good[0], good[1] };
	again[0].count++;
	add_tree(past, again, 2, 6);
	verify(past, &found);
	expect_count(&found, 6);
	expect(past, &found, "dir is said to hold 4 entries and 18 bytes, but holds 3 and 18", "1");
	expect(past, &found, "dir is said to hold 3 entries and 17 bytes, but holds 3 and 18", "2");
	expect(past, &found, "file is said to be 6 bytes long, but is 5", "3");
	expect(past, &found, "list is said to be 16 bytes long, but is 15", "4");
	expect(past, &found, "many is said to hold 1001 entries and 6000 bytes, but holds 1000",
		"5");
	expect(past, &found, "dir is said to hold 4 entries and 18 bytes, but holds 3 and 18", "6");
}

static void a_chunk_of_the_wrong_length_is_found(void **state)
{
	struct past *past = *state;
	struct entry file = list_of(past, "list", 4);
	struct found found;
	char says[100];

	add_tree(past, &file, 1, 0);
	add_tree(past, &file, 1, 1);
	verify(past, &found);
	expect_count(&found, 1);
	fill_object(&file.hash, "chunks", "blob ", says);
	expect(past, &found, says, "01");
}

static struct hash put(struct past *past, enum object_type type, const void *bytes, size_t len)
{
	struct hash hash;

	past_ok(past, store_put(past->fixture->store, type, bytes, len, &hash, past_err(past)));
	return hash;
}

static void objects_that_do_not_decode_are_found(void **state)
{
	struct past *past = *state;
	struct entry file = past_file(past, STR("file"), STR("x"));
	struct entry junk[] = {
		{ .name = STR("chunks"),
			.type = ENTRY_FILE,
			.content = ENTRY_CHUNKS,
			.size = 4,
			.hash = put(past, OBJECT_CHUNKS, "junk", 4) },
		{ .name = STR("dir"),
			.type = ENTRY_DIR,
			.content = ENTRY_TREE,
			.count = 1,
			.hash = put(past, OBJECT_TREE, "junk", 4) },
		file,
		{ .name = STR("pipe"),
			.type = ENTRY_FIFO,
			.xattrs = put(past, OBJECT_XATTRS, "junk", 4) },
	};
	struct found found;

	add_tree(past, junk, 4, 0);
	add_tree(past, &file, 1, 1);
	struct hash not_a_tree = put(past, OBJECT_TREE, "rubbish", 7);
	past_add(past, past->id[1], &not_a_tree, START, NULL, past->id[2]);
	struct hash dir = directory(past, "d", 2).hash;
	past_add(past, past->id[1], &dir, START, NULL, past->id[3]);
	struct hash inner = directory(past, "d", 2000).hash;
	past_add(past, past->id[1], &inner, START, NULL, past->id[4]);
	struct entry root = { .name = STR("r"),
		.type = ENTRY_DIR,
		.content = ENTRY_TREE,
		.count = 1,
		.hash = past_tree(past, "only=1") };
	add_tree(past, &root, 1, 5);
	verify(past, &found);
	expect_count(&found, 7);
	expect(past, &found, "malformed chunk list", "0");
	expect(past, &found, "malformed tree node", "0");
	expect(past, &found, "malformed extended attributes", "0");
	expect(past, &found, "malformed tree node", "2");
	expect(past, &found, "not the root of a tree", "3");
	expect(past, &found, "not the root of a tree", "4");
	expect(past, &found, "a root, not a directory", "5");
}

static void inner_nodes_must_hold_what_they_are_said_to(void **state)
{
	static const struct {
		int level; /* level of the parent */
		const char *last[2];
		uint64_t count[2];
		const char *says; /* NULL: the tree is sound */
	} cases[] = {
		{ 1, { "b", "d" }, { 2, 2 }, NULL },
		{ 1, { "b", "d" }, { 2, 3 }, "is said to hold 3 entries" },
		{ 1, { "b", "e" }, { 2, 2 }, "holds other names" },
		{ 1, { "c", "d" }, { 2, 2 }, "holds other names" },
		{ 1, { "c", "d" }, { 1, 2 }, "holds other names" }, /* both children have a c */
		{ 2, { "b", "d" }, { 2, 2 }, "wrong level" },
	};
	struct past *past = *state;

	for (size_t i = 0; i < COUNT(cases); i++) {
		owned(buf_release) struct buf bytes = BUF_INIT;
		struct entry dir = { .name = STR("dir"), .type = ENTRY_DIR, .content = ENTRY_TREE };
		const char *names[2] = { "ab", "cd" };

		treenode_header(&bytes, (unsigned)cases[i].level, 2);
		for (int c = 0; c < 2; c++) {
			struct treenode_child child = { .last = str_of(cases[i].last[c]),
				.count = cases[i].count[c] };
			owned(buf_release) struct buf leaf = BUF_INIT;
			const char *name = cases[i].count[c] == 1 ? "c" : names[c];

			treenode_header(&leaf, 0, strlen(name));
			for (; *name; name++) {
				struct entry file = { .name = { name, 1 }, .type = ENTRY_FILE };

				entry_encode(&file, &leaf);
			}
			child.hash = put(past, OBJECT_TREE, leaf.data, leaf.len);
			treenode_add_child(&bytes, &child);
			dir.count += child.count;
		}
		dir.hash = put(past, OBJECT_TREE, bytes.data, bytes.len);
		add_tree(past, &dir, 1, (int)i);
	}
	struct found found;
	verify(past, &found);
	for (size_t i = 1; i < COUNT(cases); i++)
		expect(past, &found, cases[i].says, (char[]){ (char)('0' + i), '\0' });
	/* in the cases 3 and 5, both children are wrong */
	expect(past, &found, "holds other names", "3");
	expect(past, &found, "wrong level", "5");
	expect_count(&found, 7);
}

static void a_deep_tree_is_checked_to_its_end(void **state)
{
	struct past *past = *state;
	owned_mem struct treebuild *build = mem_alloc(sizeof(*build));
	struct entry dir = past_file(past, STR("bottom"), STR("here"));
	struct found found;

	treebuild_init(build, past->fixture->store);
	for (int i = 0; i < 16384; i++) {
		past_ok(past, treebuild_add(build, &dir, past_err(past)));
		dir = (struct entry){ .name = STR("d"), .type = ENTRY_DIR };
		past_ok(past, treebuild_finish(build, &dir, past_err(past)));
	}
	treebuild_release(build);
	add_tree(past, &dir, 1, 0);
	verify(past, &found);
	expect_count(&found, 0);
	struct hash hash = blob("here");
	flip(past, OBJECT_BLOB, &hash);
	verify(past, &found);
	expect_count(&found, 1);
	expect(past, &found, "blob ", "0");
}

/* ------------------------------------------------------------ damaged rows */

static void a_deleted_node_row_is_found(void **state)
{
	struct past *past = *state;
	struct found found;

	some_history(past);
	/* a node in the middle of the chain */
	past_sql(past, "DELETE FROM node WHERE id = '%s'", past->id[4]);
	verify(past, &found);
	expect_count(&found, 3);
	expect(past, &found, ": its parent ", "5");
	expect(past, &found, "journal: node ", "4");
	expect(past, &found, "the count of nodes is 6, but there are 5", "");

	/* the last node, which is the HEAD of main */
	past_sql(past, "DELETE FROM node WHERE id = '%s'", past->id[5]);
	verify(past, &found);
	expect_count(&found, 4);
	expect(past, &found, "workspace 'main': its HEAD", "5");
	expect(past, &found, "journal: node ", "4");
	expect(past, &found, "journal: node ", "5");
	expect(past, &found, "the count of nodes is 6, but there are 4", "");
}

struct plant {
	const char *sql; /* $0 to $5 stand for the ids of nodes */
	const char *says[3];
	const char *nodes[3]; /* for each text: numbers of the affected nodes */
};

static const struct plant plants[] = {
	{ "UPDATE node SET parent = '0123456789ab' WHERE id = '$3'",
		{ "its parent 0123456789ab is missing", "but its row names 0123456789ab" },
		{ "3", "3" } },
	{ "UPDATE node SET parent = NULL WHERE id = '$3'", { "names nothing as its parent" },
		{ "3" } },
	{ "UPDATE node SET parent = '$1' WHERE id = '$3'", { "made from" }, { "3" } },
	{ "UPDATE node SET parent = '$1' WHERE id = '$0'", { "a first node, but" },
		{ "0" } }, /* the ancestors then form a circle, which is checked below */
	{ "UPDATE node SET tree = (SELECT tree FROM node WHERE id = '$2') WHERE id = '$3'",
		{ "different trees" }, { "3" } },
	{ "UPDATE node SET tree = x'00' WHERE id = '$3'", { "different trees" }, { "3" } },
	{ "UPDATE node SET time = 7 WHERE id = '$1'", { "different times" }, { "1" } },
	{ "UPDATE node SET body = x'' WHERE id = '$1'", { "does not match its id" }, { "1" } },
	{ "UPDATE node SET body = (SELECT body FROM node WHERE id = '$2') WHERE id = '$1'",
		{ "does not match its id" }, { "1" } },
	{ "UPDATE tag SET node = '0123456789ab'", { "tag 'v1': node 0123456789ab is missing" },
		{ NULL } },
	{ "DELETE FROM tag", { "the count of tags is 1, but there are 0" }, { "" } },
	{ "DELETE FROM meta WHERE key = 'tags'", { "the count of tags is missing" }, { "" } },
	{ "UPDATE workspace SET head = '0123456789ab' WHERE name = 'side'",
		{ "workspace 'side': its HEAD, node 0123456789ab" }, { NULL } },
	{ "UPDATE workspace SET pending = '0123456789ab' WHERE name = 'side'",
		{ "workspace 'side': node 0123456789ab, which" }, { NULL } },
	{ "UPDATE workspace SET cursor = (SELECT max(seq) FROM journal) WHERE name = 'main'",
		{ "workspace 'main': its place" }, { "" } },
	{ "UPDATE journal SET old = '0123456789ab' WHERE seq = 3; "
	  "UPDATE journal SET new = '0123456789ab' WHERE seq = 2",
		{ "journal: node 0123456789ab" }, { NULL } },
	{ "INSERT INTO tombstone VALUES ('$3', 0)", { "also listed as deleted" }, { "3" } },
	{ "INSERT INTO node (id, tree, time, body) VALUES ('bad', x'', 0, x'');"
	  " UPDATE meta SET value = 7 WHERE key = 'nodes'",
		{ "malformed id" }, { "" } },
};

static void damaged_rows_are_found(void **state)
{
	for (size_t i = 0; i < COUNT(plants); i++) {
		owned(buf_release) struct buf sql = BUF_INIT;
		void *fresh = NULL;
		struct found found;
		size_t n = 0;

		assert_int_equal(past_setup(&fresh), 0);
		struct past *past = fresh;
		some_history(past);
		for (const char *p = plants[i].sql; *p; p++) {
			if (*p == '$')
				buf_adds(&sql, past->id[*++p - '0']);
			else
				buf_addc(&sql, *p);
		}
		past_sql(past, "%s", sql.data);
		verify(past, &found);
		for (; n < COUNT(plants[i].says) && plants[i].says[n]; n++) {
			if (!plants[i].nodes[n]) /* the affected node does not exist */
				memcpy(past->id[0], "0123456789ab", NODE_ID);
			expect(past, &found, plants[i].says[n],
				plants[i].nodes[n] ? plants[i].nodes[n] : "0");
		}
		if (i == 3) {
			for (int c = 0; c < 6; c++)
				expect(past, &found, "go in a circle",
					(char[]){ (char)('0' + c), '\0' });
			n += 6;
		}
		expect_count(&found, n);
		assert_int_equal(past_teardown(&fresh), 0);
	}
}

static void a_parent_that_was_deleted_is_a_fault(void **state)
{
	struct past *past = *state;
	struct found found;

	some_history(past);
	past_ok(past, history_delete(&past->history, past->id[4], past_err(past)));
	past_sql(past, "UPDATE node SET parent = '%s' WHERE id = '%s'", past->id[4], past->id[5]);
	verify(past, &found);
	expect_count(&found, 1);
	expect(past, &found, "was deleted", "5");
}

static void what_a_lost_ancestor_was_is_remembered(void **state)
{
	struct past *past = *state;
	struct found found;

	some_history(past);
	past_ok(past, history_delete(&past->history, past->id[4], past_err(past)));
	past_sql(past, "DELETE FROM tombstone; DELETE FROM journal WHERE new = '%s' OR old = '%s'",
		past->id[4], past->id[4]);
	past_sql(past, "UPDATE workspace SET cursor = (SELECT max(seq) FROM journal"
		       " WHERE workspace = name)");
	verify(past, &found);
	expect_count(&found, 1);
	expect(past, &found, "which is neither a node nor a deleted one", "5");
}

static void a_node_that_does_not_decode_does_not_hide_the_others(void **state)
{
	struct past *past = *state;
	struct found found;

	some_history(past);
	past_sql(past, "UPDATE node SET body = x'ff' WHERE id = '%s'", past->id[5]);
	struct hash file = blob("0"), last = blob("5");
	flip(past, OBJECT_BLOB, &file);
	flip(past, OBJECT_BLOB, &last);
	verify(past, &found);
	expect_count(&found, 3);
	expect(past, &found, "does not match its id", "5");
	expect(past, &found, "blob ", "01"); /* a of node 0, and d/x of the nodes 0 and 1 */
	expect(past, &found, "blob ", "5");  /* found by the tree in the row of the node */
}

static void a_read_only_copy_can_be_checked(void **state)
{
	struct past *past = *state;
	struct found *found = mem_zalloc(sizeof(*found));

	some_history(past);
	struct hash file = blob("5");
	flip(past, OBJECT_BLOB, &file);
	fixture_close(past->fixture);
	fixture_open(past->fixture, STORE_READ_ONLY);
	past->history = (struct history){ past->fixture->db, past->fixture->store };
	found->verify = (struct verify){ .error = note, .arg = found };
	past_ok(past, verify_run(&past->history, &found->verify, past_err(past)));
	expect_count(found, 1);
	free(found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		past_test(a_sound_history_has_no_faults),
		past_test(an_empty_history_has_no_faults),
		cmocka_unit_test(a_flipped_bit_in_a_file_touches_the_nodes_that_have_it),
		past_test(a_flipped_bit_in_a_directory_touches_the_nodes_that_have_it),
		past_test(damage_that_no_node_needs_is_reported_without_nodes),
		past_test(a_deleted_object_row_is_found),
		past_test(a_truncated_pack_touches_what_was_behind_the_cut),
		past_test(a_lost_pack_touches_everything),
		past_test(the_count_of_nodes_is_exact_when_the_list_is_not),
		past_test(wrong_sums_and_lengths_are_found),
		past_test(a_chunk_of_the_wrong_length_is_found),
		past_test(objects_that_do_not_decode_are_found),
		past_test(inner_nodes_must_hold_what_they_are_said_to),
		past_test(a_deep_tree_is_checked_to_its_end),
		past_test(a_deleted_node_row_is_found),
		cmocka_unit_test(damaged_rows_are_found),
		past_test(a_parent_that_was_deleted_is_a_fault),
		past_test(what_a_lost_ancestor_was_is_remembered),
		past_test(a_node_that_does_not_decode_does_not_hide_the_others),
		past_test(a_read_only_copy_can_be_checked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
