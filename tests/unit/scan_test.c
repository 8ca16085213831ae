/* scan and ingest: the same files always give the same tree, and every change is noticed. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>

#include <cmocka.h>

#include "core/stub.h"
#include "store/chunk.h"
#include "tree/xattrs.h"

#include "tree_fixture.h"

#define MIB ((size_t)1 << 20)

/* Make a few files and directories with known times. */
static void fill(int fd)
{
	static const char *const dirs[] = { "a", "a/b", "a/b/c", "d", "empty" };
	static const char *const files[] = { "a/b/c/deep", "a/b/file", "a/one", "a/two", "d/other",
		"top", "nothing" };
	static const char *const all[] = { "a/b/c/deep", "a/b/file", "a/one", "a/two", "d/other",
		"top", "nothing", "link", "a/b/c", "a/b", "a", "d", "empty", "." };

	for (size_t i = 0; i < COUNT(dirs); i++)
		make(fd, dirs[i]);
	for (size_t i = 0; i < COUNT(files); i++)
		put(fd, files[i], !strcmp(files[i], "nothing") ? "" : files[i]);
	assert_int_equal(symlinkat("a/one", fd, "link"), 0);
	for (size_t i = 0; i < COUNT(all); i++)
		stamp(fd, all[i], OLD + (int64_t)i);
}

static void open_filled(struct live *live, struct fixture *fixture, const char *name)
{
	live_open(live, fixture, name);
	fill(live->fd);
}

/* --- nothing changed --- */

static void an_unchanged_tree_is_neither_read_nor_built_again(void **state)
{
	owned(live_close) struct live live;

	open_filled(&live, *state, "tree");
	settle();
	struct hash first = live_capture(&live);
	assert_int_equal(live.unhashed, 7);
	for (int i = 0; i < 3; i++) {
		struct hash again = live_capture(&live);

		assert_same_tree(&first, &again);
		assert_int_equal(live.unhashed, 0);
		assert_int_equal(live.dirty, 0);
		assert_int_equal(live_reported(&live), 0);
	}
	struct hash read = live_read(&live);
	assert_same_tree(&first, &read);
	assert_int_equal(tree_entry(*state, &first, "").count, 13);
	assert_text(*state, &first, "a/b/c/deep", "a/b/c/deep");
}

static void the_same_tree_elsewhere_has_the_same_hash(void **state)
{
	owned(live_close) struct live one, two;

	open_filled(&one, *state, "one");
	open_filled(&two, *state, "two");
	struct hash a = live_capture(&one), b = live_capture(&two);
	assert_same_tree(&a, &b);
}

/* --- changes --- */

static void change_content(int fd)
{
	int64_t mtime = mtime_of(fd, "a/one");

	put(fd, "a/one", "A/ONE"); /* the new content has the same length */
	stamp(fd, "a/one", mtime);
}

static void change_size(int fd)
{
	int64_t mtime = mtime_of(fd, "a/one");

	put(fd, "a/one", "longer than it was");
	stamp(fd, "a/one", mtime);
}

static void change_mtime(int fd)
{
	stamp(fd, "a/one", OLD + 12345);
}

static void change_mode(int fd)
{
	assert_int_equal(fchmodat(fd, "a/one", 0600, 0), 0);
}

static void change_owner(int fd)
{
	if (!getuid())
		assert_int_equal(fchownat(fd, "a/one", 1, 2, 0), 0);
	else
		change_mode(fd);
}

static void change_xattr(int fd)
{
	owned_fd int file = openat(fd, "a/one", O_RDWR | O_CLOEXEC);

	if (fsetxattr(file, "user.test", "v", 1, 0) < 0)
		change_mode(fd);
}

static void change_dir_xattr(int fd)
{
	owned_fd int dir = openat(fd, "a", O_RDONLY | O_CLOEXEC);

	if (fsetxattr(dir, "user.test", "v", 1, 0) < 0)
		change_mode(fd);
}

static void change_name(int fd)
{
	int64_t mtime = mtime_of(fd, "a");

	assert_int_equal(renameat(fd, "a/one", fd, "a/0ne"), 0);
	stamp(fd, "a", mtime);
}

static void change_new_file(int fd)
{
	int64_t mtime = mtime_of(fd, "a");

	put(fd, "a/zzz", "new");
	stamp(fd, "a/zzz", OLD);
	stamp(fd, "a", mtime);
}

static void change_new_dir(int fd)
{
	make(fd, "a/new");
	stamp(fd, "a", OLD);
}

static void change_deleted(int fd)
{
	int64_t mtime = mtime_of(fd, "a");

	assert_int_equal(unlinkat(fd, "a/one", 0), 0);
	stamp(fd, "a", mtime);
}

/* Delete the last name of a directory, and the only name of another one. */
static void change_deleted_last(int fd)
{
	int64_t mtime = mtime_of(fd, "a/b/c");

	assert_int_equal(unlinkat(fd, "a/b/c/deep", 0), 0);
	stamp(fd, "a/b/c", mtime);
}

static void change_deleted_dir(int fd)
{
	int64_t mtime = mtime_of(fd, ".");

	assert_int_equal(unlinkat(fd, "empty", AT_REMOVEDIR), 0);
	stamp(fd, ".", mtime);
}

static void change_target(int fd)
{
	int64_t mtime = mtime_of(fd, ".");

	assert_int_equal(unlinkat(fd, "link", 0), 0);
	assert_int_equal(symlinkat("a/two", fd, "link"), 0);
	stamp(fd, "link", OLD + 7);
	stamp(fd, ".", mtime);
}

static void change_dir_mtime(int fd)
{
	stamp(fd, "a/b/c", OLD + 12345);
}

static void change_dir_mode(int fd)
{
	assert_int_equal(fchmodat(fd, "a/b/c", 0700, 0), 0);
}

static void change_root_mode(int fd)
{
	assert_int_equal(fchmod(fd, 0711), 0);
}

static void change_to_dir(int fd)
{
	assert_int_equal(unlinkat(fd, "a/one", 0), 0);
	make(fd, "a/one");
	stamp(fd, "a/one", OLD);
	stamp(fd, "a", OLD);
}

static void change_to_file(int fd)
{
	assert_int_equal(unlinkat(fd, "empty", AT_REMOVEDIR), 0);
	put(fd, "empty", "");
	stamp(fd, "empty", OLD);
	stamp(fd, ".", OLD);
}

static void change_to_fifo(int fd)
{
	assert_int_equal(unlinkat(fd, "nothing", 0), 0);
	assert_int_equal(mknodat(fd, "nothing", S_IFIFO | 0644, 0), 0);
	stamp(fd, "nothing", OLD);
	stamp(fd, ".", OLD);
}

/* Move another file of the same size and time over a file. */
static void change_replaced(int fd)
{
	int64_t mtime = mtime_of(fd, "a/one"), dir = mtime_of(fd, "a");

	put(fd, "a/tmp", "A/ONE");
	stamp(fd, "a/tmp", mtime);
	assert_int_equal(renameat(fd, "a/tmp", fd, "a/one"), 0);
	stamp(fd, "a", dir);
}

static void change_swapped_dirs(int fd)
{
	assert_int_equal(renameat2(fd, "a/b", fd, "d", 1 << 1 /* RENAME_EXCHANGE */), 0);
}

static void sees_every_kind_of_change(void **state)
{
	static const struct {
		const char *what;
		void (*change)(int fd);
		size_t read; /* maximum number of files that are read */
	} cases[] = {
		{ "content", change_content, 1 },
		{ "size", change_size, 1 },
		{ "mtime", change_mtime, 1 },
		{ "mode", change_mode, 1 },
		{ "owner", change_owner, 1 },
		{ "xattr", change_xattr, 1 },
		{ "xattr of a directory", change_dir_xattr, 1 },
		{ "name", change_name, 1 },
		{ "a new file", change_new_file, 1 },
		{ "a new directory", change_new_dir, 0 },
		{ "a deleted file", change_deleted, 0 },
		{ "a directory's only file deleted", change_deleted_last, 0 },
		{ "a deleted directory", change_deleted_dir, 0 },
		{ "target", change_target, 0 },
		{ "mtime of a directory", change_dir_mtime, 0 },
		{ "mode of a directory", change_dir_mode, 0 },
		{ "mode of the root", change_root_mode, 0 },
		{ "a file that is now a directory", change_to_dir, 0 },
		{ "a directory that is now a file", change_to_file, 1 },
		{ "a file that is now a fifo", change_to_fifo, 0 },
		{ "another file in its place", change_replaced, 1 },
		{ "two directories exchanged", change_swapped_dirs, 3 },
	};
	struct live live[COUNT(cases)];
	struct hash before, after, read;

	for (size_t i = 0; i < COUNT(cases); i++) {
		char name[16];

		snprintf(name, sizeof(name), "tree%zu", i);
		open_filled(&live[i], *state, name);
	}
	settle();
	for (size_t i = 0; i < COUNT(cases); i++) {
		before = live_capture(&live[i]);
		cases[i].change(live[i].fd);
		after = live_capture(&live[i]);
		if (hash_eq(&before, &after) || live[i].unhashed > cases[i].read)
			print_error("%s\n", cases[i].what);
		assert_other_tree(&before, &after);
		assert_true(live[i].unhashed <= cases[i].read);
		assert_true(live[i].dirty > 0);
		assert_int_equal(live_reported(&live[i]), 0);
		read = live_read(&live[i]);
		assert_same_tree(&after, &read);
		live_close(&live[i]);
	}
}

/* Within one tick of the clock, a change may leave all times unchanged. */
static void sees_a_change_right_after_the_scan(void **state)
{
	owned(live_close) struct live live;

	live_open(&live, *state, "tree");
	for (char c = 'a'; c <= 'z'; c++) {
		char text[] = { c, c, c, '\0' };

		put(live.fd, "file", text);
		stamp(live.fd, "file", OLD);
		struct hash before = live_capture(&live);
		assert_text(*state, &before, "file", text);
		text[1] = '!';
		put(live.fd, "file", text);
		stamp(live.fd, "file", OLD);
		struct hash after = live_capture(&live);
		assert_text(*state, &after, "file", text);
	}
}

/* --- changes that a file system reports --- */

static uint64_t inode(int fd, const char *path)
{
	struct stat st;

	assert_int_equal(fstatat(fd, path, &st, AT_SYMLINK_NOFOLLOW), 0);
	return st.st_ino;
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Capture a tree.  The scan is told that these paths have changed, and no others. */
static struct hash capture_told(struct live *live, const char *const *paths, size_t n)
{
	uint64_t list[8];
	struct scan_inodes changed = { list, n };

	for (size_t i = 0; i < n; i++)
		list[i] = inode(live->fd, paths[i]);
	qsort(list, n, sizeof(*list), by_number);
	live->changed = &changed;
	struct hash tree = live_capture(live);
	live->changed = NULL;
	assert_int_equal(live_reported(live), 0);
	return tree;
}

static void told_what_changed_it_looks_at_nothing_else(void **state)
{
	owned(live_close) struct live live;

	open_filled(&live, *state, "tree");
	settle();
	struct hash first = live_capture(&live);
	put(live.fd, "a/b/c/deep", "changed");
	put(live.fd, "top", "changed");
	struct hash tree = capture_told(&live, NULL, 0);
	assert_same_tree(&first, &tree);
	/* The changed file is below directories that are not opened. */
	tree = capture_told(&live, (const char *[]){ "a/b/c/deep" }, 1);
	assert_text(*state, &tree, "a/b/c/deep", "changed");
	assert_text(*state, &tree, "top", "top");
	assert_int_equal(live.unhashed, 1);
	tree = capture_told(&live, (const char *[]){ "top" }, 1);
	struct hash read = live_read(&live);
	assert_same_tree(&read, &tree);
}

static void told_of_a_directory_it_lists_that(void **state)
{
	owned(live_close) struct live live;

	open_filled(&live, *state, "tree");
	settle();
	live_capture(&live);
	make(live.fd, "a/b/c/new");
	put(live.fd, "a/b/c/new/file", "new");
	assert_int_equal(unlinkat(live.fd, "a/b/c/deep", 0), 0);
	assert_int_equal(renameat(live.fd, "d", live.fd, "a/b/c/d"), 0);
	struct hash tree = capture_told(&live,
		(const char *[]){ ".", "a/b/c", "a/b/c/new", "a/b/c/new/file", "a/b/c/d" }, 5);
	struct hash read = live_read(&live);
	assert_same_tree(&read, &tree);
	/* A further capture works from that state. */
	put(live.fd, "a/b/c/d/other", "changed");
	tree = capture_told(&live, (const char *[]){ "a/b/c/d/other" }, 1);
	read = live_read(&live);
	assert_same_tree(&read, &tree);
}

/* --- hard links --- */

static void link_to(int fd, const char *from, const char *to)
{
	assert_int_equal(linkat(fd, from, fd, to, 0), 0);
}

static void a_link_group_does_not_depend_on_how_it_was_made(void **state)
{
	owned(live_close) struct live one, two;
	struct fixture *fixture = *state;

	live_open(&one, fixture, "one");
	live_open(&two, fixture, "two");
	make(one.fd, "x");
	make(one.fd, "y");
	put(one.fd, "x/a", "linked");
	put(one.fd, "p", "pair");
	link_to(one.fd, "x/a", "y/b");
	link_to(one.fd, "x/a", "c");
	link_to(one.fd, "p", "q");

	make(two.fd, "y");
	put(two.fd, "q", "pair");
	link_to(two.fd, "q", "p");
	put(two.fd, "c", "linked");
	link_to(two.fd, "c", "y/b");
	make(two.fd, "x");
	link_to(two.fd, "y/b", "x/a");
	struct live *both[] = { &one, &two };
	static const char *const names[] = { "c", "p", "x", "y", "." };
	for (size_t i = 0; i < 2; i++)
		for (size_t k = 0; k < COUNT(names); k++)
			stamp(both[i]->fd, names[k], OLD);

	struct hash a = live_capture(&one), b = live_capture(&two);
	assert_same_tree(&a, &b);
	struct entry c = tree_entry(fixture, &a, "c"), xa = tree_entry(fixture, &a, "x/a");
	struct entry yb = tree_entry(fixture, &a, "y/b"), p = tree_entry(fixture, &a, "p");
	assert_true(c.link != 0);
	assert_int_equal(c.link, xa.link);
	assert_int_equal(c.link, yb.link);
	assert_true(p.link != 0);
	assert_int_not_equal(c.link, p.link);
}

static void a_link_from_outside_the_tree_does_not_count(void **state)
{
	owned(live_close) struct live live;
	struct fixture *fixture = *state;

	live_open(&live, fixture, "tree");
	put(live.fd, "file", "content");
	stamp(live.fd, ".", OLD);
	struct hash alone = live_capture(&live);
	assert_int_equal(linkat(live.fd, "file", fixture->rootfd, "outside", 0), 0);
	struct hash linked = live_capture(&live);
	assert_same_tree(&alone, &linked);
	assert_int_equal(tree_entry(fixture, &linked, "file").link, 0);
}

static void every_name_shows_that_its_group_changed(void **state)
{
	owned(live_close) struct live live;
	struct fixture *fixture = *state;

	live_open(&live, fixture, "tree");
	make(live.fd, "x");
	make(live.fd, "y");
	put(live.fd, "x/a", "linked");
	link_to(live.fd, "x/a", "y/b");
	settle();
	struct hash two = live_capture(&live);
	uint64_t group = tree_entry(fixture, &two, "x/a").link;
	assert_true(group != 0);

	/*
	 * If a parent directory is renamed, the number of the link group changes, even if nothing
	 * else has changed.
	 */
	assert_int_equal(renameat(live.fd, "y", live.fd, "z"), 0);
	struct hash renamed = live_capture(&live);
	struct hash read = live_read(&live);
	assert_same_tree(&renamed, &read);
	assert_int_not_equal(tree_entry(fixture, &renamed, "x/a").link, group);
	assert_int_equal(tree_entry(fixture, &renamed, "x/a").link,
		tree_entry(fixture, &renamed, "z/b").link);

	link_to(live.fd, "x/a", "c");
	struct hash three = live_capture(&live);
	read = live_read(&live);
	assert_same_tree(&three, &read);
	assert_int_equal(
		tree_entry(fixture, &three, "c").link, tree_entry(fixture, &three, "z/b").link);

	assert_int_equal(unlinkat(live.fd, "c", 0), 0);
	assert_int_equal(unlinkat(live.fd, "z/b", 0), 0);
	struct hash one = live_capture(&live);
	read = live_read(&live);
	assert_same_tree(&one, &read);
	assert_int_equal(tree_entry(fixture, &one, "x/a").link, 0);
}

static void other_things_than_files_may_be_linked_too(void **state)
{
	owned(live_close) struct live live;
	struct fixture *fixture = *state;

	live_open(&live, fixture, "tree");
	assert_int_equal(symlinkat("target", live.fd, "link"), 0);
	assert_int_equal(mknodat(live.fd, "fifo", S_IFIFO | 0600, 0), 0);
	link_to(live.fd, "link", "link2");
	link_to(live.fd, "fifo", "fifo2");
	struct hash tree = live_capture(&live);
	assert_true(tree_entry(fixture, &tree, "link").link != 0);
	assert_int_equal(
		tree_entry(fixture, &tree, "fifo").link, tree_entry(fixture, &tree, "fifo2").link);
}

/* --- files that are left out --- */

static void leaves_out_what_is_mounted(void **state)
{
	struct fixture *fixture = *state;
	owned(live_close) struct live live;
	char path[400];

	need_root();
	live_open(&live, fixture, "tree");
	make(live.fd, "mount");
	put(live.fd, "mount/below", "hidden");
	put(live.fd, "file", "content");
	/* Use a mount namespace of this process's own, so that the mount needs no clean-up. */
	snprintf(path, sizeof(path), "%s/tree", fixture->path);
	if (unshare(CLONE_NEWNS) < 0 || mount("", "/", "", MS_REC | MS_PRIVATE, NULL) < 0) {
		printf("# skip: mounting is not allowed here\n");
		skip();
	}
	close(live.fd);
	live.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(path, sizeof(path), "%s/tree/mount", fixture->path);
	assert_int_equal(mount("tmpfs", path, "tmpfs", 0, "size=1m"), 0);
	put(live.fd, "mount/inside", "elsewhere");
	struct hash tree = live_capture(&live), again = live_capture(&live);
	assert_same_tree(&tree, &again);
	assert_true(live_has_report(&live, REPORT_LEFT_OUT, "mount"));
	assert_text(fixture, &tree, "file", "content");
	struct entry mount_point = tree_entry(fixture, &tree, "mount");
	assert_int_equal(mount_point.type, ENTRY_DIR);
	assert_int_equal(mount_point.content, ENTRY_EMPTY);
	assert_int_equal(umount2(path, MNT_DETACH), 0);
	tree = live_capture(&live);
	assert_text(fixture, &tree, "mount/below", "hidden");
	close_fd(&live.fd);
}

static void leaves_out_the_environment_itself(void **state)
{
	struct fixture *fixture = *state;
	owned(live_close) struct live live;
	struct stat st;

	live_open(&live, fixture, "tree");
	make(live.fd, "sub");
	make(live.fd, "sub/env");
	put(live.fd, "sub/env/file", "x");
	put(live.fd, "file", "x");
	assert_int_equal(fstatat(live.fd, "sub/env", &st, 0), 0);
	live.skip = (struct scan_skip){ major(st.st_dev), minor(st.st_dev), st.st_ino };
	live.n_skip = 1;
	settle();
	struct hash tree = live_capture(&live), again = live_capture(&live);
	struct entry entry;
	assert_same_tree(&tree, &again);
	assert_int_equal(live.dirty, 0);
	assert_false(tree_find(fixture, &tree, "sub/env", &entry));
	assert_true(tree_find(fixture, &tree, "sub", &entry));
	assert_int_equal(entry.count, 0);
}

static void leaves_out_what_is_excluded(void **state)
{
	static const char *const patterns[] = { "*.o", "build", "a/secret", "x/**/y" };
	static const struct {
		const char *path;
		bool there;
	} paths[] = { { "a", true }, { "a/main.c", true }, { "a/main.o", false },
		{ "main.o", false }, { "build", false }, { "a/build", false },
		{ "a/secret", false }, { "secret", true }, { "x/1/y", false }, { "x/1/2/y", false },
		{ "x/1/z", true } };
	struct fixture *fixture = *state;
	owned(live_close) struct live live;
	struct entry entry;

	live_open(&live, fixture, "tree");
	make(live.fd, "a");
	make(live.fd, "build");
	make(live.fd, "a/build");
	make(live.fd, "x");
	make(live.fd, "x/1");
	make(live.fd, "x/1/2");
	put(live.fd, "build/file", "x");
	put(live.fd, "a/build/file", "x");
	for (size_t i = 0; i < COUNT(paths); i++)
		if (!is_there(live.fd, paths[i].path))
			put(live.fd, paths[i].path, "x");
	live.exclude = patterns;
	live.n_exclude = COUNT(patterns);
	struct hash tree = live_capture(&live);
	for (size_t i = 0; i < COUNT(paths); i++)
		assert_int_equal(tree_find(fixture, &tree, paths[i].path, &entry), paths[i].there);
	/*
	 * When the patterns are removed, the files appear in the tree, although nothing on disk has
	 * changed.
	 */
	live.n_exclude = 0;
	tree = live_capture(&live);
	for (size_t i = 0; i < COUNT(paths); i++)
		assert_true(tree_find(fixture, &tree, paths[i].path, &entry));
	struct hash read = live_read(&live);
	assert_same_tree(&tree, &read);
}

/* --- files that cannot be read --- */

static int mark_stub(int dir, const char *name)
{
	owned_fd int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);

	return stub_mark(fd);
}

static void leaves_out_stubs_and_nothing_that_looks_like_one(void **state)
{
	const struct timespec times[] = { { .tv_nsec = UTIME_OMIT }, { STUB_SECOND, 0 } };
	owned(live_close) struct live live;

	open_filled(&live, *state, "tree");
	put(live.fd, "a/stub", "");
	put(live.fd, "a/plain", "");
	put(live.fd, "a/written", "");
	make(live.fd, "a/stubs");
	make(live.fd, "a/used");
	owned_fd int dir = openat(live.fd, "a", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(utimensat(dir, "plain", times, 0), 0);
	if (mark_stub(dir, "stub") == -EOPNOTSUPP) {
		print_message("skipped: no user attributes here\n");
		skip();
	}
	assert_int_equal(mark_stub(dir, "written"), 0);
	assert_int_equal(mark_stub(dir, "stubs"), 0);
	assert_int_equal(mark_stub(dir, "used"), 0);
	put(live.fd, "a/written", "x");
	put(live.fd, "a/used/file", "x");
	struct hash tree = live_capture(&live);
	assert_int_equal(tree_entry(*state, &tree, "").count, 17);
	assert_int_equal(tree_entry(*state, &tree, "a/plain").size, 0);
	/* A stub that a program has used counts as an ordinary file, and has no mark. */
	assert_int_equal(tree_entry(*state, &tree, "a/written").size, 1);
	struct entry written = tree_entry(*state, &tree, "a/written");
	assert_true(hash_is_none(&written.xattrs));
	assert_int_equal(tree_entry(*state, &tree, "a/used/file").size, 1);
	/* The stubs stay, since programs may need them. */
	assert_int_equal(faccessat(dir, "stub", F_OK, 0), 0);
	stub_remove(dir, "stub");
	stub_remove(dir, "stubs");
	stub_remove(dir, "plain");
	stub_remove(dir, "written");
	stub_remove(dir, "used");
	assert_int_equal(faccessat(dir, "stub", F_OK, 0), -1);
	assert_int_equal(faccessat(dir, "stubs", F_OK, 0), -1);
	assert_int_equal(faccessat(dir, "plain", F_OK, 0), 0);
	assert_int_equal(faccessat(dir, "written", F_OK, 0), 0);
	assert_int_equal(faccessat(dir, "used/file", F_OK, 0), 0);
}

static void what_cannot_be_read_is_recorded_as_that(void **state)
{
	struct fixture *fixture = *state;
	owned(live_close) struct live live;

	become_user(fixture);
	open_filled(&live, fixture, "tree");
	assert_int_equal(fchmodat(live.fd, "a/one", 0, 0), 0);
	assert_int_equal(fchmodat(live.fd, "a/b", 0, 0), 0);
	settle();
	for (int i = 0; i < 2; i++) {
		struct hash tree = live_capture(&live);

		assert_int_equal(live.report.count[REPORT_UNREADABLE], 2);
		assert_true(live_has_report(&live, REPORT_UNREADABLE, "a/one"));
		assert_true(live_has_report(&live, REPORT_UNREADABLE, "a/b"));
		struct entry file = tree_entry(fixture, &tree, "a/one");
		struct entry dir = tree_entry(fixture, &tree, "a/b");
		assert_int_equal(file.content, ENTRY_UNREAD);
		assert_int_equal(file.size, 5);
		assert_int_equal(dir.content, ENTRY_UNREAD);
		assert_text(fixture, &tree, "a/two", "a/two");
	}
	/* Make the files readable again. */
	assert_int_equal(fchmodat(live.fd, "a/one", 0644, 0), 0);
	assert_int_equal(fchmodat(live.fd, "a/b", 0755, 0), 0);
	struct hash tree = live_capture(&live);
	assert_int_equal(live_reported(&live), 0);
	assert_text(fixture, &tree, "a/one", "a/one");
	assert_text(fixture, &tree, "a/b/c/deep", "a/b/c/deep");
	struct hash read = live_read(&live);
	assert_same_tree(&tree, &read);
}

/* The files have not changed, but another user reads them now. */
static void what_another_can_read_is_read_by_him(void **state)
{
	struct fixture *fixture = *state;
	owned(live_close) struct live live;

	need_root();
	become_user(fixture);
	open_filled(&live, fixture, "tree");
	assert_int_equal(fchmodat(live.fd, "a/one", 0, 0), 0);
	assert_int_equal(fchmodat(live.fd, "a/b", 0, 0), 0);
	settle();
	struct hash unread = live_capture(&live);
	assert_int_equal(tree_entry(fixture, &unread, "a/one").content, ENTRY_UNREAD);
	assert_int_equal(seteuid(0), 0);
	struct hash tree = live_capture(&live);
	assert_int_equal(live_reported(&live), 0);
	assert_text(fixture, &tree, "a/one", "a/one");
	assert_text(fixture, &tree, "a/b/file", "a/b/file");
}

/* --- a file that changes all the time --- */

struct writer {
	int fd;
	size_t block, most;
	atomic_bool stop;
};

static void pattern(char *bytes, size_t len, uint64_t offset)
{
	for (size_t i = 0; i < len; i++)
		bytes[i] = (char)((offset + i) % 251);
}

static void *append(void *arg)
{
	struct writer *writer = arg;
	owned_mem char *bytes = mem_alloc(writer->block);

	for (size_t at = 0; !writer->stop && at < writer->most; at += writer->block) {
		off_t end = lseek(writer->fd, 0, SEEK_END);

		pattern(bytes, writer->block, (uint64_t)end);
		(void)at_pwrite_all(writer->fd, bytes, writer->block, (uint64_t)end);
	}
	return NULL;
}

static void a_growing_file_is_kept_as_it_was_at_some_moment(void **state)
{
	static const struct {
		size_t start, block;
	} cases[] = { { 3 * MIB, 64 << 10 }, { 300000, 1 }, { 100, 7 } };
	struct fixture *fixture = *state;

	for (size_t i = 0; i < COUNT(cases); i++) {
		char name[16];
		owned(live_close) struct live live;
		owned(buf_release) struct buf bytes = BUF_INIT;
		owned_mem char *want = mem_alloc(cases[i].start);
		pthread_t thread;

		snprintf(name, sizeof(name), "tree%zu", i);
		live_open(&live, fixture, name);
		pattern(want, cases[i].start, 0);
		put_bytes(live.fd, "growing", want, cases[i].start);
		struct writer writer = { .block = cases[i].block, .most = 24 * MIB };
		writer.fd = openat(live.fd, "growing", O_RDWR | O_CLOEXEC);
		assert_int_equal(pthread_create(&thread, NULL, append, &writer), 0);
		usleep(2000);
		struct hash tree = live_capture(&live);
		writer.stop = true;
		pthread_join(thread, NULL);
		close(writer.fd);

		struct entry entry = tree_entry(fixture, &tree, "growing");
		/*
		 * In most cases the file is reported as changing.  Rarely it is read completely
		 * between two writes.
		 */
		assert_int_equal(live_reported(&live), live.report.count[REPORT_CHANGING]);
		assert_int_not_equal(entry.content, ENTRY_UNREAD);
		assert_true(entry.size >= cases[i].start);
		assert_ok(fixture,
			content_load(fixture->store, &entry, UINT64_MAX, &bytes, &fixture->err));
		assert_int_equal(bytes.len, entry.size);
		for (size_t k = 0; k < bytes.len; k++)
			if (bytes.data[k] != (char)(k % 251))
				fail_msg("wrong byte at %zu", k);
		/* When the file no longer changes, it is read completely. */
		tree = live_capture(&live);
		struct hash read = live_read(&live);
		assert_same_tree(&tree, &read);
		assert_int_equal(live_reported(&live), 0);
	}
}

/* --- sizes and shapes --- */

static void holes_stay_holes(void **state)
{
	struct fixture *fixture = *state;
	owned(live_close) struct live live;
	struct stat st;

	live_open(&live, fixture, "tree");
	owned_fd int fd = openat(live.fd, "sparse", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	assert_int_equal(ftruncate(fd, (off_t)(1000 * MIB)), 0);
	assert_int_equal(at_pwrite_all(fd, "middle", 6, 500 * MIB), 0);
	assert_int_equal(fstat(fd, &st), 0);
	if (st.st_blocks > 2048) {
		printf("# skip: no sparse files on this file system\n");
		skip();
	}
	struct hash tree = live_capture(&live);
	struct entry entry = tree_entry(fixture, &tree, "sparse");
	assert_int_equal(entry.content, ENTRY_CHUNKS);
	assert_int_equal(entry.size, 1000 * MIB);
	assert_true(store_added(fixture->store).raw_bytes < MIB);
	owned(live_close) struct live copy;
	live_open(&copy, fixture, "copy");
	live_apply(&copy, NULL, &tree);
	assert_int_equal(fstatat(copy.fd, "sparse", &st, 0), 0);
	assert_int_equal(st.st_size, 1000 * MIB);
	assert_true(st.st_blocks < 2048);
	struct hash back = live_read(&copy);
	assert_same_tree(&tree, &back);
}

static void files_of_every_size_around_the_limits(void **state)
{
	static const size_t sizes[] = { 0, 1, 4095, CHUNK_WHOLE - 1, CHUNK_WHOLE, CHUNK_WHOLE + 1,
		CHUNK_MAX, 2 * CHUNK_MAX + 1 };
	struct fixture *fixture = *state;
	owned(live_close) struct live live;

	live_open(&live, fixture, "tree");
	for (size_t i = 0; i < COUNT(sizes); i++) {
		owned_mem char *bytes = fixture_noise(sizes[i], i);
		char name[16];

		snprintf(name, sizeof(name), "%zu", sizes[i]);
		put_bytes(live.fd, name, bytes, sizes[i]);
	}
	struct hash tree = live_capture(&live);
	for (size_t i = 0; i < COUNT(sizes); i++) {
		owned_mem char *bytes = fixture_noise(sizes[i], i);
		owned(buf_release) struct buf back = BUF_INIT;
		char name[16];

		snprintf(name, sizeof(name), "%zu", sizes[i]);
		struct entry entry = tree_entry(fixture, &tree, name);
		assert_int_equal(entry.size, sizes[i]);
		assert_int_equal(entry.content, !sizes[i]                 ? ENTRY_EMPTY
						: sizes[i] <= CHUNK_WHOLE ? ENTRY_BLOB
									  : ENTRY_CHUNKS);
		assert_ok(fixture,
			content_load(fixture->store, &entry, UINT64_MAX, &back, &fixture->err));
		assert_int_equal(back.len, sizes[i]);
		if (sizes[i])
			assert_memory_equal(back.data, bytes, sizes[i]);
	}
}

static void goes_down_1200_levels(void **state)
{
	struct fixture *fixture = *state;
	owned(live_close) struct live live;
	owned(buf_release) struct buf path = BUF_INIT;

	live_open(&live, fixture, "tree");
	int below = fcntl(live.fd, F_DUPFD_CLOEXEC, 0);
	for (int i = 0; i < 1200; i++) {
		make(below, "level");
		int next = openat(below, "level", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		assert_true(next >= 0);
		put(next, "file", i % 7 ? "same" : "other");
		close(below);
		below = next;
		buf_adds(&path, "level/");
	}
	settle();
	struct hash tree = live_capture(&live);
	assert_int_equal(tree_entry(fixture, &tree, "").count, 2400);
	buf_adds(&path, "file");
	assert_text(fixture, &tree, path.data, "same");
	struct hash again = live_capture(&live);
	assert_same_tree(&tree, &again);
	assert_int_equal(live.dirty, 0);
	put(below, "file", "at the bottom");
	close(below);
	again = live_capture(&live);
	assert_int_equal(live.unhashed, 1);
	assert_int_equal(live.dirty, 1202);
	assert_text(fixture, &again, path.data, "at the bottom");
}

static void a_directory_may_have_50000_entries(void **state)
{
	struct fixture *fixture = *state;
	owned(live_close) struct live live;
	char name[16];

	live_open(&live, fixture, "tree");
	make(live.fd, "many");
	for (int i = 0; i < 50000; i++) {
		snprintf(name, sizeof(name), "many/%05d", i * 7919 % 50000);
		/*
		 * Most entries are FIFOs, since the test is about many names and not about
		 * contents.
		 */
		if (i % 100)
			assert_int_equal(mknodat(live.fd, name, S_IFIFO | 0644, 0), 0);
		else
			put(live.fd, name, name);
	}
	settle();
	struct hash tree = live_capture(&live);
	assert_int_equal(tree_entry(fixture, &tree, "many").count, 50000);
	assert_text(fixture, &tree, "many/00000", "many/00000");
	struct hash again = live_capture(&live);
	assert_same_tree(&tree, &again);
	assert_int_equal(live.unhashed, 0);
	assert_int_equal(unlinkat(live.fd, "many/49999", 0), 0);
	put(live.fd, "many/00000", "changed");
	again = live_capture(&live);
	assert_int_equal(live.unhashed, 1);
	assert_int_equal(tree_entry(fixture, &again, "many").count, 49999);
	assert_text(fixture, &again, "many/00000", "changed");
}

static void names_may_be_any_bytes(void **state)
{
	struct fixture *fixture = *state;
	owned(live_close) struct live live;
	char longest[ENTRY_NAME_MAX + 1];

	live_open(&live, fixture, "tree");
	memset(longest, 'n', ENTRY_NAME_MAX);
	longest[ENTRY_NAME_MAX] = '\0';
	const char *names[] = { "\xff\xfe", "new\nline", " ", "...", "-", "\x01", longest, "\\" };
	for (size_t i = 0; i < COUNT(names); i++)
		put(live.fd, names[i], "x");
	struct hash tree = live_capture(&live);
	for (size_t i = 0; i < COUNT(names); i++)
		assert_text(fixture, &tree, names[i], "x");
	assert_int_equal(tree_entry(fixture, &tree, "").count, COUNT(names));
}

static void devices_and_sockets_are_entries_too(void **state)
{
	struct fixture *fixture = *state;
	owned(live_close) struct live live;

	live_open(&live, fixture, "tree");
	assert_int_equal(mknodat(live.fd, "fifo", S_IFIFO | 0640, 0), 0);
	assert_int_equal(mknodat(live.fd, "socket", S_IFSOCK | 0600, 0), 0);
	bool device = mknodat(live.fd, "char", S_IFCHR | 0600, makedev(300, 70000)) == 0;
	struct hash tree = live_capture(&live);
	assert_int_equal(tree_entry(fixture, &tree, "fifo").type, ENTRY_FIFO);
	assert_int_equal(tree_entry(fixture, &tree, "fifo").mode, 0640);
	assert_int_equal(tree_entry(fixture, &tree, "socket").type, ENTRY_SOCKET);
	if (device) {
		assert_int_equal(tree_entry(fixture, &tree, "char").major, 300);
		assert_int_equal(tree_entry(fixture, &tree, "char").minor, 70000);
	}
}

/* --- the index is only a cache --- */

#define BOOT_OFFSET 16 /* offset of the boot id in the file */

static void flip(struct live *live, off_t offset)
{
	owned_fd int fd = openat(live->fixture->rootfd, live->index, O_RDWR | O_CLOEXEC);
	uint8_t byte;

	assert_int_equal(pread(fd, &byte, 1, offset), 1);
	byte ^= 0x55;
	assert_int_equal(pwrite(fd, &byte, 1, offset), 1);
}

static off_t index_size(struct live *live)
{
	struct stat st;

	assert_int_equal(fstatat(live->fixture->rootfd, live->index, &st, 0), 0);
	return st.st_size;
}

static void lose(struct live *live)
{
	assert_int_equal(unlinkat(live->fixture->rootfd, live->index, 0), 0);
}

static void empty(struct live *live)
{
	put(live->fixture->rootfd, live->index, "");
}

static void cut_in_half(struct live *live)
{
	owned_fd int fd = openat(live->fixture->rootfd, live->index, O_RDWR | O_CLOEXEC);

	assert_int_equal(ftruncate(fd, index_size(live) / 2), 0);
}

static void cut_one_byte(struct live *live)
{
	owned_fd int fd = openat(live->fixture->rootfd, live->index, O_RDWR | O_CLOEXEC);

	assert_int_equal(ftruncate(fd, index_size(live) - 1), 0);
}

static void damage_magic(struct live *live)
{
	flip(live, 3);
}

/*
 * Damage a record, and set another boot id.  After a power cut, any part of the index may be torn.
 */
static void tear_a_record(struct live *live)
{
	flip(live, BOOT_OFFSET);
	flip(live, 200);
}

static void tear_the_rows(struct live *live)
{
	flip(live, BOOT_OFFSET);
	flip(live, index_size(live) - 20);
}

static void tear_a_page(struct live *live)
{
	owned_fd int fd = openat(live->fixture->rootfd, live->index, O_RDWR | O_CLOEXEC);
	char zeros[4096] = "";

	flip(live, BOOT_OFFSET);
	assert_int_equal(at_pwrite_all(fd, zeros, sizeof(zeros), 96), 0);
}

static void reads_all_again_when_the_index_is_lost_or_damaged(void **state)
{
	static void (*const damages[])(struct live *) = { lose, empty, cut_in_half, cut_one_byte,
		damage_magic, tear_a_record, tear_the_rows, tear_a_page };
	owned(live_close) struct live live;

	open_filled(&live, *state, "tree");
	settle();
	struct hash tree = live_capture(&live);
	for (size_t i = 0; i < COUNT(damages); i++) {
		damages[i](&live);
		struct hash again = live_capture(&live);

		assert_same_tree(&tree, &again);
		assert_int_equal(live.unhashed, 7);
		again = live_capture(&live);
		assert_same_tree(&tree, &again);
		assert_int_equal(live.unhashed, 0);
	}
}

static void an_intact_index_of_another_boot_is_good(void **state)
{
	owned(live_close) struct live live;

	open_filled(&live, *state, "tree");
	settle();
	struct hash tree = live_capture(&live);
	flip(&live, BOOT_OFFSET);
	struct hash again = live_capture(&live);
	assert_same_tree(&tree, &again);
	assert_int_equal(live.unhashed, 0);
}

/* --- properties that this machine cannot express --- */

/*
 * Make a tree with owners that this user may not set, a device, attributes, and a file with unknown
 * content.
 */
static struct hash foreign_tree(struct fixture *fixture)
{
	static const struct xattr attribute = { STR("trusted.test"), STR("value") };
	owned(buf_release) struct buf xattrs = BUF_INIT;
	struct xattr list[] = { attribute };
	struct entry inside[] = { built_file(fixture, "inside", "of another") };
	struct entry entries[] = {
		built_file(fixture, "attributes", "with trusted ones"),
		{ .name = STR("char"), .type = ENTRY_CHAR, .mode = 0620, .major = 4, .minor = 5 },
		built_dir(fixture, "dir", inside, 1),
		built_file(fixture, "file", "content"),
		{ .name = STR("link"),
			.type = ENTRY_LINK,
			.target = STR("t"),
			.size = 1,
			.mode = 0777 },
		built_file(fixture, "mine", "plain"),
		{ .name = STR("unread"),
			.type = ENTRY_FILE,
			.content = ENTRY_UNREAD,
			.size = 99,
			.mode = 0600 },
		{ .name = STR("unread-dir"),
			.type = ENTRY_DIR,
			.content = ENTRY_UNREAD,
			.mode = 0700 },
	};

	xattrs_encode(list, 1, &xattrs);
	assert_ok(fixture, store_put(fixture->store, OBJECT_XATTRS, xattrs.data, xattrs.len,
				   &entries[0].xattrs, &fixture->err));
	entries[2].uid = entries[2].gid = 777;
	entries[3].uid = 12345;
	entries[3].gid = 23456;
	entries[3].mode = 04755;
	entries[4].uid = 888;
	return built_tree(fixture, entries, COUNT(entries));
}

static void what_an_ordinary_user_restored_is_still_that_tree(void **state)
{
	struct fixture *fixture = *state;
	owned(live_close) struct live live;

	become_user(fixture);
	struct hash tree = foreign_tree(fixture);
	live_open(&live, fixture, "tree");
	struct hash now = live_become(&live, NULL, &tree);
	assert_same_tree(&tree, &now);
	assert_true(live.report.count[REPORT_LOGICAL] > 0);
	struct stat st;
	assert_int_equal(fstatat(live.fd, "file", &st, 0), 0);
	assert_int_equal(st.st_uid, geteuid());
	/* Further captures, at once and later, give the same tree. */
	now = live_capture(&live);
	assert_same_tree(&tree, &now);
	settle();
	live_capture(&live);
	now = live_capture(&live);
	assert_same_tree(&tree, &now);
	assert_int_equal(live.dirty, 0);
}

static void what_is_changed_there_keeps_what_was_not(void **state)
{
	struct fixture *fixture = *state;
	owned(live_close) struct live live;
	struct entry entry;

	become_user(fixture);
	struct hash tree = foreign_tree(fixture);
	live_open(&live, fixture, "tree");
	live_become(&live, NULL, &tree);
	put(live.fd, "file", "changed");
	assert_int_equal(fchmodat(live.fd, "dir/inside", 0600, 0), 0);
	put(live.fd, "dir/new", "new");
	put(live.fd, "char", "not a device any more");
	struct hash now = live_capture(&live);
	assert_text(fixture, &now, "file", "changed");
	entry = tree_entry(fixture, &now, "file");
	assert_int_equal(entry.uid, 12345);
	assert_int_equal(entry.gid, 23456);
	entry = tree_entry(fixture, &now, "dir");
	assert_int_equal(entry.uid, 777);
	assert_int_equal(entry.count, 2);
	assert_int_equal(tree_entry(fixture, &now, "dir/inside").mode, 0600);
	assert_text(fixture, &now, "char", "not a device any more");
	assert_int_equal(tree_entry(fixture, &now, "link").uid, 888);
	entry = tree_entry(fixture, &now, "attributes");
	assert_false(hash_is_none(&entry.xattrs));
	assert_int_equal(tree_entry(fixture, &now, "unread").content, ENTRY_UNREAD);
	assert_int_equal(tree_entry(fixture, &now, "unread").size, 99);
	/* Turn the directory into the old tree again. */
	now = live_become(&live, &now, &tree);
	assert_same_tree(&tree, &now);
}

static void what_gets_content_is_no_longer_unread(void **state)
{
	struct fixture *fixture = *state;
	owned(live_close) struct live live;

	become_user(fixture);
	struct hash tree = foreign_tree(fixture);
	live_open(&live, fixture, "tree");
	live_become(&live, NULL, &tree);
	put(live.fd, "unread", "now known");
	put(live.fd, "unread-dir/new", "new");
	struct hash now = live_capture(&live);
	assert_text(fixture, &now, "unread", "now known");
	assert_int_equal(tree_entry(fixture, &now, "unread-dir").content, ENTRY_TREE);
	/* The files stay, although the old tree is wanted.  It has no content for them. */
	live_become(&live, &now, &tree);
	assert_holds(live.fd, "unread", "now known");
	assert_holds(live.fd, "unread-dir/new", "new");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		tree_test(an_unchanged_tree_is_neither_read_nor_built_again),
		tree_test(the_same_tree_elsewhere_has_the_same_hash),
		tree_test(sees_every_kind_of_change),
		tree_test(sees_a_change_right_after_the_scan),
		tree_test(told_what_changed_it_looks_at_nothing_else),
		tree_test(told_of_a_directory_it_lists_that),
		tree_test(a_link_group_does_not_depend_on_how_it_was_made),
		tree_test(a_link_from_outside_the_tree_does_not_count),
		tree_test(every_name_shows_that_its_group_changed),
		tree_test(other_things_than_files_may_be_linked_too),
		tree_test(leaves_out_what_is_mounted),
		tree_test(leaves_out_the_environment_itself),
		tree_test(leaves_out_what_is_excluded),
		tree_test(leaves_out_stubs_and_nothing_that_looks_like_one),
		tree_test(what_cannot_be_read_is_recorded_as_that),
		tree_test(what_another_can_read_is_read_by_him),
		tree_test(a_growing_file_is_kept_as_it_was_at_some_moment),
		tree_test(holes_stay_holes),
		tree_test(files_of_every_size_around_the_limits),
		tree_test(goes_down_1200_levels),
		tree_test(a_directory_may_have_50000_entries),
		tree_test(names_may_be_any_bytes),
		tree_test(devices_and_sockets_are_entries_too),
		tree_test(reads_all_again_when_the_index_is_lost_or_damaged),
		tree_test(an_intact_index_of_another_boot_is_good),
		tree_test(what_an_ordinary_user_restored_is_still_that_tree),
		tree_test(what_is_changed_there_keeps_what_was_not),
		tree_test(what_gets_content_is_no_longer_unread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
