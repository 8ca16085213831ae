/* treegraft: one path is taken from another tree, and the rest does not change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tree/treegraft.h"

#include "tree_fixture.h"

struct graft_case {
	const char *base, *source, *path;
	const char *result; /* NULL: neither tree has the path */
};

static void assert_grafts(struct fixture *fixture, const struct graft_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct graft_case *c = &cases[i];
		struct hash base = tree_of(fixture, c->base), source = tree_of(fixture, c->source);
		struct err err = { 0 };
		struct hash result;
		int r = treegraft_path(
			fixture->store, &base, &source, str_of(c->path), &result, &err);

		if (!c->result) {
			assert_int_equal(r, -ERR_NOT_FOUND);
			continue;
		}
		if (r < 0)
			print_error("%s\n", err.text);
		assert_int_equal(r, 0);
		struct hash want = tree_of(fixture, c->result);
		if (!hash_eq(&want, &result))
			print_error("'%s' of '%s' in '%s'\n", c->path, c->source, c->base);
		assert_same_tree(&want, &result);
	}
}

static void takes_what_the_source_has(void **state)
{
	static const struct graft_case cases[] = {
		/* the path is in both trees */
		{ "a=1 b=2", "a=9 c=3", "a", "a=9 b=2" },
		{ "a=1 b=2", "a=1,m0600 c=3", "a", "a=1,m0600 b=2" },
		{ "a=1 b=2", "a=1 c=3", "a", "a=1 b=2" },
		{ "l@x", "l@y", "l", "l@y" },
		{ "d/x=1 d/y=2", "d/x=9 d/z=3", "d/x", "d/x=9 d/y=2" },
		/* the path is only in the source */
		{ "a=1 b=2", "a=9 c=3", "c", "a=1 b=2 c=3" },
		{ "b=2", "a=9", "a", "a=9 b=2" },
		{ "", "a=9", "a", "a=9" },
		{ "a=1", "d/ d/x=1", "d", "a=1 d/ d/x=1" },
		/* the path is only in the base */
		{ "a=1 b=2", "a=9 c=3", "b", "a=1" },
		{ "a=1", "", "a", "" },
		{ "d/x=1", "d/", "d/x", "d/" },
		{ "d/x=1", "", "d/x", "d/" },
		{ "a=1 d/x=1 d/y/z=2", "", "d", "a=1" },
		/* the path is in neither tree */
		{ "a=1", "a=9", "b", NULL },
		{ "a=1", "a=9", "b/c", NULL },
		{ "d/x=1", "d/x=2", "d/y", NULL },
		{ "a=1", "a=9", "..", NULL },
	};

	assert_grafts(*state, cases, COUNT(cases));
}

static void a_directory_comes_with_all_that_is_in_it(void **state)
{
	static const struct graft_case cases[] = {
		{ "a=1 d/,m0700 d/x=1 d/y=2", "d/,m0711,t5 d/x=9 d/z/w=3", "d",
			"a=1 d/,m0711,t5 d/x=9 d/z/w=3" },
		{ "d/x=1", "d/", "d", "d/" },
		{ "d/x=1", "d/!", "d", "d/!" },
	};

	assert_grafts(*state, cases, COUNT(cases));
}

static void directories_on_the_way_keep_their_own_attributes(void **state)
{
	static const struct graft_case cases[] = {
		{ "/,m0700 d/,m0711,t1 d/x=1", "/,m0755 d/,m0755,t2 d/x=2", "d/x",
			"/,m0700 d/,m0711,t1 d/x=2" },
		/* Missing parents are taken from the source, without their other entries. */
		{ "a=1", "d/,m0700 d/e/,m0711 d/e/x=1 d/e/y=2 d/z=3", "d/e/x",
			"a=1 d/,m0700 d/e/,m0711 d/e/x=1" },
		{ "a=1 d/,m0710 d/y=7", "d/,m0700 d/e/,m0711 d/e/x=1 d/z=3", "d/e/x",
			"a=1 d/,m0710 d/e/,m0711 d/e/x=1 d/y=7" },
	};

	assert_grafts(*state, cases, COUNT(cases));
}

static void what_is_in_the_way_gives_way(void **state)
{
	static const struct graft_case cases[] = {
		{ "d=file", "d/,m0711 d/x=1 d/y=2", "d/x", "d/,m0711 d/x=1" },
		{ "d@elsewhere", "d/x=1", "d/x", "d/x=1" },
		{ "a/b=file", "a/b/c/d=1", "a/b/c/d", "a/b/c/d=1" },
		{ "d=file", "d/x=1 d/y=2", "d", "d/x=1 d/y=2" },
		{ "d/x=1 d/y=2", "d=file", "d", "d=file" },
		/* The source has a file where the path goes on, so it does not have the path. */
		{ "d/x=1 d/y=2", "d=file", "d/x", "d/y=2" },
		/* The source has nothing at the path, so the base does not change. */
		{ "d=file", "", "d/x", NULL },
		{ "d=file", "d/y=1", "d/x", NULL },
		{ "d=file", "d=other", "d/x", NULL },
	};

	assert_grafts(*state, cases, COUNT(cases));
}

static void the_root_is_a_path_too(void **state)
{
	static const struct graft_case cases[] = {
		{ "a=1", "/,m0711,t5 b=2 d/x=1", "", "/,m0711,t5 b=2 d/x=1" },
		{ "a=1", "", "", "" },
		{ "a=1", "a=1", "", "a=1" },
		{ "a=1", "b=2", "/", "b=2" },
		{ "d/x=1 d/y=2", "d/x=9", "/d//x/", "d/x=9 d/y=2" },
	};

	assert_grafts(*state, cases, COUNT(cases));
}

/* In a directory of many nodes, the neighbours of the name do not change. */
static void changes_one_name_of_many(void **state)
{
	enum { N = 5000 };
	struct fixture *fixture = *state;
	struct entry *entries = mem_zalloc(N * sizeof(*entries));
	char(*names)[16] = mem_alloc(N * sizeof(*names));
	struct hash result;

	for (size_t i = 0; i < N; i++) {
		snprintf(names[i], sizeof(names[i]), "%06zu", i);
		entries[i] = built_file(fixture, names[i], "same");
	}
	struct hash base = built_tree(fixture, entries, N);
	entries[N / 2].mode = 0600;
	struct hash source = built_tree(fixture, entries, N);
	entries[0].mode = entries[N - 1].mode = 0600;
	struct hash other = built_tree(fixture, entries, N);
	assert_ok(fixture, treegraft_path(fixture->store, &base, &other, str_of(names[N / 2]),
				   &result, &fixture->err));
	assert_same_tree(&result, &source);
	free(entries);
	free(names);
}

/*
 * Make a tree from words such as "a=1 d/b-a": the file a has the content 1, and d/b is another name
 * of it.
 */
static struct hash linked_tree(struct fixture *fixture, const char *spec)
{
	static int made;
	struct live live;
	char name[32], words[256];
	struct hash tree;

	snprintf(name, sizeof(name), "linked-%d", made++);
	snprintf(words, sizeof(words), "%s", spec);
	live_open(&live, fixture, name);
	assert_int_equal(mkdirat(live.fd, "d", 0755), 0);
	assert_int_equal(mkdirat(live.fd, "e", 0755), 0);
	for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) {
		char *at = word + strcspn(word, "=-");
		bool link = *at == '-';

		*at++ = '\0';
		if (link) {
			assert_int_equal(linkat(live.fd, at, live.fd, word, 0), 0);
			continue;
		}
		put(live.fd, word, at);
		stamp(live.fd, word, SECOND);
	}
	stamp(live.fd, "d", SECOND);
	stamp(live.fd, "e", SECOND);
	stamp(live.fd, ".", SECOND);
	tree = live_read(&live);
	live_close(&live);
	return tree;
}

static void links_across_the_seam(void **state)
{
	static const struct graft_case cases[] = {
		/* a deleted name comes back as a link */
		{ "a=1", "a=1 b-a", "b", "a=1 b-a" },
		{ "a=1 c-a", "a=1 b-a c-a", "b", "a=1 b-a c-a" },
		{ "a=1 c-a", "a=1 b-a c-a", "a", "a=1 c-a" },
		{ "d/x=1", "d/x=1 e/x-d/x e/y-d/x", "e", "d/x=1 e/x-d/x e/y-d/x" },
		/* in the base, the name outside the path is another file, so it is not linked to */
		{ "a=2", "a=1 b-a", "b", "a=2 b=1" },
		{ "a=2 b-a", "a=1 b-a", "b", "a=2 b=1" },
		{ "a=2 b-a c-a", "a=1 b-a c-a", "b", "a=2 b=1 c-a" },
		{ "d/x=2 e/x-d/x", "d/x=1 d/y-d/x e/x-d/x e/y-d/x", "e", "d/x=2 e/x=1 e/y-e/x" },
		/* no name is left that the file could be linked to */
		{ "c=1", "a=1 b-a", "b", "b=1 c=1" },
		{ "", "a=1 b-a", "b", "b=1" },
		{ "", "d/x=1 e/x-d/x e/y-d/x", "e", "e/x=1 e/y-e/x" },
		/* after a removal, the other names stay linked, or become a single file */
		{ "a=1 b-a", "", "b", "a=1" },
		{ "a=1 b-a c-a", "", "b", "a=1 c-a" },
		{ "a=1 b-a c-a", "b=2", "b", "a=1 b=2 c-a" },
		{ "d/x=1 e/x-d/x e/y-d/x", "", "e/x", "d/x=1 e/y-d/x" },
		/* names of two groups of the source are one group in the base now */
		{ "a=1 b-a", "a=1 c-a b=1 d/x-b", "d/x", "a=1 b-a d/x-a" },
		/* all names of the group are inside the path */
		{ "a=1 b-a", "d/x=3 d/y-d/x", "d", "a=1 b-a d/x=3 d/y-d/x" },
		{ "d/x=3 d/y-d/x e/x=1", "e/x=2", "e", "d/x=3 d/y-d/x e/x=2" },
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct graft_case *c = &cases[i];
		struct hash base = linked_tree(fixture, c->base);
		struct hash source = linked_tree(fixture, c->source);
		struct hash want = linked_tree(fixture, c->result);
		struct hash result;

		assert_ok(fixture, treegraft_path(fixture->store, &base, &source, str_of(c->path),
					   &result, &fixture->err));
		if (!hash_eq(&want, &result))
			print_error("'%s' of '%s' in '%s'\n", c->path, c->source, c->base);
		assert_same_tree(&want, &result);
	}
}

struct put_case {
	const char *base, *source, *from, *path;
	const char *result; /* NULL: the entry cannot be put there */
};

static int put_from(struct fixture *fixture, const struct put_case *c, const struct hash *base,
	const struct hash *source, struct hash *result, struct err *err)
{
	struct treeiter iter;
	struct entry what;

	treeiter_init(&iter, fixture->store);
	assert_int_equal(treeiter_path(&iter, source, str_of(c->from), &what, err), 1);
	int r = treegraft_put(fixture->store, base, &what, str_of(c->path), result, err);
	treeiter_release(&iter);
	return r;
}

static void puts_an_entry_anywhere(void **state)
{
	static const struct put_case cases[] = {
		{ "a=1", "x=9,m0600", "x", "b", "a=1 b=9,m0600" },
		{ "a=1 b=2", "x=9", "x", "b", "a=1 b=9" },
		{ "a@x", "x=9", "x", "a", "a=9" },
		{ "a=1 d/", "p/q/x=9", "p/q", "d/e", "a=1 d/ d/e/x=9" },
		/* Directories are merged, and the existing directory keeps its attributes. */
		{ "d/,m0700 d/a=1 d/b=2", "p/,m0711 p/b=9 p/c=3", "p", "d",
			"d/,m0700 d/a=1 d/b=9 d/c=3" },
		{ "d/e/a=1", "p/e/b=2 p/f/c=3", "p", "d", "d/e/a=1 d/e/b=2 d/f/c=3" },
		{ "/,m0700 a=1", "p/b=2", "p", "", "/,m0700 a=1 b=2" },
		/* These entries cannot be put at the path. */
		{ "d/a=1", "x=9", "x", "d", NULL },
		{ "d=1", "p/x=9", "p", "d", NULL },
		{ "d/e/a=1", "p/e=9", "p", "d", NULL },
		{ "a=1", "x=9", "x", "b/c", NULL },
		{ "b=1", "x=9", "x", "b/c", NULL },
		{ "b@d d/", "x=9", "x", "b/c", NULL },
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct put_case *c = &cases[i];
		struct hash base = tree_of(fixture, c->base), source = tree_of(fixture, c->source);
		struct err err = { 0 };
		struct hash result;
		int r = put_from(fixture, c, &base, &source, &result, &err);

		assert_int_equal(r < 0, c->result == NULL);
		if (r < 0)
			continue;
		struct hash want = tree_of(fixture, c->result);
		if (!hash_eq(&want, &result))
			print_error("'%s' of '%s' at '%s'\n", c->from, c->source, c->path);
		assert_same_tree(&want, &result);
	}
}

/* Groups are named after paths, so the groups of an entry that is put get new names. */
static void links_of_what_is_put_are_links_there(void **state)
{
	static const struct put_case cases[] = {
		{ "a=1", "d/x=3 d/y-d/x", "d", "e", "a=1 e/x=3 e/y-e/x" },
		{ "a=1 b-a", "d/x=3 d/y-d/x", "d", "e", "a=1 b-a e/x=3 e/y-e/x" },
		/* A name that stays keeps its links, even to names outside. */
		{ "d/x=1 e/x-d/x", "d/a=5 d/b-d/a", "d", "e", "d/x=1 e/x-d/x e/a=5 e/b-e/a" },
		{ "d/x=1 e/x-d/x", "d/x=5", "d", "e", "d/x=1 e/x=5" },
		{ "d/x=1 e/x-d/x e/y-d/x", "d/x=5 d/z-d/x", "d", "e",
			"d/x=1 e/y-d/x e/x=5 e/z-e/x" },
		/* Only one of two names is put, so it becomes a single file. */
		{ "a=1", "d/x=3 d/y-d/x", "d/x", "e/x", "a=1 e/x=3" },
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct put_case *c = &cases[i];
		struct hash base = linked_tree(fixture, c->base);
		struct hash source = linked_tree(fixture, c->source);
		struct hash want = linked_tree(fixture, c->result);
		struct hash result;

		assert_ok(fixture, put_from(fixture, c, &base, &source, &result, &fixture->err));
		if (!hash_eq(&want, &result))
			print_error("'%s' of '%s' at '%s'\n", c->from, c->source, c->path);
		assert_same_tree(&want, &result);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		tree_test(takes_what_the_source_has),
		tree_test(a_directory_comes_with_all_that_is_in_it),
		tree_test(directories_on_the_way_keep_their_own_attributes),
		tree_test(what_is_in_the_way_gives_way),
		tree_test(the_root_is_a_path_too),
		tree_test(changes_one_name_of_many),
		tree_test(links_across_the_seam),
		tree_test(puts_an_entry_anywhere),
		tree_test(links_of_what_is_put_are_links_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
