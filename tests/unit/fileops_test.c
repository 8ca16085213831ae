/* fileops: files in the workspace are read, replaced, edited and inspected, and no others. */
#include <errno.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/xattr.h>

#include "worker_fixture.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int do_read(struct fixture *fixture, const char *name, int64_t offset, int64_t max,
	enum wire_encoding encoding)
{
	struct wire_request request = { .kind = WIRE_READ,
		.path = fixture_str(fixture, name),
		.offset = offset,
		.max_bytes = max,
		.encoding = encoding };

	return fileops_read(&fixture->ops, &request, &fixture->reply, &fixture->err);
}

static int do_write(struct fixture *fixture, const char *name, const char *text)
{
	struct wire_request request = {
		.kind = WIRE_WRITE, .path = fixture_str(fixture, name), .content = str_of(text)
	};

	return fileops_write(&fixture->ops, &request, &fixture->reply, &fixture->err);
}

static int do_edit(
	struct fixture *fixture, const char *name, const char *old, const char *new, bool all)
{
	struct wire_request request = { .kind = WIRE_EDIT,
		.path = fixture_str(fixture, name),
		.old_string = str_of(old),
		.new_string = str_of(new),
		.replace_all = all };

	return fileops_edit(&fixture->ops, &request, &fixture->reply, &fixture->err);
}

static int do_stat(struct fixture *fixture, const char *name)
{
	struct wire_request request = { .kind = WIRE_STAT, .path = fixture_str(fixture, name) };

	return fileops_stat(&fixture->ops, &request, &fixture->reply, &fixture->err);
}

static void assert_content(struct fixture *fixture, const char *text)
{
	assert_int_equal(fixture->reply.content.len, strlen(text));
	assert_memory_equal(fixture->reply.content.ptr, text, strlen(text));
}

/* number is ERR_DENIED, or the errno of ERR_SYSTEM. */
static void assert_refused(struct fixture *fixture, int r, int number)
{
	if (r >= 0)
		fail_msg("not refused");
	if (number && (r != -ERR_SYSTEM || fixture->err.errno_value != number))
		fail_msg("'%s' instead of %s", fixture->err.text, strerror(number));
	if (!number && r != -ERR_DENIED)
		fail_msg("'%s' instead of a denial", fixture->err.text);
}

static void reads_what_is_asked_for(void **state)
{
	struct fixture *fixture = *state;

	fixture_put(fixture, "in/f", "abcdefghij");
	assert_int_equal(do_read(fixture, "in/f", -1, -1, WIRE_BYTES), 0);
	assert_content(fixture, "abcdefghij");
	assert_int_equal(do_read(fixture, "in/f", -1, 4, WIRE_BYTES), 0);
	assert_content(fixture, "abcd");
	assert_false(fixture->reply.truncated);
	assert_int_equal(do_read(fixture, "in/f", 8, 100, WIRE_BYTES), 0);
	assert_content(fixture, "ij");
	assert_int_equal(do_read(fixture, "in/f", 100, -1, WIRE_BYTES), 0);
	assert_content(fixture, "");
	assert_int_equal(do_read(fixture, "in/f", INT64_MAX, INT64_MAX, WIRE_BYTES), 0);
	assert_content(fixture, "");
	assert_int_equal(do_read(fixture, "in//.///f", -1, -1, WIRE_BYTES), 0);
	assert_content(fixture, "abcdefghij");
	fixture_put(fixture, "in/\xff\xfe", "odd");
	assert_int_equal(do_read(fixture, "in/\xff\xfe", -1, -1, WIRE_BYTES), 0);
	assert_content(fixture, "odd");
}

static void a_reply_fits_into_its_frame(void **state)
{
	struct fixture *fixture = *state;
	char *large = arena_alloc(&fixture->arena, FRAME_MAX + 100);

	memset(large, 'a', FRAME_MAX + 99);
	fixture_put(fixture, "in/large", large);
	for (int encoding = WIRE_BYTES; encoding <= WIRE_UTF8; encoding++) {
		owned(buf_release) struct buf out = FRAME_BUF_INIT;

		assert_int_equal(
			do_read(fixture, "in/large", -1, -1, (enum wire_encoding)encoding), 0);
		assert_true(fixture->reply.truncated);
		frame_begin(&out);
		wire_write_reply(&out, &fixture->reply);
		assert_false(out.overflowed);
		assert_true(out.len - FRAME_PREFIX <= FRAME_MAX);
		assert_true(out.len > FRAME_MAX - 1024);
	}
}

static void text_is_sent_as_text_only_if_it_is(void **state)
{
	struct fixture *fixture = *state;

	fixture_put(fixture, "in/text", "a\u00e4\u20ac");
	fixture_put(fixture, "in/latin", "a\xe4z");
	assert_int_equal(do_read(fixture, "in/text", -1, -1, WIRE_UTF8), 0);
	assert_int_equal(fixture->reply.encoding, WIRE_UTF8);
	assert_int_equal(do_read(fixture, "in/text", -1, 4, WIRE_UTF8), 0);
	assert_int_equal(fixture->reply.encoding, WIRE_UTF8);
	assert_content(fixture, "a\u00e4");
	assert_int_equal(do_read(fixture, "in/text", 2, -1, WIRE_UTF8), 0);
	assert_int_equal(fixture->reply.encoding, WIRE_BASE64);
	assert_int_equal(do_read(fixture, "in/latin", -1, -1, WIRE_UTF8), 0);
	assert_int_equal(fixture->reply.encoding, WIRE_BASE64);
}

static void reads_only_files(void **state)
{
	struct fixture *fixture = *state;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	owned_fd int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", fixture->in);
	assert_int_equal(bind(sock, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(mkfifo(fixture_path(fixture, "in/fifo"), 0600), 0);
	assert_refused(fixture, do_read(fixture, "in/fifo", -1, -1, WIRE_BYTES), ENXIO);
	assert_refused(fixture, do_read(fixture, "in/socket", -1, -1, WIRE_BYTES), ENXIO);
	assert_refused(fixture, do_read(fixture, "in", -1, -1, WIRE_BYTES), EISDIR);
	assert_refused(fixture, do_write(fixture, "in/fifo", "x"), ENXIO);
	assert_refused(fixture, do_write(fixture, "in/socket", "x"), ENXIO);
	assert_refused(fixture, do_edit(fixture, "in/fifo", "x", "y", false), ENXIO);
	assert_refused(fixture, do_write(fixture, "in", "x"), 0);
	assert_refused(fixture, do_write(fixture, "in/new/", "x"), EISDIR);
	fixture_put(fixture, "in/f", "abc");
	assert_refused(fixture, do_read(fixture, "in/f/", -1, -1, WIRE_BYTES), ENOTDIR);
	assert_refused(fixture, do_read(fixture, "in/f/g", -1, -1, WIRE_BYTES), ENOTDIR);
	assert_refused(fixture, do_read(fixture, "in/none", -1, -1, WIRE_BYTES), ENOENT);
	assert_int_equal(do_stat(fixture, "in/fifo"), 0);
}

static void nothing_leads_out(void **state)
{
	struct fixture *fixture = *state;
	static const char *const names[] = { "out/file", "in/../out/file", "in/absolute", "in/up",
		"in/dir/file", "in/secret/key", "in/to-secret", "in/in/../../out/file" };

	fixture_link(fixture, fixture_path(fixture, "out/file"), "in/absolute");
	fixture_link(fixture, "../out/file", "in/up");
	fixture_link(fixture, "../out", "in/dir");
	fixture_link(fixture, "secret/key", "in/to-secret");
	fixture_link(fixture, ".", "in/in");
	for (size_t i = 0; i < COUNT(names); i++) {
		assert_refused(fixture, do_read(fixture, names[i], -1, -1, WIRE_BYTES), 0);
		if (!strstr(names[i], "secret"))
			assert_refused(fixture, do_write(fixture, names[i], "x"), 0);
		assert_refused(fixture, do_edit(fixture, names[i], "s", "x", false), 0);
	}
	assert_refused(fixture, do_write(fixture, "in/dir/new", "x"), 0);
	assert_refused(fixture, do_write(fixture, "in/dir/a/b/new", "x"), 0);
	assert_refused(fixture, do_stat(fixture, "out/file"), 0);
	assert_refused(fixture, do_stat(fixture, "in/dir/file"), 0);
	assert_string_equal(fixture_get(fixture, "out/file"), "outside");
	assert_int_equal(access(fixture_path(fixture, "out/new"), F_OK), -1);
	assert_int_equal(access(fixture_path(fixture, "out/a"), F_OK), -1);
}

static void magic_links_are_not_followed(void **state)
{
	struct fixture *fixture = *state;
	static const char *const root[] = { "/" };
	owned(gate_freep) struct gate *gate = NULL;
	owned_mem char *path = mem_printf("/proc/self/root%s/in/f", fixture->top);
	struct wire_request request = {
		.kind = WIRE_READ, .path = str_of(path), .offset = -1, .max_bytes = -1
	};

	fixture_put(fixture, "in/f", "abc");
	fixture->policy.fs.allow_read = (struct policy_list){ (const char **)root, 1 };
	assert_int_equal(gate_new(&fixture->policy, NULL, NULL, &gate, &fixture->err), 0);
	fixture->ops.gate = gate;
	assert_refused(fixture,
		fileops_read(&fixture->ops, &request, &fixture->reply, &fixture->err), ELOOP);
	request.path = str_of(fixture_path(fixture, "in/f"));
	assert_int_equal(fileops_read(&fixture->ops, &request, &fixture->reply, &fixture->err), 0);
	/* If all of "/" is allowed, absolute links are allowed, too. */
	fixture_link(fixture, fixture_path(fixture, "in/f"), "in/absolute");
	assert_int_equal(do_read(fixture, "in/absolute", -1, -1, WIRE_BYTES), 0);
	assert_content(fixture, "abc");
}

static void devices_are_not_opened(void **state)
{
	struct fixture *fixture = *state;
	static const char *const root[] = { "/" };
	owned(gate_freep) struct gate *gate = NULL;
	struct wire_request request = { .path = STR("/dev/zero"), .offset = -1, .max_bytes = -1 };

	/* Only root can make a device. */
	if (mknod(fixture_path(fixture, "in/zero"), S_IFCHR | 0666, makedev(1, 5)) == 0) {
		assert_refused(fixture, do_read(fixture, "in/zero", -1, -1, WIRE_BYTES), ENXIO);
		assert_refused(fixture, do_write(fixture, "in/zero", "x"), ENXIO);
	}
	fixture->policy.fs.allow_read = (struct policy_list){ (const char **)root, 1 };
	assert_int_equal(gate_new(&fixture->policy, NULL, NULL, &gate, &fixture->err), 0);
	fixture->ops.gate = gate;
	assert_refused(fixture,
		fileops_read(&fixture->ops, &request, &fixture->reply, &fixture->err), ENXIO);
	assert_int_equal(fileops_stat(&fixture->ops, &request, &fixture->reply, &fixture->err), 0);
}

static void links_inside_are_followed(void **state)
{
	struct fixture *fixture = *state;

	fixture_mkdir(fixture, "in/d");
	fixture_put(fixture, "in/d/f", "abc");
	fixture_link(fixture, "d", "in/dir");
	fixture_link(fixture, "dir/f", "in/file");
	assert_int_equal(do_read(fixture, "in/file", -1, -1, WIRE_BYTES), 0);
	assert_content(fixture, "abc");
	assert_int_equal(do_write(fixture, "in/file", "new"), 0);
	assert_string_equal(fixture_get(fixture, "in/d/f"), "new");
	assert_int_equal(do_edit(fixture, "in/file", "new", "newer", false), 0);
	assert_string_equal(fixture_get(fixture, "in/d/f"), "newer");
	assert_int_equal(do_write(fixture, "in/dir/g/h", "deep"), 0);
	assert_string_equal(fixture_get(fixture, "in/d/g/h"), "deep");
	assert_int_equal(do_stat(fixture, "in/file"), 0);
	assert_true(fixture->reply.is_symlink);
	fixture_link(fixture, "loop", "in/loop");
	assert_refused(fixture, do_read(fixture, "in/loop", -1, -1, WIRE_BYTES), ELOOP);
	assert_refused(fixture, do_write(fixture, "in/loop", "x"), ELOOP);
	fixture_link(fixture, "nowhere", "in/dangling");
	assert_refused(fixture, do_write(fixture, "in/dangling", "x"), ENOENT);
}

static void a_path_is_absolute_text(void **state)
{
	struct fixture *fixture = *state;
	struct wire_request request = { .kind = WIRE_STAT, .path = STR("relative") };

	assert_refused(fixture,
		fileops_stat(&fixture->ops, &request, &fixture->reply, &fixture->err), EINVAL);
	request.path = STR("/tmp/\0/x");
	assert_refused(fixture,
		fileops_stat(&fixture->ops, &request, &fixture->reply, &fixture->err), EINVAL);
	request.path = STR("");
	assert_refused(fixture,
		fileops_stat(&fixture->ops, &request, &fixture->reply, &fixture->err), EINVAL);
	char *longest = arena_alloc(&fixture->arena, 10001);
	memset(longest, 'x', 10000);
	assert_refused(fixture, do_stat(fixture, longest), ENAMETOOLONG);
}

static void a_new_file_gets_its_directories(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(do_write(fixture, "in/a/b/c", "text"), 0);
	assert_int_equal(fixture->reply.count, 4);
	assert_string_equal(fixture_get(fixture, "in/a/b/c"), "text");
	assert_int_equal(do_stat(fixture, "in/a/b/c"), 0);
	mode_t mask = umask(0);
	(void)umask(mask);
	assert_int_equal(fixture->reply.mode, 0666 & ~mask);
	assert_refused(fixture, do_edit(fixture, "in/none/x", "a", "b", false), ENOENT);
	assert_int_equal(access(fixture_path(fixture, "in/none"), F_OK), -1);
}

static void a_replaced_file_keeps_its_attributes(void **state)
{
	struct fixture *fixture = *state;
	char *path = fixture_path(fixture, "in/f"), value[8];
	struct stat before, after;

	fixture_put(fixture, "in/f", "old");
	assert_int_equal(chmod(path, 04751), 0);
	if (geteuid() == 0)
		assert_int_equal(lchown(path, 12, 34), 0);
	assert_int_equal(chmod(path, 04751), 0);
	bool attributes = setxattr(path, "user.note", "kept", 4, 0) == 0;
	assert_int_equal(stat(path, &before), 0);
	assert_int_equal(do_write(fixture, "in/f", "new"), 0);
	assert_int_equal(stat(path, &after), 0);
	assert_int_not_equal(after.st_ino, before.st_ino);
	assert_int_equal(do_edit(fixture, "in/f", "new", "newer", false), 0);
	assert_string_equal(fixture_get(fixture, "in/f"), "newer");
	assert_int_equal(stat(path, &after), 0);
	assert_int_equal(after.st_mode, before.st_mode);
	assert_int_equal(after.st_uid, before.st_uid);
	assert_int_equal(after.st_gid, before.st_gid);
	if (attributes) {
		assert_int_equal(getxattr(path, "user.note", value, sizeof(value)), 4);
		assert_memory_equal(value, "kept", 4);
	}
}

static void nothing_is_left_beside_a_file(void **state)
{
	struct fixture *fixture = *state;
	struct err err = { 0 };

	fixture_mkdir(fixture, "in/only");
	assert_int_equal(do_write(fixture, "in/only/f", "x"), 0);
	assert_int_equal(do_edit(fixture, "in/only/f", "x", "y", false), 0);
	assert_refused(fixture, do_edit(fixture, "in/only/f", "none", "y", false), ENODATA);
	owned_fd int dir = open(fixture_path(fixture, "in/only"), O_RDONLY | O_CLOEXEC);
	assert_int_equal(at_holds_only(dir, "f", &err), 1);
}

static void edits_once_or_everywhere(void **state)
{
	struct fixture *fixture = *state;

	fixture_put(fixture, "in/f", "foo bar foo baz foo");
	assert_int_equal(do_edit(fixture, "in/f", "foo", "FOO", false), 0);
	assert_int_equal(fixture->reply.count, 1);
	assert_string_equal(fixture_get(fixture, "in/f"), "FOO bar foo baz foo");
	assert_int_equal(do_edit(fixture, "in/f", "foo", "", true), 0);
	assert_int_equal(fixture->reply.count, 2);
	assert_string_equal(fixture_get(fixture, "in/f"), "FOO bar  baz ");
	assert_refused(fixture, do_edit(fixture, "in/f", "absent", "x", false), ENODATA);
	assert_non_null(strstr(fixture->err.text, "old_string not found"));
	assert_refused(fixture, do_edit(fixture, "in/f", "", "x", false), EINVAL);
	assert_string_equal(fixture_get(fixture, "in/f"), "FOO bar  baz ");
}

static void a_hard_link_keeps_the_old_content(void **state)
{
	struct fixture *fixture = *state;

	fixture_put(fixture, "out/link", "old");
	assert_int_equal(link(fixture_path(fixture, "out/link"), fixture_path(fixture, "in/f")), 0);
	/* The kernel does not tell that the file has a name outside, so a read is served. */
	assert_int_equal(do_read(fixture, "in/f", -1, -1, WIRE_BYTES), 0);
	assert_content(fixture, "old");
	assert_int_equal(do_write(fixture, "in/f", "new"), 0);
	assert_string_equal(fixture_get(fixture, "out/link"), "old");
}

static void looks_at_the_name_itself(void **state)
{
	struct fixture *fixture = *state;

	fixture_link(fixture, "secret", "in/link");
	assert_int_equal(do_stat(fixture, "in/link"), 0);
	assert_true(fixture->reply.is_symlink);
	assert_false(fixture->reply.is_dir);
	assert_refused(fixture, do_stat(fixture, "in/link/"), 0);
	assert_int_equal(do_stat(fixture, "in"), 0);
	assert_true(fixture->reply.is_dir);
	assert_int_equal(fixture->reply.size, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(reads_what_is_asked_for),
		TEST(a_reply_fits_into_its_frame),
		TEST(text_is_sent_as_text_only_if_it_is),
		TEST(reads_only_files),
		TEST(nothing_leads_out),
		TEST(magic_links_are_not_followed),
		TEST(devices_are_not_opened),
		TEST(links_inside_are_followed),
		TEST(a_path_is_absolute_text),
		TEST(a_new_file_gets_its_directories),
		TEST(a_replaced_file_keeps_its_attributes),
		TEST(nothing_is_left_beside_a_file),
		TEST(edits_once_or_everywhere),
		TEST(a_hard_link_keeps_the_old_content),
		TEST(looks_at_the_name_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
