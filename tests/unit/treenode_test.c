/* treenode, entry, treebuild: each directory has one encoding, whatever its history. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tree/treebuild.h"
#include "tree/treeiter.h"

#include "store_fixture.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A directory with one entry of each kind, in the stored form.  This form must never change. */
static const char golden_hex[] =
	"01000805626c6f636b07b003000600000801046368617206b6030000000001030364697202ff07e8"
	"07e80780c49fd50cff93ebdc030302ac02dc9c5edb8b2d479e697b4b0b8ab874f32b325138598ce9"
	"e7b759eb829211062205656d70747901a403000000000000046669666f048003000000000466696c"
	"6531ed13e8076401050103ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f2"
	"0015adcd8fc3946657016e2ac333e20faea5d6719d1eb4e834845763a8180c0a8452c60807060504"
	"030201046c696e6b03ff0300000200092e2e2f74617267657406736f636b657405ed03feffffff0f"
	"feffffff0f0000";
static const char golden_hash[] =
	"0068cf1aed15aef8f3d02fbec62fb30eee0a3d5f51390806f5741fc86a006220";

static const struct entry golden_entries[] = {
	{ .name = { "block", 5 },
		.type = ENTRY_BLOCK,
		.mode = 0660,
		.gid = 6,
		.major = 8,
		.minor = 1 },
	{ .name = { "char", 4 }, .type = ENTRY_CHAR, .mode = 0666, .major = 1, .minor = 3 },
	{ .name = { "dir", 3 },
		.type = ENTRY_DIR,
		.content = ENTRY_TREE,
		.mode = 01777,
		.uid = 1000,
		.gid = 1000,
		.mtime_sec = 1700000000,
		.mtime_nsec = 999999999,
		.count = 2,
		.size = 300 },
	{ .name = { "empty", 5 }, .type = ENTRY_FILE, .mode = 0644 },
	{ .name = { "fifo", 4 }, .type = ENTRY_FIFO, .mode = 0600 },
	{ .name = { "file", 4 },
		.type = ENTRY_FILE,
		.content = ENTRY_BLOB,
		.mode = 04755,
		.uid = 1000,
		.gid = 100,
		.mtime_sec = -1,
		.mtime_nsec = 5,
		.size = 3,
		.link = UINT64_C(0x0102030405060708) },
	{ .name = { "link", 4 },
		.type = ENTRY_LINK,
		.mode = 0777,
		.mtime_sec = 1,
		.size = 9,
		.target = { "../target", 9 } },
	{ .name = { "socket", 6 },
		.type = ENTRY_SOCKET,
		.mode = 0755,
		.uid = UINT32_MAX - 1,
		.gid = UINT32_MAX - 1 },
};

/* Returns an entry with its hash, which a constant cannot contain. */
static struct entry golden_entry(size_t i)
{
	struct entry entry = golden_entries[i];

	if (entry.content == ENTRY_TREE)
		hash_of("tree", 4, &entry.hash);
	if (entry.content == ENTRY_BLOB) {
		hash_of("abc", 3, &entry.hash);
		hash_of("xattrs", 6, &entry.xattrs);
	}
	return entry;
}

static void add_hex(struct buf *out, const char *hex)
{
	for (; hex[0]; hex += 2) {
		char digits[3] = { hex[0], hex[1], '\0' };

		buf_addc(out, (char)strtol(digits, NULL, 16));
	}
}

static void encodes_to_the_same_bytes_for_ever(void **state)
{
	owned(buf_release) struct buf want = BUF_INIT;
	owned(buf_release) struct buf bytes = BUF_INIT;
	struct hash hash;
	char hex[HASH_HEX];

	add_hex(&want, golden_hex);
	treenode_header(&bytes, 0, COUNT(golden_entries));
	for (size_t i = 0; i < COUNT(golden_entries); i++) {
		struct entry entry = golden_entry(i);

		entry_encode(&entry, &bytes);
	}
	assert_int_equal(bytes.len, want.len);
	assert_memory_equal(bytes.data, want.data, want.len);
	hash_of(bytes.data, bytes.len, &hash);
	assert_string_equal(hash_hex(&hash, hex), golden_hash);
}

static void decodes_what_was_written(void **state)
{
	owned(buf_release) struct buf bytes = BUF_INIT;
	struct treenode node;
	struct entry entry;
	struct err err = { 0 };

	add_hex(&bytes, golden_hex);
	assert_int_equal(treenode_open(&node, bytes.data, bytes.len, &err), 0);
	for (size_t i = 0; i < COUNT(golden_entries); i++) {
		struct entry want = golden_entry(i);

		assert_int_equal(treenode_entry(&node, &entry, &err), 1);
		assert_true(entry_same(&entry, &want));
		assert_int_equal(entry.size, want.size);
		assert_int_equal(entry.count, want.count);
	}
	assert_int_equal(treenode_entry(&node, &entry, &err), 0);
}

static void finds_every_cut(void **state)
{
	owned(buf_release) struct buf bytes = BUF_INIT;

	add_hex(&bytes, golden_hex);
	for (size_t len = 0; len < bytes.len; len++) {
		owned_mem char *part = mem_dup(bytes.data, len);
		struct treenode node;
		struct entry entry;
		struct err err = { 0 };
		int r = treenode_open(&node, part, len, &err);

		while (r >= 0 && (r = treenode_entry(&node, &entry, &err)) > 0)
			;
		assert_int_equal(r, -ERR_CORRUPT);
	}
}

struct node_case {
	const char *what;
	const char *hex;
};

static const struct node_case accepted[] = {
	{ "a fifo", "010001016604800300000000" },
	{ "a fifo with attributes",
		"0100010166148003000000001111111111111111111111111111111111111111"
		"111111111111111111111111" },
	{ "a fifo with a link group", "0100010166248003000000000100000000000000" },
	{ "a root", "0100010002800300000000000000" },
	{ "an empty file", "0100010166018003000000000000" },
	{ "a file not read", "0100010166018003000000000463" },
	{ "a blob", "0100010166018003000000000101111111111111111111111111111111111111"
		    "1111111111111111111111111111" },
	{ "a tree", "0100010166028003000000000301001111111111111111111111111111111111"
		    "111111111111111111111111111111" },
	{ "a link", "0100010166038003000000000161" },
	{ "the last nanosecond", "0100010166048003000000ff93ebdc03" },
	{ "all 12 bits", "010001016604ff1f00000000" },
	{ "two entries", "010002016604800300000000016704800300000000" },
};

/* Nodes that the encoder would write in another form, or not at all. */
static const struct node_case refused[] = {
	{ "nothing", "" },
	{ "another version", "020001016604800300000000" },
	{ "too many levels", "010c01016604800300000000" },
	{ "no entries", "010000" },
	{ "more entries than a node has", "01008120016604800300000000" },
	{ "overlong count", "01008100016604800300000000" },
	{ "overlong mode", "01000101660480830000000000" },
	{ "fewer entries than it says", "010002016604800300000000" },
	{ "trailing bytes", "01000101660480030000000000" },
	{ "out of order", "010002016704800300000000016604800300000000" },
	{ "the same name twice", "010002016604800300000000016604800300000000" },
	{ "no name beside others", "0100020004800300000000016604800300000000" },
	{ "name '.'", "010001012e04800300000000" },
	{ "name '..'", "010001022e2e04800300000000" },
	{ "name with a slash", "01000103612f6204800300000000" },
	{ "name with a NUL", "0100010361006204800300000000" },
	{ "type 0", "010001016600800300000000" },
	{ "type 8", "010001016608800300000000" },
	{ "unknown bits", "010001016644800300000000" },
	{ "mode of more than 12 bits", "010001016604802000000000" },
	{ "uid beyond 32 bits", "01000101660480038080808010000000" },
	{ "nanoseconds of a second", "01000101660480030000008094ebdc03" },
	{ "file of unknown content", "0100010166018003000000000500" },
	{ "file that is a tree", "0100010166018003000000000301111111111111111111111111111111111111"
				 "1111111111111111111111111111" },
	{ "empty file with a size", "0100010166018003000000000001" },
	{ "blob without bytes", "0100010166018003000000000100111111111111111111111111111111111111"
				"1111111111111111111111111111" },
	{ "empty directory with entries", "010001016602800300000000000100" },
	{ "tree without entries", "0100010166028003000000000300001111111111111111111111111111111111"
				  "111111111111111111111111111111" },
	{ "directory that is a blob",
		"0100010166028003000000000101011111111111111111111111111111111111"
		"111111111111111111111111111111" },
	{ "link to nowhere", "01000101660380030000000000" },
	{ "link target with a NUL", "0100010166038003000000000100" },
	{ "link target cut off", "0100010166038003000000000261" },
	{ "attributes that are none",
		"0100010166148003000000000000000000000000000000000000000000000000"
		"000000000000000000000000" },
	{ "attributes cut off", "010001016614800300000000112233" },
	{ "link group 0", "0100010166248003000000000000000000000000" },
	{ "link group cut off", "01000101662480030000000001020304" },
};

static int read_all(const struct buf *bytes, struct err *err)
{
	struct treenode node;
	struct entry entry;
	struct treenode_child child;
	int r = treenode_open(&node, bytes->data, bytes->len, err);

	if (r < 0)
		return r;
	do {
		r = node.level ? treenode_child(&node, &child, err)
			       : treenode_entry(&node, &entry, err);
	} while (r > 0);
	return r;
}

static int read_hex(const char *hex)
{
	owned(buf_release) struct buf bytes = BUF_INIT;
	struct err err = { 0 };

	add_hex(&bytes, hex);
	return read_all(&bytes, &err);
}

static void refuses_what_is_not_canonical(void **state)
{
	for (size_t i = 0; i < COUNT(accepted); i++) {
		int r = read_hex(accepted[i].hex);

		if (r)
			print_error("refused: %s\n", accepted[i].what);
		assert_int_equal(r, 0);
	}
	for (size_t i = 0; i < COUNT(refused); i++) {
		int r = read_hex(refused[i].hex);

		if (r != -ERR_CORRUPT)
			print_error("accepted: %s\n", refused[i].what);
		assert_int_equal(r, -ERR_CORRUPT);
	}
}

static void refuses_children_that_are_not_canonical(void **state)
{
	owned(buf_release) struct buf bytes = BUF_INIT;
	struct treenode_child b = { .last = STR("b"), .count = 2, .size = 3 };
	struct treenode_child a = { .last = STR("a"), .count = 1 };
	struct treenode_child none = { .last = STR(""), .count = 1 };
	struct err err = { 0 };

	treenode_header(&bytes, 1, 2);
	treenode_add_child(&bytes, &a);
	treenode_add_child(&bytes, &b);
	assert_int_equal(read_all(&bytes, &err), 0);
	for (size_t len = 0; len < bytes.len; len++) {
		struct buf part = { .data = bytes.data, .len = len };

		assert_int_equal(read_all(&part, &err), -ERR_CORRUPT);
	}
	buf_addc(&bytes, 0);
	assert_int_equal(read_all(&bytes, &err), -ERR_CORRUPT);

	buf_clear(&bytes);
	treenode_header(&bytes, 1, 2);
	treenode_add_child(&bytes, &b);
	treenode_add_child(&bytes, &a);
	assert_int_equal(read_all(&bytes, &err), -ERR_CORRUPT);

	buf_clear(&bytes);
	treenode_header(&bytes, 1, 1);
	treenode_add_child(&bytes, &none);
	assert_int_equal(read_all(&bytes, &err), -ERR_CORRUPT);
}

static void knows_a_good_name(void **state)
{
	char longest[256];

	memset(longest, 'n', sizeof(longest));
	assert_true(entry_name_ok(STR("...")));
	assert_true(entry_name_ok(STR("\xff\n")));
	assert_true(entry_name_ok((struct str){ longest, 255 }));
	assert_false(entry_name_ok((struct str){ longest, 256 }));
	assert_false(entry_name_ok(STR("")));
	assert_false(entry_name_ok(STR(".")));
	assert_false(entry_name_ok(STR("..")));
	assert_false(entry_name_ok(STR("a/b")));
	assert_false(entry_name_ok(STR("a\0b")));
}

/* ---- whole directories ---- */

/* Returns file number n of a generated directory.  The names sort in the order of the numbers. */
static struct entry numbered(unsigned n, char name[32])
{
	struct entry entry = {
		.type = ENTRY_FILE, .content = ENTRY_BLOB, .mode = 0644, .size = n + 1
	};

	snprintf(name, 32, "file-%07u", n);
	entry.name = str_of(name);
	hash_of(name, entry.name.len, &entry.hash);
	return entry;
}

/*
 * Build a directory of the files 0 to end.  Every file whose number is a multiple of skip_every is
 * left out.  The file 'changed' gets another mode.
 */
static struct entry build(
	struct fixture *fixture, unsigned end, unsigned skip_every, unsigned changed)
{
	struct entry dir = { .type = ENTRY_DIR };
	struct treebuild builder;
	char name[32];

	treebuild_init(&builder, fixture->store);
	for (unsigned n = 0; n < end; n++) {
		struct entry entry = numbered(n, name);

		if (skip_every && n % skip_every == 0)
			continue;
		if (n == changed)
			entry.mode = 0600;
		assert_ok(fixture, treebuild_add(&builder, &entry, &fixture->err));
	}
	assert_ok(fixture, treebuild_finish(&builder, &dir, &fixture->err));
	treebuild_release(&builder);
	return dir;
}

static void builds_nothing_from_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct entry dir = build(fixture, 0, 0, UINT32_MAX);

	assert_int_equal(dir.content, ENTRY_EMPTY);
	assert_int_equal(dir.count, 0);
	assert_true(hash_is_none(&dir.hash));
	assert_int_equal(store_added(fixture->store).objects, 0);
}

static void reads_back_what_it_built(void **state)
{
	static const unsigned sizes[] = { 1, 2, 63, 64, 65, 1000, 20000 };
	struct fixture *fixture = *state;
	struct treeiter iter;
	struct entry entry;
	char name[32];

	treeiter_init(&iter, fixture->store);
	for (size_t i = 0; i < COUNT(sizes); i++) {
		struct entry dir = build(fixture, sizes[i], 0, UINT32_MAX);
		uint64_t size = 0;

		assert_int_equal(dir.content, ENTRY_TREE);
		assert_int_equal(dir.count, sizes[i]);
		assert_ok(fixture, treeiter_open(&iter, &dir, &fixture->err));
		for (unsigned n = 0; n < sizes[i]; n++) {
			struct entry want = numbered(n, name);

			assert_int_equal(treeiter_next(&iter, &entry, &fixture->err), 1);
			assert_true(entry_same(&entry, &want));
			size += want.size;
		}
		assert_int_equal(treeiter_next(&iter, &entry, &fixture->err), 0);
		assert_int_equal(dir.size, size);

		struct entry want = numbered(sizes[i] / 2, name);
		assert_int_equal(treeiter_find(&iter, &dir, want.name, &entry, &fixture->err), 1);
		assert_true(entry_same(&entry, &want));
		assert_int_equal(treeiter_find(&iter, &dir, STR("file"), &entry, &fixture->err), 0);
		assert_int_equal(treeiter_find(&iter, &dir, STR("zzz"), &entry, &fixture->err), 0);
	}
	treeiter_release(&iter);
}

#define MANY 100000

static void adds_little_when_one_of_many_entries_changes(void **state)
{
	struct fixture *fixture = *state;
	struct entry before = build(fixture, MANY, 0, UINT32_MAX);
	struct entry after;
	uint64_t bytes;

	for (unsigned n = 0; n < MANY; n += MANY / 3) {
		bytes = store_added(fixture->store).raw_bytes;
		after = build(fixture, MANY, 0, n);
		assert_false(hash_eq(&before.hash, &after.hash));
		assert_true(store_added(fixture->store).raw_bytes - bytes < 64 << 10);
	}
	/* Add one name at the end. */
	bytes = store_added(fixture->store).raw_bytes;
	build(fixture, MANY + 1, 0, UINT32_MAX);
	assert_true(store_added(fixture->store).raw_bytes - bytes < 64 << 10);
	/* Remove it again: no new node is stored. */
	bytes = store_added(fixture->store).raw_bytes;
	after = build(fixture, MANY, 0, UINT32_MAX);
	assert_true(hash_eq(&before.hash, &after.hash));
	assert_int_equal(store_added(fixture->store).raw_bytes, bytes);
}

/*
 * Build a directory from the files of dir.  Multiples of skip_every are left out, and missing files
 * up to fill_end are added.
 */
static struct entry rebuild(
	struct fixture *fixture, const struct entry *dir, unsigned skip_every, unsigned fill_end)
{
	struct treeiter iter;
	struct treebuild builder;
	struct entry entry, out = { .type = ENTRY_DIR };
	char name[32];
	unsigned next = 0;

	treeiter_init(&iter, fixture->store);
	treebuild_init(&builder, fixture->store);
	assert_ok(fixture, treeiter_open(&iter, dir, &fixture->err));
	while (treeiter_next(&iter, &entry, &fixture->err) > 0) {
		unsigned n = (unsigned)atoi(entry.name.ptr + 5);

		if (skip_every && n % skip_every == 0)
			continue;
		for (; fill_end && next < n; next++) {
			struct entry missing = numbered(next, name);

			assert_ok(fixture, treebuild_add(&builder, &missing, &fixture->err));
		}
		next = n + 1;
		assert_ok(fixture, treebuild_add(&builder, &entry, &fixture->err));
	}
	for (; next < fill_end; next++) {
		struct entry missing = numbered(next, name);

		assert_ok(fixture, treebuild_add(&builder, &missing, &fixture->err));
	}
	assert_ok(fixture, treebuild_finish(&builder, &out, &fixture->err));
	treebuild_release(&builder);
	treeiter_release(&iter);
	return out;
}

static void has_one_hash_for_one_set_of_entries(void **state)
{
	struct fixture *fixture = *state;

	for (unsigned end = 100; end <= 10000; end *= 10) {
		struct entry whole = build(fixture, end, 0, UINT32_MAX);
		struct entry less = build(fixture, end, 7, UINT32_MAX);
		struct entry removed = rebuild(fixture, &whole, 7, 0);
		struct entry added = rebuild(fixture, &less, 0, end);

		assert_false(hash_eq(&whole.hash, &less.hash));
		assert_true(hash_eq(&removed.hash, &less.hash));
		assert_true(hash_eq(&added.hash, &whole.hash));
		assert_int_equal(added.count, whole.count);
		assert_int_equal(added.size, whole.size);
	}
}

static void sums_up_what_is_below(void **state)
{
	struct fixture *fixture = *state;
	struct entry inner = build(fixture, 10, 0, UINT32_MAX);
	struct entry outer = { .type = ENTRY_DIR };
	struct entry link = { .name = STR("l"), .type = ENTRY_LINK, .target = STR("t"), .size = 1 };
	struct treebuild builder;

	inner.name = STR("d");
	treebuild_init(&builder, fixture->store);
	assert_ok(fixture, treebuild_add(&builder, &inner, &fixture->err));
	assert_ok(fixture, treebuild_add(&builder, &link, &fixture->err));
	assert_ok(fixture, treebuild_finish(&builder, &outer, &fixture->err));
	treebuild_release(&builder);
	assert_int_equal(outer.count, 12);
	assert_int_equal(outer.size, 55);
}

static void finds_a_path_below_a_root(void **state)
{
	struct fixture *fixture = *state;
	struct entry root = build(fixture, 300, 0, UINT32_MAX);
	struct treeiter iter;
	struct entry entry;
	struct hash tree;

	root.name = STR("");
	root.mode = 0755;
	assert_ok(fixture, treebuild_root(fixture->store, &root, &tree, &fixture->err));
	treeiter_init(&iter, fixture->store);
	assert_int_equal(treeiter_root(&iter, &tree, &entry, &fixture->err), 1);
	assert_true(entry_same(&entry, &root));
	assert_int_equal(
		treeiter_path(&iter, &tree, STR("./file-0000123"), &entry, &fixture->err), 1);
	assert_int_equal(entry.size, 124);
	assert_int_equal(
		treeiter_path(&iter, &tree, STR("file-0000123/x"), &entry, &fixture->err), 0);
	assert_int_equal(treeiter_path(&iter, &tree, STR("nothing"), &entry, &fixture->err), 0);
	assert_int_equal(
		treeiter_path(&iter, &tree, STR("../x"), &entry, &fixture->err), -ERR_INVALID);
	/* The node of an ordinary directory is not the root of a tree. */
	assert_int_equal(treeiter_root(&iter, &root.hash, &entry, &fixture->err), -ERR_CORRUPT);
	treeiter_release(&iter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(encodes_to_the_same_bytes_for_ever),
		cmocka_unit_test(decodes_what_was_written),
		cmocka_unit_test(finds_every_cut),
		cmocka_unit_test(refuses_what_is_not_canonical),
		cmocka_unit_test(refuses_children_that_are_not_canonical),
		cmocka_unit_test(knows_a_good_name),
		fixture_test(builds_nothing_from_nothing),
		fixture_test(reads_back_what_it_built),
		fixture_test(adds_little_when_one_of_many_entries_changes),
		fixture_test(has_one_hash_for_one_set_of_entries),
		fixture_test(sums_up_what_is_below),
		fixture_test(finds_a_path_below_a_root),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
