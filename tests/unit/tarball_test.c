/*
 * tarball: a tree and its archive have the same content, and no archive, however malformed, does
 * harm.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include <cmocka.h>

#include "store/chunk.h"
#include "tree/content.h"
#include "tree/ingest.h"
#include "tree/tar.h"
#include "tree/tarball.h"
#include "tree/treebuild.h"
#include "tree/treeiter.h"
#include "tree/xattrs.h"

#include "store_fixture.h"

#define S INT64_C(1000000000)
#define MIB ((off_t)1 << 20)

/* --- archives --- */

struct archive {
	int fd;
	struct tar_writer *tar;
	struct err err;
};

static void archive_open(struct archive *archive)
{
	*archive = (struct archive){ .fd = memfd_create("tarball_test", MFD_CLOEXEC) };
	assert_true(archive->fd >= 0);
	archive->tar = tar_writer_open(archive->fd, &archive->err);
	assert_non_null(archive->tar);
}

static void add(struct archive *archive, const struct tar_member *member, const void *bytes)
{
	assert_ok(archive, tar_writer_member(archive->tar, member, &archive->err));
	if (bytes && member->size)
		assert_ok(
			archive, tar_writer_data(archive->tar, bytes, member->size, &archive->err));
}

static void add_file(struct archive *archive, const char *path, const char *text)
{
	struct tar_member member = {
		.path = str_of(path),
		.mode = S_IFREG | 0644,
		.size = strlen(text),
	};

	add(archive, &member, text);
}

static void add_dir(struct archive *archive, const char *path, mode_t mode)
{
	struct tar_member member = { .path = str_of(path), .mode = S_IFDIR | mode };

	add(archive, &member, NULL);
}

static void add_symlink(struct archive *archive, const char *path, const char *target)
{
	struct tar_member member = {
		.path = str_of(path),
		.link = str_of(target),
		.mode = S_IFLNK | 0777,
	};

	add(archive, &member, NULL);
}

static void add_hard_link(struct archive *archive, const char *path, const char *target)
{
	struct tar_member member = {
		.path = str_of(path),
		.link = str_of(target),
		.mode = S_IFREG | 0644,
		.hardlink = true,
	};

	add(archive, &member, NULL);
}

static void finish(struct archive *archive)
{
	assert_ok(archive, tar_writer_finish(archive->tar, &archive->err));
	tar_writer_close(archive->tar);
	archive->tar = NULL;
	assert_int_equal(lseek(archive->fd, 0, SEEK_SET), 0);
}

/*
 * Finish an archive, read it and close it.  Returns the tree.  report gets the reasons for members
 * that were refused.
 */
static struct hash read_it(struct fixture *fixture, struct archive *archive, struct report *report)
{
	struct hash tree;

	finish(archive);
	assert_ok(fixture, tarball_read(fixture->store, archive->fd, &tree, report, &fixture->err));
	close(archive->fd);
	return tree;
}

/* --- trees --- */

/* The strings of the entry are not valid after the return. */
static bool find(
	struct fixture *fixture, const struct hash *tree, const char *path, struct entry *entry)
{
	struct treeiter iter;

	treeiter_init(&iter, fixture->store);
	int r = treeiter_path(&iter, tree, str_of(path), entry, &fixture->err);
	treeiter_release(&iter);
	assert_ok(fixture, r);
	return r > 0;
}

static void assert_content(
	struct fixture *fixture, const struct hash *tree, const char *path, const char *text)
{
	owned(buf_release) struct buf bytes = BUF_INIT;
	struct entry entry;

	assert_true(find(fixture, tree, path, &entry));
	assert_int_equal(entry.type, ENTRY_FILE);
	assert_ok(fixture, content_load(fixture->store, &entry, 1 << 20, &bytes, &fixture->err));
	assert_string_equal(bytes.data ? bytes.data : "", text);
}

static struct entry assert_found(struct fixture *fixture, const struct hash *tree, const char *path)
{
	struct entry entry;

	assert_true(find(fixture, tree, path, &entry));
	return entry;
}

static uint64_t count_of(struct fixture *fixture, const struct hash *tree)
{
	return assert_found(fixture, tree, "").count;
}

static void assert_same_tree(const struct hash *a, const struct hash *b)
{
	char x[HASH_HEX], y[HASH_HEX];

	assert_string_equal(hash_hex(a, x), hash_hex(b, y));
}

/* Write the tree to memory and read it back.  Returns the tree that was read. */
static struct hash there_and_back(struct fixture *fixture, const struct hash *tree)
{
	owned(report_release) struct report report = REPORT_INIT;
	owned_fd int fd = memfd_create("tarball_test", MFD_CLOEXEC);
	struct tarball_written written = { 0 };
	struct hash back;

	assert_ok(
		fixture, tarball_write(fixture->store, tree, fd, &report, &written, &fixture->err));
	assert_int_equal(written.entries, count_of(fixture, tree) + 1);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_ok(fixture, tarball_read(fixture->store, fd, &back, &report, &fixture->err));
	assert_int_equal(report.count[REPORT_REFUSED], 0);
	return back;
}

static struct hash capture(struct fixture *fixture, int fd)
{
	owned(report_release) struct report report = REPORT_INIT;
	struct scan_options options = {
		.fd = fd,
		.store = fixture->store,
		.report = &report,
	};
	struct scan scan;
	struct hash tree;

	assert_ok(fixture, scan_run(&options, at_tmpfile(-1, &fixture->err), &scan, &fixture->err));
	assert_ok(fixture, ingest_run(&scan,
				   &(struct ingest_options){
					   .fd = fd, .store = fixture->store, .report = &report },
				   &tree, &fixture->err));
	scan_release(&scan);
	return tree;
}

/* --- a live tree with every kind of entry --- */

static void stamp(int dir, const char *name, int64_t ns)
{
	int64_t seconds = ns / S - (ns % S < 0);
	struct timespec times[2] = {
		{ .tv_nsec = UTIME_OMIT },
		{ .tv_sec = seconds, .tv_nsec = ns - seconds * S },
	};

	assert_int_equal(utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW), 0);
}

static int make_file(int dir, const char *name, size_t size, mode_t mode)
{
	int fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	owned_mem char *bytes = fixture_noise(size, size + 1);

	assert_true(fd >= 0);
	assert_int_equal(at_write_all(fd, bytes, size), 0);
	assert_int_equal(fchmod(fd, mode), 0);
	return fd;
}

static void make_files(int dir)
{
	static const size_t sizes[] = { 0, 1, 511, 512, 513, CHUNK_WHOLE - 1, CHUNK_WHOLE,
		CHUNK_WHOLE + 1, 6 << 20 };
	char name[300];

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		snprintf(name, sizeof(name), "size %zu\n", sizes[i]);
		close(make_file(dir, name, sizes[i], (mode_t)(0400 | (i * 0123 & 07777))));
		stamp(dir, name, (int64_t)(i * i) * 987654321 - 3 * S);
	}
	memset(name, 'x', ENTRY_NAME_MAX);
	name[ENTRY_NAME_MAX] = '\0';
	close(make_file(dir, name, 3, 0644));
	close(make_file(dir, "\xff\xfe not UTF-8 \xc3\xa9", 3, 0644));
}

static void make_links(int dir)
{
	assert_int_equal(mkdirat(dir, "a-links", 0700), 0);
	assert_int_equal(mkdirat(dir, "z-links", 0700), 0);
	close(make_file(dir, "z-links/file", 100, 0644));
	assert_int_equal(linkat(dir, "z-links/file", dir, "a-links/name", 0), 0);
	assert_int_equal(linkat(dir, "z-links/file", dir, "middle", 0), 0);
	close(make_file(dir, "a-links/empty", 0, 0644));
	assert_int_equal(linkat(dir, "a-links/empty", dir, "z-links/empty", 0), 0);
	assert_int_equal(symlinkat("no where/\xff", dir, "a-links/link"), 0);
	assert_int_equal(linkat(dir, "a-links/link", dir, "z-links/link", 0), 0);
	assert_int_equal(mknodat(dir, "a-links/fifo", S_IFIFO | 0600, 0), 0);
	assert_int_equal(linkat(dir, "a-links/fifo", dir, "z-links/fifo", 0), 0);
	assert_int_equal(mknodat(dir, "a-links/socket", S_IFSOCK | 0640, 0), 0);
	assert_int_equal(linkat(dir, "a-links/socket", dir, "z-links/socket", 0), 0);
	stamp(dir, "a-links/link", -1);
}

static void make_sparse(int dir)
{
	static const struct {
		const char *name;
		off_t size, data[2][2];
	} files[] = {
		{ "all hole", 3 * MIB + 5, { { 0 } } },
		{ "hole first", 5 * MIB, { { 3 * MIB, 2 * MIB } } },
		{ "hole last", 5 * MIB, { { 0, 2 * MIB } } },
		{ "two runs", 9 * MIB, { { MIB, 4096 }, { 5 * MIB, 2 * MIB + 17 } } },
		{ "small", 200000, { { 65536, 3 } } },
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		owned_fd int fd = make_file(dir, files[i].name, 0, 0600);

		assert_int_equal(ftruncate(fd, files[i].size), 0);
		for (size_t k = 0; k < 2; k++) {
			owned_mem char *bytes = fixture_noise((size_t)files[i].data[k][1] + 1, i);

			assert_int_equal(at_pwrite_all(fd, bytes, (size_t)files[i].data[k][1],
						 (uint64_t)files[i].data[k][0]),
				0);
		}
	}
}

/*
 * Set attributes that need privileges or a certain file system.  They are left out where that
 * fails.
 */
static void make_attributes(int dir)
{
	owned_fd int fd = make_file(dir, "attributes", 10, 0755);

	(void)!fsetxattr(fd, "user.text", "value", 5, 0);
	(void)!fsetxattr(fd, "user.a=b%", "\0\n", 2, 0);
	(void)!fsetxattr(fd, "user.empty", "", 0, 0);
	(void)!fchown(fd, 3000000, 4000000);
	(void)!mknodat(dir, "char", S_IFCHR | 0600, makedev(300, 70000));
	(void)!mknodat(dir, "block", S_IFBLK | 0660, makedev(7, 2));
}

static int make_tree(struct fixture *fixture)
{
	assert_int_equal(mkdirat(fixture->rootfd, "tree", 0751), 0);
	int dir = openat(fixture->rootfd, "tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(dir >= 0);
	make_files(dir);
	make_links(dir);
	make_sparse(dir);
	make_attributes(dir);
	assert_int_equal(mkdirat(dir, "deep", 0700), 0);
	int below = openat(dir, "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(mkdirat(below, "a rather long name for one level", 0700), 0);
		close(make_file(below, "b", 1, 0600));
		int next = openat(below, "a rather long name for one level",
			O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(below);
		below = next;
	}
	close(below);
	stamp(dir, "deep", 5);
	stamp(dir, ".", -123456789012345678);
	return dir;
}

/* --- round trips --- */

static void an_archive_gives_the_tree_it_came_from(void **state)
{
	struct fixture *fixture = *state;
	owned_fd int dir = make_tree(fixture);
	struct hash tree = capture(fixture, dir);
	struct hash back = there_and_back(fixture, &tree);

	assert_same_tree(&tree, &back);
	assert_true(assert_found(fixture, &tree, "middle").link != 0);
	assert_int_equal(assert_found(fixture, &tree, "two runs").content, ENTRY_CHUNKS);
}

static void an_archive_by_gnu_tar_gives_the_tree_too(void **state)
{
	struct fixture *fixture = *state;
	owned_fd int dir = make_tree(fixture);
	owned(report_release) struct report report = REPORT_INIT;
	char command[1000];
	struct hash read;

	/* tar leaves sockets out, does not keep hard links of FIFOs, and has no time of -1 ns. */
	assert_int_equal(unlinkat(dir, "a-links/socket", 0), 0);
	assert_int_equal(unlinkat(dir, "z-links/socket", 0), 0);
	assert_int_equal(unlinkat(dir, "z-links/fifo", 0), 0);
	stamp(dir, "a-links/link", -S - 1);
	stamp(dir, ".", 1);
	struct hash tree = capture(fixture, dir);
	snprintf(command, sizeof(command),
		"command -v tar >/dev/null || exit 77; tar -C %s/tree --format=posix --sparse"
		" --numeric-owner --xattrs --xattrs-include='*' --sort=name"
		" -czf %s/a.tar.gz .",
		fixture->path, fixture->path);
	int status = system(command);
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
	owned_fd int fd = openat(fixture->rootfd, "a.tar.gz", O_RDONLY | O_CLOEXEC);
	assert_ok(fixture, tarball_read(fixture->store, fd, &read, &report, &fixture->err));
	assert_same_tree(&tree, &read);
}

static void keeps_what_could_not_be_read_apart(void **state)
{
	struct fixture *fixture = *state;
	owned(report_release) struct report report = REPORT_INIT;
	struct treebuild *build = mem_alloc(sizeof(*build));
	struct entry root = { .name = STR(""), .type = ENTRY_DIR, .mode = 0755 };
	struct entry dir = { .name = STR("dir"), .type = ENTRY_DIR, .content = ENTRY_UNREAD };
	struct entry file = {
		.name = STR("file"),
		.type = ENTRY_FILE,
		.content = ENTRY_UNREAD,
		.size = 12345678901,
	};
	struct hash tree;

	treebuild_init(build, fixture->store);
	assert_ok(fixture, treebuild_add(build, &dir, &fixture->err));
	assert_ok(fixture, treebuild_add(build, &file, &fixture->err));
	assert_ok(fixture, treebuild_finish(build, &root, &fixture->err));
	assert_ok(fixture, treebuild_root(fixture->store, &root, &tree, &fixture->err));
	treebuild_release(build);
	free(build);
	struct hash back = there_and_back(fixture, &tree);
	assert_same_tree(&tree, &back);
	owned_fd int fd = memfd_create("tarball_test", MFD_CLOEXEC);
	assert_ok(fixture, tarball_write(fixture->store, &tree, fd, &report, NULL, &fixture->err));
	assert_int_equal(report.count[REPORT_UNRESTORED], 2);
}

static void says_what_an_archive_cannot_hold(void **state)
{
	struct fixture *fixture = *state;
	owned(report_release) struct report report = REPORT_INIT;
	struct entry root = {
		.name = STR(""),
		.type = ENTRY_DIR,
		.mtime_sec = INT64_C(15032385535), /* 2446, the last year of ext4 */
	};
	owned_mem char *value = mem_zalloc(AT_XATTR_MAX);
	owned(buf_release) struct buf bytes = BUF_INIT;
	struct xattr list[20];
	struct hash tree;
	char names[20][16];

	for (size_t i = 0; i < 20; i++) {
		snprintf(names[i], sizeof(names[i]), "user.%zu", i);
		list[i] = (struct xattr){ str_of(names[i]), { value, AT_XATTR_MAX } };
	}
	xattrs_encode(list, 20, &bytes);
	assert_ok(fixture, store_put(fixture->store, OBJECT_XATTRS, bytes.data, bytes.len,
				   &root.xattrs, &fixture->err));
	assert_ok(fixture, treebuild_root(fixture->store, &root, &tree, &fixture->err));
	owned_fd int fd = memfd_create("tarball_test", MFD_CLOEXEC);
	assert_ok(fixture, tarball_write(fixture->store, &tree, fd, &report, NULL, &fixture->err));
	assert_int_equal(report.count[REPORT_UNRESTORED], 2);
	assert_non_null(strstr(report.items[0].what, "mtime"));
	assert_non_null(strstr(report.items[1].what, "extended attributes"));
}

static void an_empty_tree_is_an_archive_of_one_member(void **state)
{
	struct fixture *fixture = *state;
	struct entry root = { .name = STR(""), .type = ENTRY_DIR, .mode = 01777, .uid = 7 };
	struct hash tree;

	assert_ok(fixture, treebuild_root(fixture->store, &root, &tree, &fixture->err));
	struct hash back = there_and_back(fixture, &tree);
	assert_same_tree(&tree, &back);
}

static void builds_a_directory_of_50000_names(void **state)
{
	struct fixture *fixture = *state;
	owned(report_release) struct report report = REPORT_INIT;
	struct archive archive;
	char name[32];

	archive_open(&archive);
	/* The names are not sorted, and each comes twice.  The second one is used. */
	for (unsigned i = 0; i < 50000; i++) {
		snprintf(name, sizeof(name), "one/%u", i * 7919 % 25000);
		add_file(&archive, name, i < 25000 ? "old" : "new");
	}
	struct hash tree = read_it(fixture, &archive, &report);
	assert_int_equal(count_of(fixture, &tree), 25001);
	assert_content(fixture, &tree, "one/0", "new");
	assert_content(fixture, &tree, "one/24999", "new");
	assert_int_equal(assert_found(fixture, &tree, "one").size, 3 * 25000);
}

/* --- any archive --- */

#define BLOCK 512
#define MTIME_AT 136
#define MTIME_SIZE 12
#define CHECKSUM_AT 148
#define CHECKSUM_SIZE 8

/* Give the member at offset this mtime in the binary form, which has no limits. */
static void set_mtime(int fd, off_t offset, int64_t seconds)
{
	unsigned char block[BLOCK];
	unsigned sum = 0;

	assert_int_equal(pread(fd, block, BLOCK, offset), BLOCK);
	memset(block + MTIME_AT, seconds < 0 ? 0xff : 0, MTIME_SIZE);
	block[MTIME_AT] |= 0x80;
	for (int i = 0; i < 8; i++)
		block[MTIME_AT + MTIME_SIZE - 1 - i] = (unsigned char)(seconds >> 8 * i);
	memset(block + CHECKSUM_AT, ' ', CHECKSUM_SIZE);
	for (int i = 0; i < BLOCK; i++)
		sum += block[i];
	snprintf((char *)block + CHECKSUM_AT, CHECKSUM_SIZE, "%06o", sum);
	assert_int_equal(pwrite(fd, block, BLOCK, offset), BLOCK);
}

static void a_time_no_tree_can_hold_becomes_the_nearest(void **state)
{
	static const struct {
		const char *name;
		int64_t seconds, kept;
	} cases[] = {
		{ "late", INT64_C(1) << 62, INT64_MAX / S },
		{ "early", -(INT64_C(1) << 62), INT64_MIN / S - 1 },
		{ "good", INT64_C(7516192767), INT64_C(7516192767) },
	};
	struct fixture *fixture = *state;
	owned(report_release) struct report report = REPORT_INIT;
	struct archive archive;
	struct hash tree;

	archive_open(&archive);
	for (size_t i = 0; i < 3; i++)
		add_file(&archive, cases[i].name, "text");
	finish(&archive);
	for (size_t i = 0; i < 3; i++)
		set_mtime(archive.fd, (off_t)i * 2 * BLOCK, cases[i].seconds);
	assert_ok(fixture, tarball_read(fixture->store, archive.fd, &tree, &report, &fixture->err));
	close(archive.fd);
	for (size_t i = 0; i < 3; i++) {
		assert_true(assert_found(fixture, &tree, cases[i].name).mtime_sec == cases[i].kept);
		assert_content(fixture, &tree, cases[i].name, "text");
	}
	assert_int_equal(report.count[REPORT_ALTERED], 2);
	assert_string_equal(report.items[0].path.ptr, "late");
	assert_non_null(strstr(report.items[0].what, "mtime"));
}

static void makes_missing_parents(void **state)
{
	struct fixture *fixture = *state;
	owned(report_release) struct report report = REPORT_INIT;
	struct archive archive;

	archive_open(&archive);
	add_file(&archive, "a/b/c", "text");
	struct hash tree = read_it(fixture, &archive, &report);
	struct entry dir = assert_found(fixture, &tree, "a/b");
	assert_int_equal(dir.mode, 0755);
	assert_int_equal(dir.uid + dir.gid, 0);
	assert_true(!dir.mtime_sec && !dir.mtime_nsec);
	assert_content(fixture, &tree, "a/b/c", "text");
	assert_int_equal(count_of(fixture, &tree), 3);
}

static void takes_paths_in_any_spelling(void **state)
{
	static const char *const spellings[] = { "a/b/c", "./a/b/c", "/a/b/c", "//a/b//c",
		"a/./b/././c", ".//a/b/c" };
	struct fixture *fixture = *state;
	struct hash first;

	for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++) {
		owned(report_release) struct report report = REPORT_INIT;
		struct archive archive;

		archive_open(&archive);
		add_file(&archive, spellings[i], "text");
		struct hash tree = read_it(fixture, &archive, &report);
		if (!i)
			first = tree;
		assert_same_tree(&tree, &first);
	}
}

static void the_member_of_a_dot_is_the_root(void **state)
{
	static const char *const dots[] = { ".", "./", "/", "././" };
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(dots) / sizeof(dots[0]); i++) {
		owned(report_release) struct report report = REPORT_INIT;
		struct archive archive;

		archive_open(&archive);
		add_file(&archive, "before", "");
		add_dir(&archive, dots[i], 02751);
		add_symlink(&archive, ".", "elsewhere");
		add_hard_link(&archive, ".", "before");
		add_hard_link(&archive, "link", "./");
		struct hash tree = read_it(fixture, &archive, &report);
		assert_int_equal(assert_found(fixture, &tree, "").mode, 02751);
		assert_int_equal(count_of(fixture, &tree), 1);
		assert_int_equal(report.count[REPORT_REFUSED], 3);
	}
}

static void later_members_replace_earlier_ones(void **state)
{
	struct fixture *fixture = *state;
	owned(report_release) struct report report = REPORT_INIT;
	struct archive archive;

	archive_open(&archive);
	add_file(&archive, "file", "old");
	add_file(&archive, "file", "new");
	add_dir(&archive, "dir", 0755);
	add_file(&archive, "dir/stays", "text");
	add_dir(&archive, "dir", 0700);
	add_dir(&archive, "was-dir", 0755);
	add_file(&archive, "was-dir/a/b/c", "lost");
	add_file(&archive, "was-dir/d", "lost");
	add_symlink(&archive, "was-dir", "target");
	add_file(&archive, "was-file", "lost");
	add_dir(&archive, "was-file", 0711);
	add_file(&archive, "was-file/new", "text");
	add_file(&archive, "twice/a", "lost");
	add_file(&archive, "twice", "lost");
	add_dir(&archive, "twice", 0755);
	struct hash tree = read_it(fixture, &archive, &report);
	assert_content(fixture, &tree, "file", "new");
	assert_int_equal(assert_found(fixture, &tree, "dir").mode, 0700);
	assert_content(fixture, &tree, "dir/stays", "text");
	assert_int_equal(assert_found(fixture, &tree, "was-dir").type, ENTRY_LINK);
	assert_int_equal(assert_found(fixture, &tree, "was-file").mode, 0711);
	assert_content(fixture, &tree, "was-file/new", "text");
	assert_int_equal(assert_found(fixture, &tree, "twice").content, ENTRY_EMPTY);
	assert_int_equal(count_of(fixture, &tree), 7);
	assert_int_equal(report.n_items, 0);
}

static void hard_links_share_an_entry_and_a_group(void **state)
{
	struct fixture *fixture = *state;
	owned(report_release) struct report report = REPORT_INIT;
	struct archive archive;

	archive_open(&archive);
	add_file(&archive, "d/a", "shared");
	add_hard_link(&archive, "b", "./d//a");
	add_hard_link(&archive, "e/c", "b");
	add_hard_link(&archive, "b", "b");
	/* If only one name of a link group is left, the file is no longer hard-linked. */
	add_file(&archive, "x", "alone");
	add_hard_link(&archive, "y/z", "x");
	add_file(&archive, "y", "in place of the other");
	/* Replacing one name does not change the other names. */
	add_file(&archive, "p", "kept");
	add_hard_link(&archive, "q", "p");
	add_hard_link(&archive, "r", "p");
	add_file(&archive, "p", "another");
	/* A link replaces the directory that contains its target. */
	add_file(&archive, "n/inside", "saved");
	add_hard_link(&archive, "n", "n/inside");
	struct hash tree = read_it(fixture, &archive, &report);
	uint64_t group = entry_path_hash(entry_path_hash(ENTRY_PATH_ROOT, STR("d")), STR("a")) +
			 entry_path_hash(ENTRY_PATH_ROOT, STR("b")) +
			 entry_path_hash(entry_path_hash(ENTRY_PATH_ROOT, STR("e")), STR("c"));

	assert_true(assert_found(fixture, &tree, "d/a").link == group);
	assert_true(assert_found(fixture, &tree, "b").link == group);
	assert_true(assert_found(fixture, &tree, "e/c").link == group);
	assert_content(fixture, &tree, "e/c", "shared");
	assert_int_equal(assert_found(fixture, &tree, "x").link, 0);
	assert_content(fixture, &tree, "q", "kept");
	assert_int_equal(assert_found(fixture, &tree, "p").link, 0);
	assert_true(assert_found(fixture, &tree, "q").link != 0);
	assert_true(
		assert_found(fixture, &tree, "q").link == assert_found(fixture, &tree, "r").link);
	assert_content(fixture, &tree, "n", "saved");
	assert_int_equal(assert_found(fixture, &tree, "n").link, 0);
	assert_int_equal(report.n_items, 0);
	struct hash back = there_and_back(fixture, &tree);
	assert_same_tree(&tree, &back);
}

/* --- hostile archives --- */

static void refuses_and_names_what_no_tree_can_hold(void **state)
{
	struct fixture *fixture = *state;
	owned(report_release) struct report report = REPORT_INIT;
	struct archive archive;
	char long_name[310], long_target[4200];
	static const char *const reasons[] = { "'..'", "'..'", "'..'", "no directory",
		"no directory", "no directory", "255", "255", "not come before", "not come before",
		"not come before", "to a directory", "'..'", "4095" };

	memset(long_name, 'n', 300);
	long_name[300] = '\0';
	memset(long_target, 't', 4100);
	long_target[4100] = '\0';
	archive_open(&archive);
	add_file(&archive, "good", "text");
	add_symlink(&archive, "link", "/etc");
	add_dir(&archive, "dir", 0755);
	add_file(&archive, "../../etc/passwd", "bad");
	add_file(&archive, "..", "bad");
	add_dir(&archive, "dir/../../x/", 0777);
	add_file(&archive, "link/passwd", "bad");
	add_file(&archive, "good/below/it", "bad");
	add_hard_link(&archive, "good/name", "good");
	add_file(&archive, long_name, "bad");
	strcat(long_name, "/below");
	add_file(&archive, long_name, "bad");
	add_hard_link(&archive, "nothing", "missing");
	add_hard_link(&archive, "made/for/nothing", "dir/missing");
	add_hard_link(&archive, "through", "link/passwd");
	add_hard_link(&archive, "to-dir", "dir");
	add_hard_link(&archive, "up", "../good");
	add_symlink(&archive, "long", long_target);
	add_file(&archive, "/absolute", "fine");
	struct hash tree = read_it(fixture, &archive, &report);
	assert_int_equal(report.count[REPORT_REFUSED], sizeof(reasons) / sizeof(reasons[0]));
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		assert_int_equal(report.items[i].kind, REPORT_REFUSED);
		if (!strstr(report.items[i].what, reasons[i]))
			fail_msg("%zu: %s", i, report.items[i].what);
	}
	assert_true(str_eq(report.items[0].path, STR("../../etc/passwd")));
	assert_string_equal(report_kind_name(REPORT_REFUSED), "refused");
	assert_content(fixture, &tree, "good", "text");
	assert_content(fixture, &tree, "absolute", "fine");
	assert_int_equal(count_of(fixture, &tree), 4);
}

static void too_many_attributes_refuse_the_member(void **state)
{
	struct fixture *fixture = *state;
	owned(report_release) struct report report = REPORT_INIT;
	struct tar_xattr xattrs[XATTRS_MAX + 1];
	static char names[XATTRS_MAX + 1][16];
	struct tar_member member = {
		.path = STR("file"),
		.mode = S_IFREG | 0644,
		.xattrs = xattrs,
		.n_xattrs = XATTRS_MAX + 1,
	};
	struct archive archive;

	for (size_t i = 0; i <= XATTRS_MAX; i++) {
		snprintf(names[i], sizeof(names[i]), "user.%zu", i);
		xattrs[i] = (struct tar_xattr){ str_of(names[i]), STR("value") };
	}
	archive_open(&archive);
	add(&archive, &member, NULL);
	member.path = STR("other");
	member.n_xattrs--;
	add(&archive, &member, NULL);
	struct hash tree = read_it(fixture, &archive, &report);
	assert_int_equal(report.count[REPORT_REFUSED], 1);
	assert_int_equal(count_of(fixture, &tree), 1);
	struct hash back = there_and_back(fixture, &tree);
	assert_same_tree(&tree, &back);
}

static void every_truncation_is_damage(void **state)
{
	struct fixture *fixture = *state;
	owned(report_release) struct report report = REPORT_INIT;
	static const char unset[HASH_SIZE] = { 0 };
	struct archive archive;
	struct hash tree = { 0 };

	archive_open(&archive);
	add_file(&archive, "a", "some text");
	add_dir(&archive, "dir", 0755);
	add_file(&archive, "dir/b", "other text");
	finish(&archive);
	for (off_t len = 5 * 512; len >= 0; len -= 256) {
		struct err err = { 0 };

		assert_int_equal(ftruncate(archive.fd, len), 0);
		assert_int_equal(lseek(archive.fd, 0, SEEK_SET), 0);
		assert_int_equal(tarball_read(fixture->store, archive.fd, &tree, &report, &err),
			-ERR_CORRUPT);
		assert_memory_equal(tree.bytes, unset, HASH_SIZE);
	}
	close(archive.fd);
}

static void nesting_has_a_limit(void **state)
{
	struct fixture *fixture = *state;
	owned(report_release) struct report report = REPORT_INIT;
	owned(buf_release) struct buf path = BUF_INIT;
	struct archive archive;
	struct hash tree;

	for (int i = 0; i < 16383; i++)
		buf_adds(&path, "d/");
	buf_adds(&path, "f");
	archive_open(&archive);
	add_file(&archive, path.data, "deep");
	tree = read_it(fixture, &archive, &report);
	assert_int_equal(count_of(fixture, &tree), 16384);
	assert_content(fixture, &tree, path.data, "deep");

	buf_adds(&path, "/g");
	archive_open(&archive);
	add_file(&archive, path.data, "too deep");
	finish(&archive);
	struct err err = { 0 };
	assert_int_equal(
		tarball_read(fixture->store, archive.fd, &tree, &report, &err), -ERR_LIMIT);
	close(archive.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture_test(an_archive_gives_the_tree_it_came_from),
		fixture_test(an_archive_by_gnu_tar_gives_the_tree_too),
		fixture_test(keeps_what_could_not_be_read_apart),
		fixture_test(says_what_an_archive_cannot_hold),
		fixture_test(an_empty_tree_is_an_archive_of_one_member),
		fixture_test(builds_a_directory_of_50000_names),
		fixture_test(a_time_no_tree_can_hold_becomes_the_nearest),
		fixture_test(makes_missing_parents),
		fixture_test(takes_paths_in_any_spelling),
		fixture_test(the_member_of_a_dot_is_the_root),
		fixture_test(later_members_replace_earlier_ones),
		fixture_test(hard_links_share_an_entry_and_a_group),
		fixture_test(refuses_and_names_what_no_tree_can_hold),
		fixture_test(too_many_attributes_refuse_the_member),
		fixture_test(every_truncation_is_damage),
		fixture_test(nesting_has_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
