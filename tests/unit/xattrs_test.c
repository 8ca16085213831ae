/*
 * xattrs: one encoding for every order of the attributes, and attributes of a real file are read
 * and set again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/xattr.h>

#include <cmocka.h>

#include "tree/xattrs.h"

#include "store_fixture.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char golden[] = "\1\2"
			     "\6user.a\0"
			     "\6user.b\3x\0z";

static void encodes_in_the_order_of_names(void **state)
{
	struct xattr list[] = {
		{ STR("user.b"), STR("x\0z") },
		{ STR("user.a"), STR("") },
	};
	owned(buf_release) struct buf out = BUF_INIT;

	xattrs_encode(list, 2, &out);
	assert_int_equal(out.len, sizeof(golden) - 1);
	assert_memory_equal(out.data, golden, out.len);
	buf_clear(&out);
	xattrs_encode(list, 0, &out);
	assert_int_equal(out.len, 0);
}

static void decodes_what_was_written(void **state)
{
	struct xattrs_reader reader;
	struct xattr xattr;
	struct err err = { 0 };

	assert_int_equal(xattrs_open(&reader, golden, sizeof(golden) - 1, &err), 0);
	assert_int_equal(xattrs_next(&reader, &xattr, &err), 1);
	assert_true(str_eq(xattr.name, STR("user.a")) && !xattr.value.len);
	assert_int_equal(xattrs_next(&reader, &xattr, &err), 1);
	assert_true(str_eq(xattr.name, STR("user.b")) && str_eq(xattr.value, STR("x\0z")));
	assert_int_equal(xattrs_next(&reader, &xattr, &err), 0);
}

static int read_all(const void *bytes, size_t len)
{
	owned_mem char *copy = mem_dup(bytes, len);
	struct xattrs_reader reader;
	struct xattr xattr;
	struct err err = { 0 };
	int r = xattrs_open(&reader, copy, len, &err);

	while (r >= 0 && (r = xattrs_next(&reader, &xattr, &err)) > 0)
		;
	return r;
}

static void refuses_what_is_not_canonical(void **state)
{
	static const struct {
		const char *what;
		struct str bytes;
	} cases[] = {
		{ "nothing", STR("") },
		{ "another version", STR("\2\1\1a\0") },
		{ "no attributes", STR("\1\0") },
		{ "too many attributes", STR("\1\x81\x08") },
		{ "out of order", STR("\1\2\1b\0\1a\0") },
		{ "the same name twice", STR("\1\2\1a\0\1a\0") },
		{ "no name", STR("\1\1\0\0") },
		{ "name with a NUL", STR("\1\1\2a\0\0") },
		{ "trailing bytes", STR("\1\1\1a\0\0") },
		{ "overlong length", STR("\1\1\1a\x80\0") },
		{ "attribute missing", STR("\1\2\1a\0") },
	};
	owned_mem char *large = mem_zalloc(AT_XATTR_MAX + 100);
	static const char head[] = "\1\1\1a\x81\x80\4";

	for (size_t i = 0; i < COUNT(cases); i++) {
		int r = read_all(cases[i].bytes.ptr, cases[i].bytes.len);

		if (r != -ERR_CORRUPT)
			print_error("accepted: %s\n", cases[i].what);
		assert_int_equal(r, -ERR_CORRUPT);
	}
	for (size_t len = 0; len < sizeof(golden) - 1; len++)
		assert_int_equal(read_all(golden, len), -ERR_CORRUPT);
	/* The value is longer than the kernel accepts. */
	memcpy(large, head, sizeof(head));
	assert_int_equal(read_all(large, sizeof(head) - 1 + AT_XATTR_MAX + 1), -ERR_CORRUPT);
	assert_int_equal(read_all("\1\1\1a\0", 5), 0);
}

static void reads_the_attributes_of_a_file(void **state)
{
	struct fixture *fixture = *state;
	owned(buf_release) struct buf out = BUF_INIT;
	owned_fd int fd = openat(fixture->rootfd, "file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	int found = xattrs_read(fixture->rootfd, "file", false, &out);
	assert_true(found >= 0);
	/* Some systems give a label to every file. */
	if (!found)
		assert_int_equal(out.len, 0);
	if (fsetxattr(fd, "user.b", "x\0z", 3, 0) < 0 || fsetxattr(fd, "user.a", "", 0, 0) < 0) {
		print_message("no user attributes on this file system\n");
		skip();
	}
	buf_clear(&out);
	assert_int_equal(xattrs_read(fixture->rootfd, "file", false, &out), found + 2);
	if (!found) {
		assert_int_equal(out.len, sizeof(golden) - 1);
		assert_memory_equal(out.data, golden, out.len);
	}
}

static void reads_many_and_long_attributes(void **state)
{
	struct fixture *fixture = *state;
	owned(buf_release) struct buf out = BUF_INIT;
	owned_fd int fd = openat(fixture->rootfd, "file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	int before = xattrs_read(fixture->rootfd, "file", false, &out), set = 0;

	for (; set < 40; set++) {
		char name[64];

		snprintf(name, sizeof(name), "user.a-rather-long-name-%02d", 39 - set);
		if (fsetxattr(fd, name, name, strlen(name), 0) < 0)
			break;
	}
	if (!set) {
		print_message("no user attributes on this file system\n");
		skip();
	}
	buf_clear(&out);
	assert_int_equal(xattrs_read(fixture->rootfd, "file", false, &out), before + set);
	assert_int_equal(read_all(out.data, out.len), 0);
}

static void says_when_there_is_no_file(void **state)
{
	struct fixture *fixture = *state;
	owned(buf_release) struct buf out = BUF_INIT;

	assert_int_equal(xattrs_read(fixture->rootfd, "nothing", false, &out), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(encodes_in_the_order_of_names),
		cmocka_unit_test(decodes_what_was_written),
		cmocka_unit_test(refuses_what_is_not_canonical),
		fixture_test(reads_the_attributes_of_a_file),
		fixture_test(reads_many_and_long_attributes),
		fixture_test(says_when_there_is_no_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
