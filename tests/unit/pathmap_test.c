/* Tests of pathmap: canonical paths in a tree with links. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "trace/observe/pathmap.h"

struct fixture {
	char *root; /* canonical path of the tree's root */
	struct pathmap *map;
	char seen[1024]; /* links that the last path led through */
};

static char *in_tree(const struct fixture *fix, const char *name)
{
	return mem_printf("%s/%s", fix->root, name);
}

static void make_link(const struct fixture *fix, const char *target, const char *name)
{
	owned_mem char *path = in_tree(fix, name);

	assert_int_equal(symlink(target, path), 0);
}

static void make_directory(const struct fixture *fix, const char *name)
{
	owned_mem char *path = in_tree(fix, name);

	assert_int_equal(mkdir(path, 0755), 0);
}

static int set_up(void **state)
{
	struct fixture *fix = mem_zalloc(sizeof(*fix));
	char template[] = "/tmp/strata-pathmap.XXXXXX";
	struct err err = { 0 };

	assert_non_null(mkdtemp(template));
	owned_fd int fd = at_open_given(template, 0, 0, &err);
	fix->root = at_path_of(fd, &err);
	fix->map = pathmap_new();
	make_directory(fix, "a");
	make_directory(fix, "a/b");
	make_link(fix, "a/b", "short");
	make_link(fix, "../..", "a/b/up");
	make_link(fix, "loop", "loop");
	make_link(fix, "nothing", "dangling");
	*state = fix;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fix = *state;
	struct err err = { 0 };
	owned_fd int tmp = at_open_given("/tmp", 0, 0, &err);

	(void)at_remove_tree(tmp, fix->root + strlen("/tmp/"), &err);
	pathmap_free(fix->map);
	free(fix->root);
	free(fix);
	return 0;
}

static void note(void *arg, struct pathmap_entry *link)
{
	struct fixture *fix = arg;
	size_t len = strlen(fix->seen);

	snprintf(fix->seen + len, sizeof(fix->seen) - len, "%s ", link->path.ptr + link->name);
}

static struct pathmap_entry *resolve(struct fixture *fix, const char *path, bool follow)
{
	struct pathmap_walk walk = {
		.root = pathmap_root(fix->map),
		.base = pathmap_known(fix->map, str_of(fix->root)),
		.self = getpid(),
		.thread = getpid(),
		.follow = follow,
		.through = note,
		.arg = fix,
	};

	fix->seen[0] = '\0';
	return pathmap_resolve(fix->map, &walk, str_of(path));
}

/*
 * Check that a path leads to the entry want, a path below the tree's root.  NULL means that there
 * is no entry.
 */
static void assert_resolves(struct fixture *fix, const char *path, bool follow, const char *want)
{
	struct pathmap_entry *entry = resolve(fix, path, follow);
	owned_mem char *full = want ? in_tree(fix, want) : NULL;

	if (!want) {
		assert_null(entry);
		return;
	}
	assert_non_null(entry);
	assert_string_equal(entry->path.ptr, *want ? full : fix->root);
}

static void resolves_links_and_dots(void **state)
{
	struct fixture *fix = *state;

	assert_resolves(fix, "a", true, "a");
	assert_resolves(fix, "./a//b/", true, "a/b");
	assert_resolves(fix, "a/b/../x", true, "a/x");
	assert_resolves(fix, "short", true, "a/b");
	assert_string_equal(fix->seen, "short ");
	assert_resolves(fix, "short", false, "short");
	assert_string_equal(fix->seen, "");
	assert_resolves(fix, "short/", false, "a/b");
	assert_resolves(fix, "short/f", false, "a/b/f");
	assert_resolves(fix, "short/up/a", true, "a");
	assert_string_equal(fix->seen, "short up ");
	assert_resolves(fix, "short/..", true, "a");
	assert_resolves(fix, "dangling", true, "nothing");
	assert_resolves(fix, "loop", true, NULL);
	assert_resolves(fix, "loop", false, "loop");
	assert_resolves(fix, "", true, "");
	assert_string_equal(resolve(fix, "/", true)->path.ptr, "/");
	assert_string_equal(resolve(fix, "/../../..", true)->path.ptr, "/");
}

static void one_path_is_one_entry(void **state)
{
	struct fixture *fix = *state;

	assert_ptr_equal(resolve(fix, "short/x", true), resolve(fix, "a/../a/b/x", true));
	for (int i = 0; i < 5000; i++) {
		char name[32];

		snprintf(name, sizeof(name), "many%d", i);
		assert_ptr_equal(resolve(fix, name, false), resolve(fix, name, false));
	}
}

static void stays_below_another_root(void **state)
{
	struct fixture *fix = *state;
	struct pathmap_walk walk = {
		.root = pathmap_known(fix->map, str_of(fix->root)),
		.follow = true,
	};

	walk.base = walk.root;
	owned_mem char *want = in_tree(fix, "a/b");
	assert_string_equal(pathmap_resolve(fix->map, &walk, STR("/../../a/b"))->path.ptr, want);
	assert_string_equal(pathmap_resolve(fix->map, &walk, STR("/a/b/up/a/b"))->path.ptr, want);
}

static void proc_is_whose_path_it_is(void **state)
{
	struct fixture *fix = *state;
	owned_mem char *file = in_tree(fix, "a/file");
	char path[64];
	struct err err = { 0 };
	owned_fd int fd = at_open_given(file, 0101, 0600, &err);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_resolves(fix, path, true, "a/file");
	snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", fd);
	assert_resolves(fix, path, true, "a/file");
	assert_int_equal(unlink(file), 0);
	assert_resolves(fix, path, true, NULL);
	snprintf(path, sizeof(path), "/proc/%d", (int)getpid());
	assert_string_equal(resolve(fix, "/proc/self", true)->path.ptr, path);
}

static void an_unsettled_name_is_looked_at_again(void **state)
{
	struct fixture *fix = *state;
	owned_mem char *path = in_tree(fix, "short");
	struct pathmap_entry *entry = resolve(fix, "short", false);

	assert_resolves(fix, "short/f", true, "a/b/f");
	pathmap_unsettle(fix->map, entry);
	assert_int_equal(unlink(path), 0);
	make_link(fix, "a", "short");
	assert_resolves(fix, "short/f", true, "a/f");
	pathmap_settle(fix->map, entry);
	assert_resolves(fix, "short/f", true, "a/f");

	/* A change that was not reported is not noticed until pathmap_forget. */
	assert_int_equal(unlink(path), 0);
	assert_resolves(fix, "short/f", true, "a/f");
	pathmap_forget(fix->map);
	assert_resolves(fix, "short/f", true, "short/f");
}

/*
 * Many files of one directory are named in turn.  The shortcut to the directory must not be used
 * after a rename.
 */
static void a_directory_that_is_named_again_may_be_another(void **state)
{
	struct fixture *fix = *state;
	owned_mem char *from = in_tree(fix, "a/b"), *to = in_tree(fix, "c");
	struct pathmap_entry *entry = resolve(fix, "a/b", false);

	assert_resolves(fix, "a/b/one", true, "a/b/one");
	assert_resolves(fix, "a/b/two", true, "a/b/two");
	assert_resolves(fix, "a/b/x/three", true, "a/b/x/three");
	assert_resolves(fix, "a/b/../b/one", true, "a/b/one");
	assert_resolves(fix, "a/bb", true, "a/bb");
	assert_resolves(fix, "a/b/", true, "a/b");
	assert_resolves(fix, "a/b/one", true, "a/b/one");
	pathmap_unsettle(fix->map, entry);
	assert_int_equal(rename(from, to), 0);
	make_link(fix, "../c", "a/b");
	assert_resolves(fix, "a/b/one", true, "c/one");
	pathmap_settle(fix->map, entry);
	assert_resolves(fix, "a/b/two", true, "c/two");
	/* A link that is not followed as the last name is followed in the middle of a path. */
	assert_resolves(fix, "a/b", false, "a/b");
	assert_resolves(fix, "a/b/one", false, "c/one");
}

static void finds_each_of_many_names(void **state)
{
	struct fixture *fix = *state;
	enum { MANY = 20000 };
	owned_mem struct pathmap_entry **entries = mem_zalloc(MANY * sizeof(*entries));
	struct pathmap_entry *directory = resolve(fix, "a", true);
	char name[16];

	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "%d", i);
		entries[i] = pathmap_child(fix->map, directory, str_of(name));
		assert_string_equal(entries[i]->path.ptr + entries[i]->name, name);
	}
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "%d", i);
		assert_ptr_equal(pathmap_child(fix->map, directory, str_of(name)), entries[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(resolves_links_and_dots, set_up, tear_down),
		cmocka_unit_test_setup_teardown(one_path_is_one_entry, set_up, tear_down),
		cmocka_unit_test_setup_teardown(stays_below_another_root, set_up, tear_down),
		cmocka_unit_test_setup_teardown(proc_is_whose_path_it_is, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			an_unsettled_name_is_looked_at_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_directory_that_is_named_again_may_be_another, set_up, tear_down),
		cmocka_unit_test_setup_teardown(finds_each_of_many_names, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("pathmap", tests, NULL, NULL);
}
