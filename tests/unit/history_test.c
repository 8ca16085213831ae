/* Tests of history: nodes and their parents, HEAD and the journal, undo and redo, tags. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "history_fixture.h"

#define START (INT64_C(1700000000) * WHEN_SECOND)
#define MINUTES(n) ((n)*60 * WHEN_SECOND)

struct list {
	char text[2000];
};

static int list_id(void *arg, const struct node *node, struct err *err)
{
	struct list *list = arg;

	strcat(list->text, node->id);
	strcat(list->text, " ");
	return 0;
}

static const char *ids(struct past *past, const char *digits, struct list *out)
{
	out->text[0] = '\0';
	for (; *digits; digits++) {
		strcat(out->text, past->id[*digits - '0']);
		strcat(out->text, " ");
	}
	return out->text;
}

static void a_node_comes_back_as_it_was_added(void **state)
{
	struct past *past = *state;
	owned(arena_release) struct arena arena = { 0 };
	struct hash tree = past_tree(past, "a=1");
	struct str command[] = { STR("make"), STR("all") };
	struct node node = { .tree = tree,
		.time = START,
		.kind = NODE_EXEC,
		.message = STR("built"),
		.command = command,
		.n_command = 2,
		.has_status = true,
		.exit_status = 3 };
	struct node back;

	past_ok(past, history_add(&past->history, &node, NULL, NULL, past_err(past)));
	assert_true(node_id_ok(node.id));
	assert_int_equal(history_get(&past->history, node.id, &arena, &back, past_err(past)), 1);
	assert_string_equal(back.id, node.id);
	assert_string_equal(back.parent, "");
	assert_true(hash_eq(&back.tree, &tree));
	assert_true(back.time == START);
	assert_true(str_eq(back.message, STR("built")));
	assert_int_equal(back.n_command, 2);
	assert_int_equal(back.exit_status, 3);
	assert_int_equal(
		history_get(&past->history, "0123456789ab", &arena, &back, past_err(past)), 0);
}

static void equal_moments_have_different_ids(void **state)
{
	struct past *past = *state;
	struct hash tree = past_tree(past, "a=1");

	past_add(past, "", &tree, START, NULL, past->id[0]);
	past_add(past, "", &tree, START, NULL, past->id[1]);
	assert_string_not_equal(past->id[0], past->id[1]);
}

static void nodes_are_listed_newest_first_and_by_ancestry(void **state)
{
	struct past *past = *state;
	struct list got = { "" }, want;
	uint64_t count = 0;

	past_line(past, 4, START);
	struct hash tree = past_tree(past, "side=1");
	past_add(past, past->id[1], &tree, START, NULL, past->id[4]);

	past_ok(past, history_each(&past->history, list_id, &got, past_err(past)));
	assert_string_equal(got.text, ids(past, "43210", &want));
	got.text[0] = '\0';
	past_ok(past,
		history_ancestors(&past->history, past->id[4], list_id, &got, past_err(past)));
	assert_string_equal(got.text, ids(past, "410", &want));
	got.text[0] = '\0';
	past_ok(past, history_tips(&past->history, list_id, &got, past_err(past)));
	assert_string_equal(got.text, ids(past, "43", &want));
	past_ok(past, history_count(&past->history, &count, past_err(past)));
	assert_int_equal(count, 5);
}

static void children_of_a_deleted_node_get_its_parent(void **state)
{
	struct past *past = *state;
	char parent[NODE_ID];
	struct history_gone gone;
	uint64_t count = 0;

	past_line(past, 4, START);
	struct hash tree = past_tree(past, "side=1");
	past_add(past, past->id[1], &tree, START, NULL, past->id[4]);
	past_ok(past, history_delete(&past->history, past->id[1], past_err(past)));
	past_parent(past, past->id[2], parent);
	assert_string_equal(parent, past->id[0]);
	past_parent(past, past->id[4], parent);
	assert_string_equal(parent, past->id[0]);
	past_ok(past, history_delete(&past->history, past->id[0], past_err(past)));
	past_parent(past, past->id[4], parent);
	assert_string_equal(parent, "");
	past_ok(past, history_count(&past->history, &count, past_err(past)));
	assert_int_equal(count, 3);
	assert_int_equal(history_deleted(&past->history, past->id[1], &gone, past_err(past)), 1);
	assert_string_equal(gone.id, past->id[1]);
	assert_false(gone.retention);
	assert_int_equal(history_deleted(&past->history, past->id[2], &gone, past_err(past)), 0);
}

static void what_is_in_use_cannot_be_deleted(void **state)
{
	struct past *past = *state;
	struct err err = { 0 };

	past_line(past, 4, START);
	past_ok(past, history_tag_set(&past->history, "v1", past->id[1], past_err(past)));
	past_ok(past, history_set_pending(&past->history, "main", past->id[0], past_err(past)));
	assert_int_equal(history_delete(&past->history, past->id[3], &err), -ERR_INVALID);
	assert_non_null(strstr(err.text, "HEAD"));
	assert_int_equal(history_delete(&past->history, past->id[1], &err), -ERR_INVALID);
	assert_non_null(strstr(err.text, "v1"));
	assert_int_equal(history_delete(&past->history, past->id[0], &err), -ERR_INVALID);
	assert_int_equal(history_delete(&past->history, "0123456789ab", &err), -ERR_NOT_FOUND);
	past_ok(past, history_delete(&past->history, past->id[2], past_err(past)));
	for (int i = 0; i < 4; i++)
		assert_int_equal(past_has(past, past->id[i]), i != 2);
}

static void the_only_node_cannot_be_deleted(void **state)
{
	struct past *past = *state;
	struct hash tree = past_tree(past, "a=1");
	struct err err = { 0 };

	past_add(past, "", &tree, START, NULL, past->id[0]);
	assert_int_equal(history_delete(&past->history, past->id[0], &err), -ERR_INVALID);
	past_add(past, past->id[0], &tree, START, NULL, past->id[1]);
	past_ok(past, history_delete(&past->history, past->id[0], past_err(past)));
}

/*
 * Each letter does one operation in the workspace main, whose HEAD is node 0 at first:
 *	c  commit the next node       0-9   check out that node
 *	u  undo    r  redo            U, R  undo or redo must find nothing
 */
static void undo_and_redo_follow_the_journal(void **state)
{
	static const struct {
		const char *does;
		/* number of the node that is HEAD after each operation that moves HEAD */
		const char *heads;
	} cases[] = {
		{ "UR", "" },
		{ "cuU", "10" },
		{ "cuUrR", "101" },
		{ "ccuurcR", "121013" },
		{ "ccuurcuuU", "12101310" },
		{ "ccuurcuurrR", "1210131013" }, /* redo goes to the latest movement */
		{ "cc1uuuUrrrR", "121210121" },
		{ "ccc1uuuuUrrrrR", "123132101231" },
		{ "cccuuucRurR", "123210404" },
		{ "00uuU", "0000" },
		{ "ccu0uuU", "121010" },
		{ "ccu0Ruu2RuUrR", "121010202" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		void *fresh = NULL;

		assert_int_equal(past_setup(&fresh), 0);
		struct past *past = fresh;
		size_t next = 1, move = 0;
		struct hash tree = past_tree(past, "a=1");

		past_add(past, "", &tree, START, NULL, past->id[0]);
		past_workspace(past, "main", past->id[0]);
		for (const char *does = cases[i].does; *does; does++) {
			owned(arena_release) struct arena arena = { 0 };
			struct history_workspace row;
			char id[NODE_ID] = "";
			struct err err = { 0 };
			bool undo = *does == 'u' || *does == 'U';

			history_workspace(&past->history, "main", &arena, &row, &err);
			if (*does == 'c') {
				past_add(past, row.head, &tree, START, "main", past->id[next++]);
			} else if (*does >= '0' && *does <= '9') {
				past_ok(past,
					history_move(&past->history, "main", past->id[*does - '0'],
						"checkout", past_err(past)));
			} else if (*does == 'U' || *does == 'R') {
				assert_int_equal(history_step(&past->history, "main", undo ? -1 : 1,
							 id, NULL, &err),
					-ERR_NOT_FOUND);
				assert_string_equal(err.text,
					undo ? "nothing left to undo" : "nothing left to redo");
				continue;
			} else {
				past_ok(past, history_step(&past->history, "main", undo ? -1 : 1,
						      id, NULL, past_err(past)));
				past_ok(past, history_move(&past->history, "main", id,
						      undo ? "undo" : "redo", past_err(past)));
			}
			history_workspace(&past->history, "main", &arena, &row, &err);
			if (strcmp(row.head, past->id[cases[i].heads[move] - '0']))
				fail_msg("'%s': letter %zu leads to the wrong node", cases[i].does,
					(size_t)(does - cases[i].does) + 1);
			move++;
		}
		assert_int_equal(past_teardown(&fresh), 0);
	}
}

static void several_steps_lead_where_single_ones_do(void **state)
{
	struct past *past = *state;
	struct err err = { 0 };
	char id[NODE_ID];

	past_line(past, 5, START);
	past_ok(past, history_step(&past->history, "main", -3, id, NULL, past_err(past)));
	assert_string_equal(id, past->id[1]);
	assert_int_equal(history_step(&past->history, "main", -5, id, NULL, &err), -ERR_NOT_FOUND);
	assert_string_equal(err.text, "nothing more to undo");
	for (int i = 3; i >= 1; i--) {
		past_ok(past, history_step(&past->history, "main", -1, id, NULL, past_err(past)));
		assert_string_equal(id, past->id[i]);
		past_ok(past, history_move(&past->history, "main", id, "undo", past_err(past)));
	}
	past_ok(past, history_step(&past->history, "main", 3, id, NULL, past_err(past)));
	assert_string_equal(id, past->id[4]);
	assert_int_equal(history_move(&past->history, "main", id, "redo", &err), -ERR_INVALID);
}

static void deleted_states_are_no_steps(void **state)
{
	struct past *past = *state;
	char id[NODE_ID];

	past_line(past, 5, START);
	past_ok(past, history_delete(&past->history, past->id[3], past_err(past)));
	past_ok(past, history_delete(&past->history, past->id[1], past_err(past)));
	past_ok(past, history_step(&past->history, "main", -1, id, NULL, past_err(past)));
	assert_string_equal(id, past->id[2]);
	past_ok(past, history_move(&past->history, "main", id, "undo", past_err(past)));
	past_ok(past, history_step(&past->history, "main", -1, id, NULL, past_err(past)));
	assert_string_equal(id, past->id[0]);
	past_ok(past, history_move(&past->history, "main", id, "undo", past_err(past)));
	past_ok(past, history_step(&past->history, "main", 2, id, NULL, past_err(past)));
	assert_string_equal(id, past->id[4]);
}

static void steps_say_what_they_pass_over(void **state)
{
	struct past *past = *state;
	struct history_passed passed;
	struct err err = { 0 };
	char id[NODE_ID];

	past_line(past, 6, START);
	past_ok(past, history_step(&past->history, "main", -1, id, &passed, past_err(past)));
	assert_int_equal(passed.count, 0);
	past_clock(START + MINUTES(20));
	past_ok(past, history_delete(&past->history, past->id[2], past_err(past)));
	past_clock(START + MINUTES(30));
	for (int i = 3; i < 5; i++)
		past_ok(past, history_drop(&past->history, past->id[i], START + MINUTES(25),
				      past_err(past)));
	past_ok(past, history_step(&past->history, "main", -1, id, &passed, past_err(past)));
	assert_string_equal(id, past->id[1]);
	assert_int_equal(passed.count, 3);
	assert_string_equal(passed.nearest.id, past->id[4]);
	assert_true(passed.nearest.retention);
	assert_true(passed.nearest.time == START + MINUTES(25));
	assert_true(passed.time == START + MINUTES(4));
	past_ok(past, history_move(&past->history, "main", id, "undo", past_err(past)));
	past_ok(past, history_step(&past->history, "main", 1, id, &passed, past_err(past)));
	assert_string_equal(id, past->id[5]);
	assert_string_equal(passed.nearest.id, past->id[2]);
	assert_false(passed.nearest.retention);
	past_ok(past, history_delete(&past->history, past->id[0], past_err(past)));
	assert_int_equal(
		history_step(&past->history, "main", -1, id, &passed, &err), -ERR_NOT_FOUND);
	assert_non_null(strstr(err.text, past->id[0]));
	assert_non_null(strstr(err.text, "was deleted at "));
}

static void workspaces_have_journals_of_their_own(void **state)
{
	struct past *past = *state;
	struct err err = { 0 };
	struct history_journal journal = { 0 };
	char id[NODE_ID];

	past_line(past, 3, START);
	past_workspace(past, "side", past->id[1]);
	assert_int_equal(history_step(&past->history, "side", -1, id, NULL, &err), -ERR_NOT_FOUND);
	past_ok(past, history_step(&past->history, "main", -1, id, NULL, past_err(past)));
	assert_int_equal(history_journal(&past->history, "side", &journal, past_err(past)), 1);
	assert_int_equal(journal.movements, 0);
	assert_int_equal(history_journal(&past->history, "main", &journal, past_err(past)), 1);
	assert_int_equal(journal.movements, 2);
	assert_true(journal.start == START);
	assert_int_equal(history_journal(&past->history, "none", &journal, past_err(past)), 0);
	assert_int_equal(history_move(&past->history, "none", past->id[0], "checkout", &err),
		-ERR_NOT_FOUND);
}

static void head_is_known_for_every_instant(void **state)
{
	struct past *past = *state;
	char id[NODE_ID];

	past_line(past, 4, START);
	assert_int_equal(history_head_at(&past->history, "main", START - 1, id, past_err(past)), 0);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(history_head_at(&past->history, "main", START + MINUTES(i), id,
					 past_err(past)),
			1);
		assert_string_equal(id, past->id[i]);
		assert_int_equal(history_head_at(&past->history, "main", START + MINUTES(i + 1) - 1,
					 id, past_err(past)),
			1);
		assert_string_equal(id, past->id[i]);
	}
	/* the time of a deleted node belongs to the node before it */
	past_ok(past, history_delete(&past->history, past->id[2], past_err(past)));
	past_ok(past,
		history_head_at(&past->history, "main", START + MINUTES(2), id, past_err(past)));
	assert_string_equal(id, past->id[1]);
}

static void head_is_known_before_each_movement(void **state)
{
	struct past *past = *state;
	char id[NODE_ID];

	past_line(past, 3, START);
	past_ok(past,
		history_move(&past->history, "main", past->id[0], "checkout", past_err(past)));
	static const int before[] = { 2, 1, 0 };
	for (int n = 1; n <= 3; n++) {
		assert_int_equal(
			history_head_before(&past->history, "main", n, id, past_err(past)), 1);
		assert_string_equal(id, past->id[before[n - 1]]);
	}
	assert_int_equal(history_head_before(&past->history, "main", 4, id, past_err(past)), 0);
}

static void a_movement_ends_what_was_pending(void **state)
{
	struct past *past = *state;
	owned(arena_release) struct arena arena = { 0 };
	struct history_workspace row;

	past_line(past, 2, START);
	past_ok(past, history_set_pending(&past->history, "main", past->id[0], past_err(past)));
	past_ok(past, history_workspace(&past->history, "main", &arena, &row, past_err(past)));
	assert_string_equal(row.pending, past->id[0]);
	past_ok(past,
		history_move(&past->history, "main", past->id[0], "checkout", past_err(past)));
	past_ok(past, history_workspace(&past->history, "main", &arena, &row, past_err(past)));
	assert_null(row.pending);
	assert_string_equal(row.head, past->id[0]);
	assert_int_equal(
		history_workspace(&past->history, "none", &arena, &row, past_err(past)), 0);
}

static int list_tag(void *arg, const char *name, const char *id, struct err *err)
{
	strcat(((struct list *)arg)->text, name);
	strcat(((struct list *)arg)->text, " ");
	return 0;
}

static void tags_can_be_set_moved_listed_and_deleted(void **state)
{
	struct past *past = *state;
	struct list got = { "" };
	struct err err = { 0 };
	char id[NODE_ID];

	past_line(past, 3, START);
	past_ok(past, history_tag_set(&past->history, "b", past->id[0], past_err(past)));
	past_ok(past, history_tag_set(&past->history, "a", past->id[0], past_err(past)));
	past_ok(past, history_tag_set(&past->history, "b", past->id[2], past_err(past)));
	assert_int_equal(history_tag_get(&past->history, "b", id, past_err(past)), 1);
	assert_string_equal(id, past->id[2]);
	assert_int_equal(history_tag_get(&past->history, "c", id, past_err(past)), 0);
	past_ok(past, history_tags(&past->history, NULL, list_tag, &got, past_err(past)));
	past_ok(past, history_tags(&past->history, past->id[2], list_tag, &got, past_err(past)));
	assert_string_equal(got.text, "a b b ");
	assert_int_equal(
		history_tag_set(&past->history, "c", "0123456789ab", &err), -ERR_NOT_FOUND);
	assert_int_equal(history_tag_delete(&past->history, "c", &err), -ERR_NOT_FOUND);
	past_ok(past, history_tag_delete(&past->history, "a", past_err(past)));
	assert_int_equal(
		fixture_number(past->fixture, "SELECT value FROM meta WHERE key = 'tags'"), 1);
}

static void a_tag_looks_like_nothing_else(void **state)
{
	static const char *const good[] = { "v1", "a/b", "release-2.0", "caf\xc3\xa9", "abcd",
		"x=y" };
	static const char *const bad[] = { "", "HEAD", "work", "@", "a~1", "a^", "a:b", "@{1}",
		"a b", "a\n", "-x", ".x", "0123456789ab", "a\\b" };

	for (size_t i = 0; i < COUNT(good); i++)
		if (!history_tag_ok(good[i]))
			fail_msg("'%s' is refused", good[i]);
	for (size_t i = 0; i < COUNT(bad); i++)
		if (history_tag_ok(bad[i]))
			fail_msg("'%s' is allowed", bad[i]);
}

static void settings_come_back_and_can_be_removed(void **state)
{
	struct past *past = *state;
	owned(arena_release) struct arena arena = { 0 };
	char *value;

	past_ok(past, history_meta_set(&past->history, "name", "one", past_err(past)));
	past_ok(past, history_meta_set(&past->history, "name", "two", past_err(past)));
	past_ok(past, history_meta(&past->history, "name", &arena, &value, past_err(past)));
	assert_string_equal(value, "two");
	past_ok(past, history_meta_set(&past->history, "name", NULL, past_err(past)));
	past_ok(past, history_meta(&past->history, "name", &arena, &value, past_err(past)));
	assert_null(value);
}

static void a_failed_addition_leaves_nothing(void **state)
{
	struct past *past = *state;
	struct hash tree = past_tree(past, "a=1");
	struct node node = { .tree = tree };
	struct err err = { 0 };

	assert_int_equal(
		history_add(&past->history, &node, "none", "commit", &err), -ERR_NOT_FOUND);
	assert_int_equal(fixture_number(past->fixture, "SELECT count(*) FROM node"), 0);
	assert_int_equal(
		fixture_number(past->fixture, "SELECT value FROM meta WHERE key = 'nodes'"), 0);
	assert_false(db_in_transaction(past->fixture->db));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		past_test(a_node_comes_back_as_it_was_added),
		past_test(equal_moments_have_different_ids),
		past_test(nodes_are_listed_newest_first_and_by_ancestry),
		past_test(children_of_a_deleted_node_get_its_parent),
		past_test(what_is_in_use_cannot_be_deleted),
		past_test(the_only_node_cannot_be_deleted),
		cmocka_unit_test(undo_and_redo_follow_the_journal),
		past_test(several_steps_lead_where_single_ones_do),
		past_test(deleted_states_are_no_steps),
		past_test(steps_say_what_they_pass_over),
		past_test(workspaces_have_journals_of_their_own),
		past_test(head_is_known_for_every_instant),
		past_test(head_is_known_before_each_movement),
		past_test(a_movement_ends_what_was_pending),
		past_test(tags_can_be_set_moved_listed_and_deleted),
		cmocka_unit_test(a_tag_looks_like_nothing_else),
		past_test(settings_come_back_and_can_be_removed),
		past_test(a_failed_addition_leaves_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
