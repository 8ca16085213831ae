/*
 * viewdiff: compares two directories, finds renames as long as the changes can be held, and ends in
 * time even if it has to read everything.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/mem.h"
#include "core/own.h"
#include "query/changelist.h"
#include "query/folders.h"
#include "query/method.h"
#include "query/viewdiff.h"
#include "tempdir_fixture.h"

static char top[] = "/tmp/viewdiff-test.XXXXXX";

static int setup(void **state)
{
	assert_non_null(mkdtemp(top));
	return chdir(top);
}

static int teardown(void **state)
{
	assert_int_equal(chdir("/"), 0);
	return tempdir_remove(top);
}

static void shell(const char *script)
{
	owned_mem char *command = mem_printf("set -e; rm -rf f; mkdir -p f/a f/b; %s", script);

	assert_int_equal(system(command), 0);
}

/* Append a change as text "op path [new_path] what,".  f/a and f/b are the two directories. */
static int add_change(void *arg, const struct treediff_change *change, struct err *err)
{
	struct buf *out = arg;

	buf_addf(out, "%c %.*s", change->op, (int)change->path.len, change->path.ptr);
	if (change->op == 'R')
		buf_addf(out, " %.*s", (int)change->new_path.len, change->new_path.ptr);
	assert_true((change->op != '+') == (change->a != NULL));
	assert_true((change->op != '-') == (change->b != NULL));
	buf_adds(out, ",");
	return 0;
}

static struct provider *open_folder(struct registry *registry)
{
	struct folders *folders = folders_new();
	struct err err = { 0 };

	registry_add(registry, folders_family(folders));
	assert_int_equal(folders_add(folders, "f=f", &err), 0);
	return registry_find(registry, STR("f"), &err);
}

static void expect_changes(bool renames, const char *expected)
{
	owned(registry_release) struct registry registry = { 0 };
	owned(buf_release) struct buf out = BUF_INIT;
	struct treediff_options options = { .renames = renames };
	struct err err = { 0 };
	struct provider *provider = open_folder(&registry);

	buf_adds(&out, "");
	if (viewdiff_snapshots(provider, "a", "b", &options, add_change, &out, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(out.data, expected);
}

static void pairs_only_what_is_wholly_the_same(void **state)
{
	shell("mkdir f/a/d f/b/e; echo x >f/a/d/x; cp -p f/a/d/x f/b/e/x; touch -r f/a/d f/b/e;"
	      "touch -r f/a f/b");
	expect_changes(true, "R d e,");
	expect_changes(false, "- d,- d/x,+ e,+ e/x,");
	/* The two directories contain different names, so only the file is a rename. */
	shell("mkdir f/a/d f/b/e; echo x >f/a/d/x; cp -p f/a/d/x f/b/e/y; touch -r f/a/d f/b/e");
	expect_changes(true, "- d,+ e,R d/x e/y,");
	/* Empty files and directories are never renames. */
	shell("mkdir f/a/d f/b/e; : >f/a/x; : >f/b/y");
	expect_changes(true, "- d,+ e,- x,+ y,");
	/* If a file has two copies, only one of them is the rename. */
	shell("echo x >f/a/x; echo x >f/b/y; echo x >f/b/z");
	expect_changes(true, "R x y,+ z,");
	/* If both sides have a link to one inode, only the inode numbers are compared. */
	shell("echo x >f/a/x; ln f/a/x f/b/y");
	expect_changes(true, "R x y,");
}

/*
 * In directories that have not changed for some time, inode numbers tell which files are the same,
 * and only the others are looked at.
 */
static void compares_old_directories_by_inode_numbers(void **state)
{
	shell("cd f/a; mkdir d e gone; echo 1 >d/same; echo 1 >d/more; echo 1 >d/mode; echo 1 "
	      ">d/copy;"
	      "echo 1 >e/x; echo 1 >gone/x; echo moved >old; ln -s 1 link; echo 1 >type; cd ..;"
	      "cp -al a/. b; cd b; rm -r gone; mv old new; rm d/more d/mode d/copy type link;"
	      "echo 22 >d/more; cp -p ../a/d/mode d; chmod 600 d/mode; cp -p ../a/d/copy d;"
	      "mkdir type; ln -s 2 link; touch -d 2020-01-01 e; sleep 2.5");
	expect_changes(true, "M d/mode,M d/more,M e,- gone,- gone/x,M link,R old new,T type,");
	expect_changes(false, "M d/mode,M d/more,M e,- gone,- gone/x,M link,+ new,- old,T type,");
}

static void compares_a_large_file_to_its_end(void **state)
{
	shell("head -c 3000000 /dev/zero >f/a/x; cp f/a/x f/b/x; printf 1 >>f/a/x; printf 2 "
	      ">>f/b/x;"
	      "touch -d 2024-01-01 f/a/x f/b/x; touch -r f/a f/b");
	expect_changes(true, "M x,");
	shell("head -c 3000000 /dev/urandom >f/a/x; cp -p f/a/x f/b/x; touch -r f/a f/b");
	expect_changes(true, "");
}

static void ends_to_look_for_renames_when_too_many_changes_are_held(void **state)
{
	owned(registry_release) struct registry registry = { 0 };
	owned(buf_release) struct buf out = BUF_INIT;
	struct err err = { 0 };
	struct changelist list;

	shell("echo x >f/a/1; echo x >f/b/2; echo y >f/a/3; echo y >f/b/4");
	struct provider *provider = open_folder(&registry);
	owned(view_closep) struct view *a = provider->ops->open(provider, "a", &err);
	owned(view_closep) struct view *b = provider->ops->open(provider, "b", &err);
	changelist_init(&list, a, b, 2, add_change, &out);
	for (int i = 1; i <= 4; i++) {
		char name[] = { (char)('0' + i), '\0' };
		owned(arena_release) struct arena arena = { 0 };
		struct entry entry;
		struct view *view = i % 2 ? a : b;
		size_t self = SIZE_MAX;

		assert_int_equal(view->ops->stat(view, str_of(name), &arena, &entry, &err), 1);
		assert_int_equal(
			changelist_add_side(&list, str_of(name), &entry, view == a, &self, &err),
			0);
		changelist_end(&list, self, view == a);
	}
	assert_int_equal(changelist_finish(&list, &err), 0);
	changelist_release(&list);
	assert_string_equal(out.data, "R 1 2,- 3,+ 4,");
}

static bool cancel(void *arg)
{
	return ++*(int *)arg > 3;
}

static void ends_when_the_call_is_cancelled(void **state)
{
	owned(registry_release) struct registry registry = { 0 };
	owned(arena_release) struct arena arena = { 0 };
	owned(json_release) struct json out = JSON_INIT;
	struct err err = { 0 };
	int calls = 0;
	struct method_context ctx = {
		.registry = &registry, .arena = &arena, .cancelled = cancel, .arg = &calls
	};

	/*
	 * No file has changed, so no change is reported to the method.  The call must end in time
	 * nevertheless.
	 */
	shell("for i in $(seq 600); do echo $i >f/a/$i; done; cp -a f/a/. f/b/");
	assert_non_null(open_folder(&registry));
	owned(jsonread_freep) struct jsonread *params =
		jsonread_new(STR("{\"snap_a\":\"f@a\",\"snap_b\":\"f@b\"}"), &err);
	json_open(&out, NULL, '{');
	assert_true(method_call(&ctx, "diff_snapshots", params, &out, &err) < 0);
	assert_int_equal(err.errno_value, ECANCELED);
	assert_int_equal(calls, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_only_what_is_wholly_the_same),
		cmocka_unit_test(compares_old_directories_by_inode_numbers),
		cmocka_unit_test(compares_a_large_file_to_its_end),
		cmocka_unit_test(ends_to_look_for_renames_when_too_many_changes_are_held),
		cmocka_unit_test(ends_when_the_call_is_cancelled),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
