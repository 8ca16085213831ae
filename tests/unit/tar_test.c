/*
 * tar: an archive, of this writer or of GNU tar, keeps all properties of a file, and damage is an
 * error.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/mem.h"
#include "core/own.h"
#include "tree/tar.h"

#define S 1000000000LL /* ns per second */
#define MIB ((uint64_t)1 << 20)

/* --- helpers --- */

static int memory_file(void)
{
	int fd = memfd_create("tar_test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void check(int rc, const struct err *err)
{
	if (rc < 0)
		fail_msg("%s", err->text);
}

static void assert_str(struct str have, struct str want)
{
	assert_int_equal(have.len, want.len);
	if (want.len)
		assert_memory_equal(have.ptr, want.ptr, want.len);
}

static struct str repeat(char c, size_t len)
{
	char *text = mem_alloc(len + 1);

	memset(text, c, len);
	text[len] = '\0';
	return (struct str){ text, len };
}

/* The path of a directory is read with the slash that tar adds. */
static void assert_member(const struct tar_member *have, const struct tar_member *want)
{
	struct str path = have->path;

	if (S_ISDIR(want->mode) && path.len && path.ptr[path.len - 1] == '/')
		path.len--;
	assert_str(path, want->path);
	assert_int_equal(have->hardlink, want->hardlink);
	if (!want->hardlink)
		assert_int_equal(have->mode, want->mode);
	if (want->hardlink || S_ISLNK(want->mode))
		assert_str(have->link, want->link);
	assert_int_equal(have->uid, want->uid);
	assert_int_equal(have->gid, want->gid);
	assert_true(have->mtime == want->mtime);
	assert_true(have->size == want->size);
	assert_int_equal(have->major, want->major);
	assert_int_equal(have->minor, want->minor);
	assert_int_equal(have->sparse, want->sparse);
	assert_int_equal(have->n_extents, want->n_extents);
	for (size_t i = 0; i < want->n_extents; i++) {
		assert_true(have->extents[i].offset == want->extents[i].offset);
		assert_true(have->extents[i].length == want->extents[i].length);
	}
	assert_int_equal(have->n_xattrs, want->n_xattrs);
	for (size_t i = 0; i < want->n_xattrs; i++) {
		assert_str(have->xattrs[i].name, want->xattrs[i].name);
		assert_str(have->xattrs[i].value, want->xattrs[i].value);
	}
}

/* Returns the byte that the files of this test have at an offset. */
static unsigned char pattern(uint64_t offset)
{
	return (unsigned char)(offset * 31 + (offset >> 8) * 7 + 1);
}

static void write_run(struct tar_writer *tar, uint64_t offset, uint64_t len)
{
	unsigned char block[10000];
	struct err err;

	while (len) {
		size_t part = len < sizeof(block) ? (size_t)len : sizeof(block);

		for (size_t i = 0; i < part; i++)
			block[i] = pattern(offset + i);
		check(tar_writer_data(tar, block, part, &err), &err);
		offset += part;
		len -= part;
	}
}

static void write_member(struct tar_writer *tar, const struct tar_member *member)
{
	struct err err;

	check(tar_writer_member(tar, member, &err), &err);
	if (member->sparse)
		for (size_t i = 0; i < member->n_extents; i++)
			write_run(tar, member->extents[i].offset, member->extents[i].length);
	else
		write_run(tar, 0, member->size);
}

static bool in_data(const struct tar_member *member, uint64_t offset)
{
	if (!member->sparse)
		return offset < member->size;
	for (size_t i = 0; i < member->n_extents; i++)
		if (offset >= member->extents[i].offset &&
			offset - member->extents[i].offset < member->extents[i].length)
			return true;
	return false;
}

static void assert_data(struct tar_reader *tar, const struct tar_member *member)
{
	uint64_t total = 0;
	uint64_t owed = member->sparse ? 0 : member->size;
	const void *bytes;
	uint64_t offset;
	size_t len;
	struct err err;
	int rc;

	for (size_t i = 0; i < member->n_extents; i++)
		owed += member->extents[i].length;
	while ((rc = tar_reader_data(tar, &bytes, &len, &offset, &err)) == 1) {
		assert_true(in_data(member, offset) && in_data(member, offset + len - 1));
		for (size_t i = 0; i < len; i++)
			if (((const unsigned char *)bytes)[i] != pattern(offset + i))
				fail_msg("wrong byte at %ju", (uintmax_t)(offset + i));
		total += len;
	}
	check(rc, &err);
	assert_true(total == owed);
}

static void round_trip(const struct tar_member *members, size_t count)
{
	owned_fd int fd = memory_file();
	struct tar_member found;
	struct err err;

	struct tar_writer *writer = tar_writer_open(fd, &err);
	if (!writer)
		fail_msg("%s", err.text);
	for (size_t i = 0; i < count; i++)
		write_member(writer, &members[i]);
	check(tar_writer_finish(writer, &err), &err);
	tar_writer_close(writer);

	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	struct tar_reader *reader = tar_reader_open(fd, &err);
	if (!reader)
		fail_msg("%s", err.text);
	for (size_t i = 0; i < count; i++) {
		int rc = tar_reader_next(reader, &found, &err);
		check(rc, &err);
		assert_int_equal(rc, 1);
		assert_member(&found, &members[i]);
		if (i % 3 < 2 && !members[i].hardlink) /* leave some data unread */
			assert_data(reader, &members[i]);
	}
	assert_int_equal(tar_reader_next(reader, &found, &err), 0);
	assert_int_equal(tar_reader_next(reader, &found, &err), 0);
	tar_reader_close(reader);
}

/* Read a whole archive.  Returns the first error, or 0. */
static int read_through(int fd, struct err *err)
{
	struct tar_member member;
	const void *bytes;
	uint64_t offset;
	size_t len;
	int rc;

	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	owned(tar_reader_closep) struct tar_reader *tar = tar_reader_open(fd, err);
	if (!tar)
		return -(int)err->code;
	while ((rc = tar_reader_next(tar, &member, err)) == 1)
		while ((rc = tar_reader_data(tar, &bytes, &len, &offset, err)))
			if (rc < 0)
				return rc;
	return rc;
}

/* --- archives of this writer --- */

static void keeps_types_and_owners(void **state)
{
	const struct tar_member members[] = {
		{ .path = STR("dir"), .mode = S_IFDIR | 01777, .mtime = 5 * S },
		{ .path = STR("dir/file"), .mode = S_IFREG | 06755, .size = 100000, .uid = 1000 },
		{ .path = STR("dir/empty"), .mode = S_IFREG, .uid = 2097152, .gid = 4294967294 },
		{ .path = STR("dir/again"), .hardlink = true, .link = STR("dir/file") },
		{ .path = STR("link"), .mode = S_IFLNK | 0777, .link = STR("dir/file") },
		{ .path = STR("fifo"), .mode = S_IFIFO | 0600 },
		{ .path = STR("char"), .mode = S_IFCHR | 0600, .major = 1, .minor = 3 },
		{ .path = STR("block"), .mode = S_IFBLK | 0660, .major = 4095, .minor = 1048575 },
		{ .path = STR("block2"), .mode = S_IFBLK | 0660, .major = 259, .minor = 70000 },
		{ .path = STR("odd size"), .mode = S_IFREG | 0111, .size = 511 },
		{ .path = STR("last"), .mode = S_IFREG | 0644, .size = 1 },
	};

	round_trip(members, sizeof(members) / sizeof(members[0]));
}

static void keeps_times_to_the_nanosecond(void **state)
{
	static const int64_t times[] = { 0, 1, -1, -999999999, 999999999, -S, -S - 1, S + 1,
		-86400 * S + 123456789, 1750000000 * S + 999999999, 2147483648 * S + 1,
		7258118400 * S + 5, -2145916800 * S + 500000000, INT64_MAX, INT64_MIN + 1 };
	struct tar_member members[sizeof(times) / sizeof(times[0])];

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		members[i] = (struct tar_member){
			.path = STR("a"), .mode = S_IFREG | 0644, .mtime = times[i]
		};
	round_trip(members, sizeof(members) / sizeof(members[0]));
}

static void keeps_names_as_bytes(void **state)
{
	static const char *const names[] = { "plain", "with space", "new\nline", "tab\t", "-dash",
		"quote\"'", "back\\slash", "caf\xc3\xa9", "cafe\xcc\x81", "\xff\xfe", "\xc3",
		"a/\xc0\xaf/b", "\xed\xa0\xbd\xed\xb0\x80" /* CESU-8 */, "\x01\x02\x7f", "...",
		"%41", "=", "GNUSparseFile.0/x", "../up", "/absolute", "./dot", "a//b" };
	struct str longs[] = { repeat('n', 99), repeat('n', 100), repeat('n', 101),
		repeat('n', 255), repeat('n', 5000), repeat('\xe9', 5000), repeat('n', 900 << 10) };
	struct tar_member member = { .mode = S_IFREG | 0644, .size = 3 };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) + 7; i++) {
		size_t n = sizeof(names) / sizeof(names[0]);

		member.path = i < n ? str_of(names[i]) : longs[i - n];
		const struct tar_extent tail = { 2, 1 };
		struct tar_member members[] = { member, member, member, member };
		members[1].mode = S_IFLNK | 0777;
		members[1].size = 0;
		members[1].link = member.path.len < 400000 ? member.path : STR("x");
		members[1].path = STR("link");
		members[2].hardlink = true;
		members[2].size = 0;
		members[2].link = member.path;
		members[2].path = STR("hard");
		members[3].sparse = true;
		members[3].extents = &tail;
		members[3].n_extents = 1;
		round_trip(members, 4);
	}
	for (size_t i = 0; i < 7; i++)
		free((char *)longs[i].ptr);
}

static void keeps_names_in_a_utf8_locale(void **state)
{
	if (!setlocale(LC_ALL, "C.UTF-8")) {
		print_message("no C.UTF-8 locale\n");
		skip();
	}
	keeps_names_as_bytes(state);
	(void)setlocale(LC_ALL, "C");
}

static const char acl[] = "\x02\0\0\0\x01\0\x06\0\xff\xff\xff\xff\x02\0\x07\0\xe8\x03\0\0"
			  "\x04\0\x04\0\xff\xff\xff\xff\x10\0\x07\0\xff\xff\xff\xff"
			  "\x20\0\x04\0\xff\xff\xff\xff";

/* The mode must fit the ACL (u::rw- mask::rwx o::r--), as on any file system. */
static void keeps_xattrs(void **state)
{
	struct str large = repeat('\xff', 65536);
	/* The xattrs are sorted by name, since they are read in this order. */
	const struct tar_xattr xattrs[] = {
		{ STR("security.capability"),
			STR("\x01\0\0\x02\0\x20\0\0\0\0\0\0\0\0\0\0\0\0\0\0") },
		{ STR("system.posix_acl_access"), { acl, sizeof(acl) - 1 } },
		{ STR("system.posix_acl_default"), { acl, sizeof(acl) - 1 } },
		{ STR("trusted.x"), STR("t") },
		{ STR("user.%41=%"), STR("percent") },
		{ STR("user.a name\n=\xff\xc3\xa9"), STR("odd name") },
		{ STR("user.binary"), STR("\0\n\xff=\0\n10 a=b\n") },
		{ STR("user.large"), large },
		{ STR("user.none"), STR("") },
		{ STR("user.text"), STR("text") },
	};
	const struct tar_member members[] = {
		{ .path = STR("f"),
			.mode = S_IFREG | 0674,
			.size = 9,
			.xattrs = xattrs,
			.n_xattrs = 10 },
		{ .path = STR("plain"), .mode = S_IFREG | 0640, .size = 9 },
		{ .path = STR("d"), .mode = S_IFDIR | 0674, .xattrs = xattrs, .n_xattrs = 10 },
		{ .path = STR("l"),
			.mode = S_IFLNK | 0777,
			.link = STR("f"),
			.xattrs = xattrs + 3,
			.n_xattrs = 1 },
	};

	round_trip(members, sizeof(members) / sizeof(members[0]));
	free((char *)large.ptr);
}

static void keeps_holes(void **state)
{
	static const struct tar_extent first[] = { { MIB, MIB } };
	static const struct tar_extent middle[] = { { 0, MIB }, { 2 * MIB, MIB } };
	static const struct tar_extent last[] = { { 0, MIB } };
	static const struct tar_extent odd[] = { { 3, 5 }, { 600, 1 }, { 5000, 12345 } };
	static const struct tar_extent far[] = { { 4096, 4096 }, { 19000 * MIB, 10 } };
	static struct tar_extent many[5000];
	for (size_t i = 0; i < 5000; i++)
		many[i] = (struct tar_extent){ i * 8192, 7 };
#define SPARSE(p, s, e)                                                                            \
	{                                                                                          \
		.path = STR(p), .mode = S_IFREG | 0644, .size = (s), .sparse = true,               \
		.extents = (e), .n_extents = sizeof(e) / sizeof((e)[0])                            \
	}
	const struct tar_member members[] = {
		SPARSE("first", 2 * MIB, first),
		SPARSE("middle", 3 * MIB, middle),
		SPARSE("last", 3 * MIB, last),
		SPARSE("odd", 20000, odd),
		SPARSE("far", 20000 * MIB + 7, far),
		SPARSE("many", 5000 * 8192, many),
		{ .path = STR("all"), .mode = S_IFREG | 0644, .size = 5 * MIB, .sparse = true },
		{ .path = STR("all, odd"), .mode = S_IFREG | 0644, .size = 77, .sparse = true },
		{ .path = STR("none"), .mode = S_IFREG | 0644, .size = MIB },
	};

	round_trip(members, sizeof(members) / sizeof(members[0]));
}

/*
 * The header announces nine GiB.  Only a part of them is written, which is enough to check the
 * header.
 */
static void keeps_sizes_past_8_gib(void **state)
{
	owned_fd int fd = memory_file();
	struct tar_member member = { .path = STR("big"), .mode = S_IFREG, .size = 9216 * MIB };
	const void *bytes;
	uint64_t offset;
	size_t len;
	struct err err;

	struct tar_writer *writer = tar_writer_open(fd, &err);
	assert_non_null(writer);
	check(tar_writer_member(writer, &member, &err), &err);
	write_run(writer, 0, MIB);
	tar_writer_close(writer);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	owned(tar_reader_closep) struct tar_reader *reader = tar_reader_open(fd, &err);
	assert_non_null(reader);
	check(tar_reader_next(reader, &member, &err), &err);
	assert_true(member.size == 9216 * MIB);
	int rc;
	while ((rc = tar_reader_data(reader, &bytes, &len, &offset, &err)) == 1)
		;
	assert_int_equal(rc, -(int)ERR_CORRUPT);
	assert_non_null(strstr(err.text, "runcated"));
}

static void refuses_what_it_cannot_write(void **state)
{
	owned_fd int fd = memory_file();
	struct str long_name = repeat('n', (900 << 10) + 1);
	struct str long_value = repeat('v', (64 << 10) + 1);
	const struct tar_xattr xattr = { STR("user.x"), long_value };
	const struct tar_extent wrong[] = { { 10, 10 }, { 5, 1 } };
	const struct {
		struct tar_member member;
		enum err_code code;
	} cases[] = {
		{ { .path = long_name, .mode = S_IFREG }, ERR_LIMIT },
		{ { .path = STR("l"), .mode = S_IFLNK, .link = long_name }, ERR_LIMIT },
		{ { .path = STR("x"), .mode = S_IFREG, .xattrs = &xattr, .n_xattrs = 1 },
			ERR_LIMIT },
		{ { .path = STR(""), .mode = S_IFREG }, ERR_INVALID },
		{ { .path = STR("a\0b"), .mode = S_IFREG }, ERR_INVALID },
		{ { .path = STR("s"),
			  .mode = S_IFREG,
			  .size = 100,
			  .sparse = true,
			  .extents = wrong,
			  .n_extents = 2 },
			ERR_INVALID },
		{ { .path = STR("s"),
			  .mode = S_IFREG,
			  .size = 15,
			  .sparse = true,
			  .extents = wrong,
			  .n_extents = 1 },
			ERR_INVALID },
		{ { .path = STR("socket"), .mode = S_IFSOCK }, ERR_UNSUPPORTED },
	};
	const struct tar_member fine = { .path = STR("fine"), .mode = S_IFREG, .size = 2 };
	struct err err;

	owned(tar_writer_closep) struct tar_writer *tar = tar_writer_open(fd, &err);
	assert_non_null(tar);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(
			tar_writer_member(tar, &cases[i].member, &err), -(int)cases[i].code);
	check(tar_writer_member(tar, &fine, &err), &err);
	check(tar_writer_data(tar, "a", 1, &err), &err);
	assert_int_equal(
		/* one byte of data is missing */
		tar_writer_member(tar, &fine, &err), -(int)ERR_INVALID);
	assert_int_equal(tar_writer_finish(tar, &err), -(int)ERR_INVALID);
	assert_int_equal(tar_writer_data(tar, "bc", 2, &err), -(int)ERR_INVALID);
	check(tar_writer_data(tar, "b", 1, &err), &err);
	check(tar_writer_finish(tar, &err), &err);
	check(read_through(fd, &err), &err);
	free((char *)long_name.ptr);
	free((char *)long_value.ptr);
}

static void reports_a_full_disk(void **state)
{
	owned_fd int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	const struct tar_member member = { .path = STR("f"), .mode = S_IFREG, .size = 4 * MIB };
	static char block[4 << 20];
	struct err err;

	owned(tar_writer_closep) struct tar_writer *tar = tar_writer_open(fd, &err);
	assert_non_null(tar);
	check(tar_writer_member(tar, &member, &err), &err);
	assert_int_equal(tar_writer_data(tar, block, sizeof(block), &err), -(int)ERR_SYSTEM);
	assert_int_equal(err.errno_value, ENOSPC);
	err.errno_value = 0;
	assert_int_equal(tar_writer_data(tar, block, MIB, &err), -(int)ERR_SYSTEM);
	assert_int_equal(err.errno_value, ENOSPC);
}

/*
 * Cut off a small archive at every offset, including those between members and before the end
 * marker.
 */
static void refuses_every_truncation(void **state)
{
	owned_fd int whole = memory_file();
	static const struct tar_extent extents[] = { { 4096, 100 }, { 9000, 700 } };
	const struct tar_member members[] = {
		{ .path = STR("a"), .mode = S_IFREG | 0644, .size = 700, .mtime = 1 },
		{ .path = STR("\xff"), .mode = S_IFDIR | 0755 },
		{ .path = STR("c"),
			.mode = S_IFREG | 0644,
			.size = 20000,
			.sparse = true,
			.extents = extents,
			.n_extents = 2 },
		{ .path = STR("d"), .mode = S_IFREG | 0644, .size = 512 },
	};
	static char bytes[1 << 20];
	struct err err;

	struct tar_writer *writer = tar_writer_open(whole, &err);
	assert_non_null(writer);
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		write_member(writer, &members[i]);
	check(tar_writer_finish(writer, &err), &err);
	tar_writer_close(writer);
	ssize_t size = pread(whole, bytes, sizeof(bytes), 0);
	assert_true(size > 0 && size % 10240 == 0);
	size_t end = (size_t)size;
	while (!bytes[end - 1])
		end--;
	end = (end + 511) / 512 * 512; /* end of the last member, including padding */
	for (size_t cut = 0; cut <= end; cut += cut % 512 ? 255 : 1) {
		owned_fd int fd = memory_file();

		assert_int_equal(write(fd, bytes, cut), cut);
		int rc = read_through(fd, &err);
		if (rc != -(int)ERR_CORRUPT)
			fail_msg("cut at %zu of %zu gives %d", cut, end, rc);
	}
}

static void refuses_what_is_no_archive(void **state)
{
	owned_fd int fd = memory_file();
	static const char text[] = "hello, this is no archive\n";
	struct err err;

	for (int i = 0; i < 1000; i++)
		assert_int_equal(write(fd, text, sizeof(text)), sizeof(text));
	assert_int_equal(read_through(fd, &err), -(int)ERR_CORRUPT);
	owned_fd int dir = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(read_through(dir, &err) < 0);
}

/* --- archives of GNU tar --- */

static char top[4096];

static int make_top(void **state)
{
	const char *place = getenv("TMPDIR");

	snprintf(top, sizeof(top), "%s/tar_test.XXXXXX", place ? place : "/tmp");
	return mkdtemp(top) ? 0 : -1;
}

static int remove_top(void **state)
{
	owned_mem char *command = mem_printf("rm -rf %s", top);

	return system(command);
}

static void shell(const char *script)
{
	owned_mem char *command = mem_printf("cd %s && %s", top, script);

	if (system(command))
		fail_msg("failed: %s", script);
}

static int open_top(const char *name)
{
	owned_mem char *path = mem_printf("%s/%s", top, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void reads_all_compressions(void **state)
{
	static const char *const options[] = { "", "z", "J", "j", "-zstd" };
	struct err err;

	shell("mkdir c && seq 200000 >c/numbers && ln -s x c/link");
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		owned_mem char *make =
			mem_printf("tar -cf c.tar %s%s c", *options[i] ? "-" : "", options[i]);
		shell(make);
		owned_fd int whole = open_top("c.tar");
		check(read_through(whole, &err), &err);
		shell("head -c $(($(stat -c %s c.tar) * 2 / 3)) c.tar >cut.tar");
		owned_fd int cut = open_top("cut.tar");
		assert_int_equal(read_through(cut, &err), -(int)ERR_CORRUPT);
	}
}

static const struct tar_xattr *find_xattr(const struct tar_member *member, const char *name)
{
	for (size_t i = 0; i < member->n_xattrs; i++)
		if (str_eq(member->xattrs[i].name, str_of(name)))
			return &member->xattrs[i];
	return NULL;
}

static bool can_set_attributes(const char *name)
{
	owned_mem char *path = mem_printf("%s/%s", top, name);

	return !setxattr(path, "user.binary", "\0\xff\n=\0", 5, 0) &&
	       !setxattr(path, "user.p%=c", "%", 1, 0) &&
	       !setxattr(path, "system.posix_acl_access", acl, sizeof(acl) - 1, 0);
}

static void reads_gnu_xattrs_and_acls(void **state)
{
	struct tar_member member;
	struct err err;

	shell("mkdir x && echo hello >x/file && chmod 640 x/file");
	if (!can_set_attributes("x/file")) {
		print_message("no xattrs or ACLs on /tmp\n");
		skip();
	}
	shell("touch -d 1969-12-30T00:00:00.25Z x/file && tar -cf x.tar --format=pax --xattrs "
	      "--acls --numeric-owner -C x file");
	owned_fd int fd = open_top("x.tar");
	owned(tar_reader_closep) struct tar_reader *tar = tar_reader_open(fd, &err);
	assert_non_null(tar);
	check(tar_reader_next(tar, &member, &err), &err);
	assert_str(member.path, STR("file"));
	assert_int_equal(member.n_xattrs, 3);
	assert_str(find_xattr(&member, "user.binary")->value, STR("\0\xff\n=\0"));
	assert_str(find_xattr(&member, "user.p%=c")->value, STR("%"));
	assert_str(find_xattr(&member, "system.posix_acl_access")->value,
		(struct str){ acl, sizeof(acl) - 1 });
	assert_int_equal(member.mode, S_IFREG | 0674); /* u::rw- mask::rwx o::r-- */
	assert_true(member.mtime == -2 * 86400 * S + S / 4);
}

static void reads_gnu_sparse_of_all_kinds(void **state)
{
	static const char *const formats[] = { "--format=gnu", "--format=pax --sparse-version=0.0",
		"--format=pax --sparse-version=0.1", "--format=pax --sparse-version=1.0" };
	struct tar_member member;
	struct err err;

	shell("mkdir s && truncate -s 3M s/'f\xff' && "
	      "printf data | dd of=s/'f\xff' bs=4096 seek=100 conv=notrunc 2>/dev/null");
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		owned_mem char *make =
			mem_printf("tar -cf s.tar --sparse %s -C s 'f\xff'", formats[i]);
		const void *bytes;
		uint64_t offset;
		size_t len;

		shell(make);
		owned_fd int fd = open_top("s.tar");
		owned(tar_reader_closep) struct tar_reader *tar = tar_reader_open(fd, &err);
		assert_non_null(tar);
		check(tar_reader_next(tar, &member, &err), &err);
		assert_str(member.path, STR("f\xff"));
		assert_true(member.sparse);
		assert_int_equal(member.size, 3 * MIB);
		assert_int_equal(member.n_extents, 1);
		assert_int_equal(member.extents[0].offset, 409600);
		check(tar_reader_data(tar, &bytes, &len, &offset, &err), &err);
		assert_int_equal(offset, 409600);
		assert_memory_equal(bytes, "data", 4);
	}
}

static void reads_gnu_names_of_all_formats(void **state)
{
	static const char *const formats[] = { "gnu", "pax", "ustar", "oldgnu" };
	struct tar_member member;
	struct err err;

	shell("mkdir n && touch n/\"$(printf 'caf\\303\\251 "
	      "\\377\\n\\355\\240\\275\\355\\260\\200')\"");
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		owned_mem char *make = mem_printf("tar -cf n.tar --format=%s n", formats[i]);

		shell(make);
		owned_fd int fd = open_top("n.tar");
		owned(tar_reader_closep) struct tar_reader *tar = tar_reader_open(fd, &err);
		assert_non_null(tar);
		check(tar_reader_next(tar, &member, &err), &err);
		check(tar_reader_next(tar, &member, &err), &err);
		assert_str(member.path, STR("n/caf\xc3\xa9 \xff\n\xed\xa0\xbd\xed\xb0\x80"));
	}
}

/* GNU tar must be able to restore archives of this writer. */
static void gnu_tar_reads_ours(void **state)
{
	static const struct tar_extent extents[] = { { 65536, 100 }, { 2 * MIB, 4096 } };
	static const struct tar_xattr xattr = { STR("user.p%=c"), STR("\0x") };
	const struct tar_member members[] = {
		{ .path = STR("d\xff"), .mode = S_IFDIR | 0750, .mtime = 7 * S + 7 },
		{ .path = STR("d\xff/f"),
			.mode = S_IFREG | 0604,
			.size = 1000,
			.uid = 3000000,
			.mtime = -5 * S - 250000000,
			.xattrs = &xattr,
			.n_xattrs = 1 },
		{ .path = STR("d\xff/s"),
			.mode = S_IFREG | 0604,
			.size = 3 * MIB,
			.sparse = true,
			.extents = extents,
			.n_extents = 2 },
		{ .path = STR("d\xff/all"),
			.mode = S_IFREG | 0604,
			.size = 3 * MIB,
			.sparse = true },
		{ .path = STR("d\xff/h"), .hardlink = true, .link = STR("d\xff/f") },
	};
	owned_mem char *path = mem_printf("%s/ours.tar", top);
	owned_fd int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	struct stat st;
	struct err err;
	char value[8];

	struct tar_writer *tar = tar_writer_open(fd, &err);
	assert_non_null(tar);
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		write_member(tar, &members[i]);
	check(tar_writer_finish(tar, &err), &err);
	tar_writer_close(tar);
	shell("mkdir o && tar --no-same-owner --xattrs -xpf ours.tar -C o");
	owned_mem char *file = mem_printf("%s/o/d\xff/f", top);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0604);
	assert_int_equal(st.st_nlink, 2);
	assert_int_equal(st.st_mtim.tv_sec, -6);
	assert_int_equal(st.st_mtim.tv_nsec, 750000000);
	ssize_t len = getxattr(file, "user.p%=c", value, sizeof(value));
	if (len >= 0)
		assert_memory_equal(value, "\0x", 2);
	owned_mem char *sparse = mem_printf("%s/o/d\xff/s", top);
	owned_fd int in = open(sparse, O_RDONLY | O_CLOEXEC);
	unsigned char byte = 0;
	assert_int_equal(lseek(in, 0, SEEK_END), 3 * MIB);
	assert_int_equal(pread(in, &byte, 1, 65536 + 99), 1);
	assert_int_equal(byte, pattern(65536 + 99));
	assert_int_equal(pread(in, &byte, 1, MIB), 1);
	assert_int_equal(byte, 0);
	owned_mem char *all = mem_printf("%s/o/d\xff/all", top);
	assert_int_equal(stat(all, &st), 0);
	assert_int_equal(st.st_size, 3 * MIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_types_and_owners),
		cmocka_unit_test(keeps_times_to_the_nanosecond),
		cmocka_unit_test(keeps_names_as_bytes),
		cmocka_unit_test(keeps_names_in_a_utf8_locale),
		cmocka_unit_test(keeps_xattrs),
		cmocka_unit_test(keeps_holes),
		cmocka_unit_test(keeps_sizes_past_8_gib),
		cmocka_unit_test(refuses_what_it_cannot_write),
		cmocka_unit_test(reports_a_full_disk),
		cmocka_unit_test(refuses_every_truncation),
		cmocka_unit_test(refuses_what_is_no_archive),
		cmocka_unit_test(reads_all_compressions),
		cmocka_unit_test(reads_gnu_xattrs_and_acls),
		cmocka_unit_test(reads_gnu_sparse_of_all_kinds),
		cmocka_unit_test(reads_gnu_names_of_all_formats),
		cmocka_unit_test(gnu_tar_reads_ours),
	};
	return cmocka_run_group_tests(tests, make_top, remove_top);
}
