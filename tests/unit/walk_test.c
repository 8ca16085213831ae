/* walk: visits the entries below a path, by name and depth first, and no others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "query/strata.h"
#include "query/walk.h"

#include "tree_fixture.h"

static const char words[] = "a=1 d/,m0700 d/e/f=2 d/e/g/ d/x=3 d/y@a u/! z=";

struct heard {
	struct buf text;
	const char *answer_at; /* path at which visit returns the answer */
	int answer;
};

static int hear(void *arg, struct str path, const struct entry *entry, struct err *err)
{
	struct heard *heard = arg;

	buf_add(&heard->text, path.ptr, path.len);
	buf_addf(&heard->text, "%s ", entry->type == ENTRY_DIR ? "/" : "");
	if (!heard->answer_at || !str_eq(path, str_of(heard->answer_at)))
		return 0;
	return heard->answer < 0 ? err_set(err, ERR_LIMIT, "enough") : heard->answer;
}

typedef int (*walk_call)(
	struct view *view, struct str base, walk_visit visit, void *arg, struct err *err);

struct walk_case {
	const char *base, *answer_at;
	int answer;
	const char *heard;
	int result;
};

static void assert_walks(
	struct fixture *fixture, walk_call walk, const struct walk_case *cases, size_t n)
{
	struct hash tree = tree_of(fixture, words);
	owned(view_closep) struct view *view = strata_view(fixture->store, &tree, -1);

	for (size_t i = 0; i < n; i++) {
		struct heard heard = { BUF_INIT, cases[i].answer_at, cases[i].answer };
		struct err err = { 0 };

		buf_adds(&heard.text, "");
		assert_int_equal(
			walk(view, str_of(cases[i].base), hear, &heard, &err), cases[i].result);
		assert_string_equal(heard.text.data, cases[i].heard);
		buf_release(&heard.text);
	}
}

static void goes_through_everything_below(void **state)
{
	static const struct walk_case cases[] = {
		{ "", NULL, 0, "a d/ d/e/ d/e/f d/e/g/ d/x d/y u/ z ", 0 },
		{ "d", NULL, 0, "d/e/ d/e/f d/e/g/ d/x d/y ", 0 },
		{ "d/", NULL, 0, "d/e/ d/e/f d/e/g/ d/x d/y ", 0 },
		{ "d/e", NULL, 0, "d/e/f d/e/g/ ", 0 },
		{ "d/e/g", NULL, 0, "", 0 },
		{ "u", NULL, 0, "", 0 },
		/* If the base is no directory, it is the only path that is visited. */
		{ "d/x", NULL, 0, "d/x ", 0 },
		{ "d/y", NULL, 0, "d/y ", 0 },
		{ "nothing", NULL, 0, "", -ERR_NOT_FOUND },
		{ "a/b", NULL, 0, "", -ERR_NOT_FOUND },
		{ "d/y/a", NULL, 0, "", -ERR_NOT_FOUND },
		{ "../a", NULL, 0, "", -ERR_INVALID },
	};

	assert_walks(*state, walk_tree, cases, COUNT(cases));
}

static void stops_when_told_to(void **state)
{
	static const struct walk_case cases[] = {
		{ "", "d/e/f", 1, "a d/ d/e/ d/e/f ", 0 },
		{ "", "d", 1, "a d/ ", 0 },
		{ "", "z", 1, "a d/ d/e/ d/e/f d/e/g/ d/x d/y u/ z ", 0 },
		{ "", "d/e/f", -1, "a d/ d/e/ d/e/f ", -ERR_LIMIT },
		{ "d/x", "d/x", 1, "d/x ", 0 },
		{ "d/x", "d/x", -1, "d/x ", -ERR_LIMIT },
		/* The walk goes on after the directory, without its entries. */
		{ "", "d", WALK_PRUNE, "a d/ u/ z ", 0 },
		{ "", "d/e", WALK_PRUNE, "a d/ d/e/ d/x d/y u/ z ", 0 },
		{ "", "a", WALK_PRUNE, "a d/ d/e/ d/e/f d/e/g/ d/x d/y u/ z ", 0 },
		{ "d/x", "d/x", WALK_PRUNE, "d/x ", 0 },
	};

	assert_walks(*state, walk_tree, cases, COUNT(cases));
}

static void lists_one_directory(void **state)
{
	static const struct walk_case cases[] = {
		{ "", NULL, 0, "a d/ u/ z ", 0 },
		{ "d", NULL, 0, "d/e/ d/x d/y ", 0 },
		{ "d/e/g", NULL, 0, "", 0 },
		{ "a", NULL, 0, "a ", 0 },
		{ "", "d", 1, "a d/ ", 0 },
		{ "nothing", NULL, 0, "", -ERR_NOT_FOUND },
	};

	assert_walks(*state, walk_dir, cases, COUNT(cases));
}

static void knows_what_is_at_a_path(void **state)
{
	struct fixture *fixture = *state;
	struct hash tree = tree_of(fixture, words);
	owned(view_closep) struct view *view = strata_view(fixture->store, &tree, -1);
	owned(arena_release) struct arena arena = { 0 };
	struct err err = { 0 };
	struct entry entry;

	assert_int_equal(walk_stat(view, STR("d/y"), &arena, &entry, &err), 1);
	assert_int_equal(entry.type, ENTRY_LINK);
	assert_true(str_eq(entry.target, STR("a")));
	assert_true(str_eq(entry.name, STR("y")));
	assert_int_equal(walk_stat(view, STR(""), &arena, &entry, &err), 1);
	assert_int_equal(entry.count, 9);
	/* A message shows names as text, whatever their bytes are. */
	assert_int_equal(walk_stat(view, STR("no\n\xff"), &arena, &entry, &err), -ERR_NOT_FOUND);
	assert_null(strchr(err.text, '\n'));
}

/* The path is longer than any initial buffer. */
static void goes_down_1200_levels(void **state)
{
	struct fixture *fixture = *state;
	owned(buf_release) struct buf path = BUF_INIT;
	struct heard heard = { BUF_INIT, NULL, 0 };

	struct entry entry = built_file(fixture, "file", "deep");
	for (int i = 0; i < 1200; i++) {
		entry = built_dir(fixture, "a longer name", &entry, 1);
		buf_adds(&path, "a longer name/");
	}
	struct hash tree = built_tree(fixture, &entry, 1);
	owned(view_closep) struct view *view = strata_view(fixture->store, &tree, -1);
	assert_ok(fixture, walk_tree(view, STR("a longer name"), hear, &heard, &fixture->err));
	buf_adds(&path, "file ");
	assert_true(heard.text.len > path.len);
	assert_string_equal(heard.text.data + heard.text.len - path.len, path.data);
	buf_release(&heard.text);
}

/* --- a view that uses its path after deeper directories were listed --- */

#define LEVELS 60

struct deep_view {
	struct view view;
	void *kept[LEVELS]; /* memory between the buffer and the place where it could grow */
	size_t n_kept;
};

static int deep_stat(struct view *view, struct str path, struct arena *arena, struct entry *entry,
	struct err *err)
{
	*entry = (struct entry){ .name = STR(""), .type = ENTRY_DIR, .content = ENTRY_TREE };
	return 1;
}

static int deep_list(struct view *view, const struct entry *dir, struct str path, view_visit visit,
	void *arg, struct err *err)
{
	struct deep_view *self = (struct deep_view *)view;
	owned_mem char *before = mem_dup(path.ptr, path.len);
	struct entry below = *dir;

	if (self->n_kept == LEVELS)
		return 0;
	self->kept[self->n_kept++] = mem_zalloc(4000);
	below.name = STR("a name that is quite long, so that few of them fill a buffer");
	int r = visit(arg, &below, err);
	assert_memory_equal(path.ptr, before, path.len);
	return r;
}

static void a_path_stays_while_its_directory_is_listed(void **state)
{
	static const struct view_ops ops = { .stat = deep_stat, .list = deep_list };
	struct deep_view deep = { .view.ops = &ops };
	struct heard heard = { BUF_INIT, NULL, 0 };
	struct err err = { 0 };

	assert_int_equal(walk_tree(&deep.view, STR(""), hear, &heard, &err), 0);
	assert_int_equal(deep.n_kept, LEVELS);
	for (size_t i = 0; i < LEVELS; i++)
		free(deep.kept[i]);
	buf_release(&heard.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		tree_test(goes_through_everything_below),
		tree_test(stops_when_told_to),
		tree_test(lists_one_directory),
		tree_test(knows_what_is_at_a_path),
		tree_test(goes_down_1200_levels),
		cmocka_unit_test(a_path_stays_while_its_directory_is_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
