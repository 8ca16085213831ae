/* Tests of node: each node has one encoding, and an id that depends on the encoding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/own.h"
#include "history/node.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct str no_args[] = { { "", 0 } };
static struct str args[] = { { "sh", 2 }, { "-c", 2 }, { "", 0 }, { "a\0b\n", 4 } };
static struct node_path paths[] = {
	{ '+', { "new", 3 }, { NULL, 0 } },
	{ '-', { "old", 3 }, { NULL, 0 } },
	{ 'M', { "dir/\xff", 5 }, { NULL, 0 } },
	{ 'T', { "", 0 }, { NULL, 0 } },
	{ 'R', { "from", 4 }, { "to", 2 } },
};

static struct node_denial denials[] = {
	{ { "read", 4 }, { "/home/u/.ssh", 12 }, { "fs.deny_read: ~/.ssh", 20 },
		{ "fs.allow_read", 13 }, 1 },
	{ { "connect", 7 }, { "a.example:443", 13 }, { "net", 3 }, { "", 0 }, 70000 },
};
static struct node_bind binds[] = {
	{ { "/home/me", 8 }, { "/src", 4 }, false },
	{ { "/a:\xff", 4 }, { "/b", 2 }, true },
};

static const struct node cases[] = {
	{ .kind = NODE_INIT },
	{ .made_from = "0123456789ab", .kind = NODE_AUTO, .time = 1, .nonce = 1 },
	{ .kind = NODE_MANUAL, .time = INT64_MIN, .message = { "m", 1 }, .nonce = UINT64_MAX },
	{ .kind = NODE_EXEC,
		.time = INT64_MAX,
		.command = args,
		.n_command = 4,
		.has_status = true },
	{ .kind = NODE_EXEC,
		.command = no_args,
		.n_command = 1,
		.has_status = true,
		.exit_status = -128,
		.duration = INT64_MAX },
	{ .kind = NODE_EXEC, .has_status = true, .exit_status = INT32_MAX, .duration = 1 },
	{ .kind = NODE_IMPORT,
		.paths = paths,
		.n_paths = 5,
		.counts = { 1, 2, UINT64_MAX, 4 },
		.tree = { { 1, 2, 3 } } },
	{ .kind = NODE_EXEC, .has_status = true, .binds = binds, .n_binds = 2 },
	{ .kind = NODE_AUTO, .binds = binds, .n_binds = 1 },
	{ .kind = NODE_EXEC, .denials = denials, .n_denials = 2 },
	{ .kind = NODE_AUTO, .binds = binds, .n_binds = 1, .denials = denials, .n_denials = 1 },
};

static void assert_str(struct str a, struct str b)
{
	assert_int_equal(a.len, b.len);
	assert_true(str_eq(a, b));
}

static void assert_same(const struct node *a, const struct node *b)
{
	assert_string_equal(a->made_from, b->made_from);
	assert_true(hash_eq(&a->tree, &b->tree));
	assert_true(a->time == b->time && a->kind == b->kind && a->nonce == b->nonce);
	assert_str(a->message, b->message);
	assert_int_equal(a->n_command, b->n_command);
	for (size_t i = 0; i < a->n_command; i++)
		assert_str(a->command[i], b->command[i]);
	assert_int_equal(a->has_status, b->has_status);
	assert_int_equal(a->exit_status, b->exit_status);
	assert_true(a->duration == b->duration);
	assert_memory_equal(&a->counts, &b->counts, sizeof(a->counts));
	assert_int_equal(a->n_paths, b->n_paths);
	for (size_t i = 0; i < a->n_paths; i++) {
		assert_int_equal(a->paths[i].op, b->paths[i].op);
		assert_str(a->paths[i].path, b->paths[i].path);
		if (a->paths[i].op == 'R')
			assert_str(a->paths[i].new_path, b->paths[i].new_path);
	}
	assert_int_equal(a->n_denials, b->n_denials);
	for (size_t i = 0; i < a->n_denials; i++) {
		assert_str(a->denials[i].what, b->denials[i].what);
		assert_str(a->denials[i].subject, b->denials[i].subject);
		assert_str(a->denials[i].rule, b->denials[i].rule);
		assert_str(a->denials[i].remedy, b->denials[i].remedy);
		assert_str(a->denials[i].remedy, b->denials[i].remedy);
		assert_int_equal(a->denials[i].times, b->denials[i].times);
	}
	assert_int_equal(a->n_binds, b->n_binds);
	for (size_t i = 0; i < a->n_binds; i++) {
		assert_str(a->binds[i].host, b->binds[i].host);
		assert_str(a->binds[i].inside, b->binds[i].inside);
		assert_int_equal(a->binds[i].read_only, b->binds[i].read_only);
	}
}

static void what_was_encoded_comes_back(void **state)
{
	for (size_t i = 0; i < COUNT(cases); i++) {
		owned(buf_release) struct buf bytes = BUF_INIT;
		owned(buf_release) struct buf again = BUF_INIT;
		owned(arena_release) struct arena arena = { 0 };
		struct node node = { .id = "feedfeedfeed", .parent = "beefbeefbeef" };
		struct err err = { 0 };

		node_encode(&cases[i], &bytes);
		if (node_decode(bytes.data, bytes.len, &arena, &node, &err) < 0)
			fail_msg("case %zu: %s", i, err.text);
		assert_same(&cases[i], &node);
		assert_string_equal(node.id, "feedfeedfeed");
		assert_string_equal(node.parent, "beefbeefbeef");
		node_encode(&node, &again);
		assert_int_equal(bytes.len, again.len);
		assert_memory_equal(bytes.data, again.data, bytes.len);
	}
}

static void every_cut_and_every_extra_byte_is_refused(void **state)
{
	for (size_t i = 0; i < COUNT(cases); i++) {
		owned(buf_release) struct buf bytes = BUF_INIT;

		node_encode(&cases[i], &bytes);
		size_t whole = bytes.len;
		buf_addc(&bytes, '\0');
		for (size_t len = 0; len <= bytes.len; len++) {
			owned(arena_release) struct arena arena = { 0 };
			struct node node = { .time = 77 };
			struct err err = { 0 };

			if (len == whole)
				continue;
			assert_int_equal(
				node_decode(bytes.data, len, &arena, &node, &err), -ERR_CORRUPT);
			assert_true(node.time == 77);
		}
	}
}

/*
 * In the encoding of the empty INIT node, one byte is changed to a value that node_encode never
 * writes there.
 */
static void malformed_fields_are_refused(void **state)
{
	static const struct {
		size_t offset;
		char byte;
	} bad[] = {
		{ 0, 0 },                      /* version */
		{ 0, 2 }, { 9, 1 },            /* length of the parent */
		{ 43, NODE_KINDS }, { 44, 2 }, /* flags */
		{ 44, 1 },                     /* flag of an exit status, which is missing */
		{ 45, 100 },                   /* the message is longer than the remaining bytes */
		{ 46, 100 },                   /* more arguments than bytes remain */
		{ 51, 1 },                     /* one changed path, which is missing */
	};
	owned(buf_release) struct buf bytes = BUF_INIT;

	node_encode(&cases[0], &bytes);
	assert_int_equal(bytes.len, 52);
	for (size_t i = 0; i < COUNT(bad); i++) {
		owned(arena_release) struct arena arena = { 0 };
		char was = bytes.data[bad[i].offset];
		struct node node = { 0 };
		struct err err = { 0 };

		bytes.data[bad[i].offset] = bad[i].byte;
		if (node_decode(bytes.data, bytes.len, &arena, &node, &err) != -ERR_CORRUPT)
			fail_msg("byte %zu may be %d", bad[i].offset, bad[i].byte);
		bytes.data[bad[i].offset] = was;
	}
}

static void a_parent_must_be_an_id(void **state)
{
	static const char *const parents[] = { "0123456789aB", "0123456789ag", "............" };

	for (size_t i = 0; i < COUNT(parents); i++) {
		owned(buf_release) struct buf bytes = BUF_INIT;
		owned(arena_release) struct arena arena = { 0 };
		struct node node = { 0 };
		struct err err = { 0 };

		memcpy(node.made_from, parents[i], NODE_ID);
		node_encode(&node, &bytes);
		assert_int_equal(
			node_decode(bytes.data, bytes.len, &arena, &node, &err), -ERR_CORRUPT);
	}
}

static void the_id_follows_from_every_byte(void **state)
{
	owned(buf_release) struct buf bytes = BUF_INIT;
	char id[NODE_ID], other[NODE_ID];

	node_encode(&cases[6], &bytes);
	node_id(bytes.data, bytes.len, id);
	assert_true(node_id_ok(id));
	for (size_t i = 0; i < bytes.len; i++) {
		bytes.data[i] ^= 1;
		node_id(bytes.data, bytes.len, other);
		assert_string_not_equal(id, other);
		bytes.data[i] ^= 1;
	}
	node_id("", 0, id);
	assert_string_equal(id, "e3b0c44298fc");
}

static void an_id_is_twelve_small_hex_digits(void **state)
{
	assert_true(node_id_ok("0123456789ab"));
	assert_false(node_id_ok(""));
	assert_false(node_id_ok("0123456789a"));
	assert_false(node_id_ok("0123456789abc"));
	assert_false(node_id_ok("0123456789AB"));
	assert_false(node_id_ok("0123456789g0"));
}

static void kinds_have_names(void **state)
{
	for (unsigned kind = 0; kind < NODE_KINDS; kind++)
		assert_string_not_equal(node_kind_name(kind), "unknown");
	assert_string_equal(node_kind_name(NODE_TRACE), "trace");
	assert_string_equal(node_kind_name(NODE_KINDS), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_encoded_comes_back),
		cmocka_unit_test(every_cut_and_every_extra_byte_is_refused),
		cmocka_unit_test(malformed_fields_are_refused),
		cmocka_unit_test(a_parent_must_be_an_id),
		cmocka_unit_test(the_id_follows_from_every_byte),
		cmocka_unit_test(an_id_is_twelve_small_hex_digits),
		cmocka_unit_test(kinds_have_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
