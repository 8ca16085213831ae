/* dirview: lists names in order. */
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
#include "query/dirview.h"

static char top[] = "/tmp/dirview-test.XXXXXX";

static int setup(void **state)
{
	assert_non_null(mkdtemp(top));
	return chdir(top);
}

static int teardown(void **state)
{
	char command[64];

	assert_int_equal(chdir("/"), 0);
	snprintf(command, sizeof(command), "rm -rf %s", top);
	return system(command);
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

static void lists_many_names_in_order(void **state)
{
	owned(view_closep) struct view *view = open_place(
		"for i in $(seq 1500); do : >$i; : >a-long-beginning-$i; done;"
		": >a; : >abcdefgh; : >abcdefghi; : >abcdefg; printf '' >\"$(printf '\\377')\"");
	struct listed listed;

	list_place(view, &listed);
	assert_int_equal(listed.n, 3005);
	assert_string_equal(listed.last, "\377");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_many_names_in_order),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
