/* dirview: lists names in order, and tells as little about the files as its caller needs. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/own.h"
#include "core/when.h"
#include "query/dirview.h"
#include "tempdir_fixture.h"

static char top[] = "/tmp/dirview-test.XXXXXX";

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

static struct view *open_place(const char *script)
{
	int dir;

	assert_int_equal(system("rm -rf place; mkdir place"), 0);
	assert_int_equal(chdir("place"), 0);
	assert_int_equal(system(script), 0);
	assert_int_equal(chdir(".."), 0);
	dir = open("place", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(dir >= 0);
	return dirview_new(dir, &(struct dirview_options){ 0 });
}

struct listed {
	struct entry entries[8];
	char names[8][256];
	size_t n;
	char last[256];
};

static int keep_entry(void *arg, const struct entry *entry, struct err *err)
{
	struct listed *listed = arg;
	char name[256];

	snprintf(name, sizeof(name), "%.*s", (int)entry->name.len, entry->name.ptr);
	assert_true(listed->n == 0 || strcmp(listed->last, name) < 0);
	memcpy(listed->last, name, sizeof(name));
	if (listed->n < 8) {
		listed->entries[listed->n] = *entry;
		memcpy(listed->names[listed->n], name, sizeof(name));
	}
	listed->n++;
	return 0;
}

static void list_place(struct view *view, struct listed *listed)
{
	struct entry root = { .type = ENTRY_DIR };
	struct err err = { 0 };

	memset(listed, 0, sizeof(*listed));
	assert_int_equal(view->ops->list(view, &root, STR(""), keep_entry, listed, &err), 0);
}

static const struct entry *entry_at(const struct listed *listed, const char *name)
{
	for (size_t i = 0; i < listed->n; i++)
		if (!strcmp(listed->names[i], name))
			return &listed->entries[i];
	fail_msg("no entry '%s'", name);
	return NULL;
}

static void lists_many_names_in_order(void **state)
{
	owned(view_closep) struct view *view = open_place(
		"for i in $(seq 1500); do : >$i; : >a-long-beginning-$i; done;"
		": >a; : >abcdefgh; : >abcdefghi; : >abcdefg; printf '' >\"$(printf '\\377')\"");
	struct listed listed;

	list_place(view, &listed);
	assert_int_equal(listed.n, 3005);
	assert_string_equal(listed.last, "\377");
	view->need = VIEW_NAMES;
	list_place(view, &listed);
	assert_int_equal(listed.n, 3005);
}

static void knows_files_by_their_inode_numbers(void **state)
{
	owned(view_closep) struct view *view =
		open_place("echo 1 >a; ln a b; echo 1 >c; mkdir d; ln -s a l; mkfifo p");
	struct listed listed;

	view->need = VIEW_BRIEF;
	view->begun = when_coarse() + 10 * WHEN_SECOND;
	list_place(view, &listed);
	if (!entry_at(&listed, "a")->brief)
		skip(); /* the file system of /tmp is none whose records are trusted */
	assert_true(hash_eq(&entry_at(&listed, "a")->hash, &entry_at(&listed, "b")->hash));
	assert_false(hash_eq(&entry_at(&listed, "a")->hash, &entry_at(&listed, "c")->hash));
	assert_true(entry_at(&listed, "c")->brief);
	assert_int_equal(entry_at(&listed, "c")->type, ENTRY_FILE);
	/* Other types have their attributes. */
	assert_false(entry_at(&listed, "d")->brief);
	assert_int_not_equal(entry_at(&listed, "d")->mode, 0);
	assert_int_equal(entry_at(&listed, "l")->type, ENTRY_LINK);
	assert_int_equal(entry_at(&listed, "l")->target.len, 1);
	assert_int_equal(entry_at(&listed, "p")->type, ENTRY_FIFO);
}

/* The number of a file that was deleted meanwhile may belong to a new file. */
static void reads_the_attributes_where_a_directory_changes(void **state)
{
	owned(view_closep) struct view *view = open_place("echo 1 >a; ln a b");
	struct listed listed;

	view->need = VIEW_BRIEF;
	view->begun = when_coarse();
	list_place(view, &listed);
	assert_false(entry_at(&listed, "a")->brief);
	assert_int_equal(entry_at(&listed, "a")->size, 2);
	assert_true(hash_eq(&entry_at(&listed, "a")->hash, &entry_at(&listed, "b")->hash));
}

static int fail_to_read(void *arg, const void *bytes, uint64_t len, struct err *err)
{
	fail_msg("%d bytes were read", (int)len);
	return 0;
}

static void reads_nothing_that_took_the_place_of_a_file(void **state)
{
	static const char *const places[] = { "mkfifo place/a", "ln -s /etc/passwd place/a",
		"mkdir place/a" };

	for (size_t i = 0; i < 3; i++) {
		owned(view_closep) struct view *view = open_place("echo 1 >a");
		struct listed listed;
		struct err err = { 0 };

		view->need = VIEW_NAMES;
		list_place(view, &listed);
		assert_true(entry_at(&listed, "a")->brief);
		assert_int_equal(unlink("place/a"), 0);
		assert_int_equal(system(places[i]), 0);
		assert_int_equal(view->ops->read(view, entry_at(&listed, "a"), STR("a"), 0,
					 UINT64_MAX, fail_to_read, NULL, &err),
			-ERR_DENIED);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_many_names_in_order),
		cmocka_unit_test(knows_files_by_their_inode_numbers),
		cmocka_unit_test(reads_the_attributes_where_a_directory_changes),
		cmocka_unit_test(reads_nothing_that_took_the_place_of_a_file),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
