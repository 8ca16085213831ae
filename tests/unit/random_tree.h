/*
 * random_tree - makes small random trees with all kinds of entries.  The same number gives the same
 * tree.
 *
 * Include after <cmocka.h>.
 */
#pragma once
#include "tree_fixture.h"

static uint64_t seed;

static inline unsigned roll(unsigned n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 33) % n;
}

static const mode_t file_modes[] = { 0644, 0600, 0755, 0444, 0400, 04755, 02711 };
static const mode_t dir_modes[] = { 0755, 0700, 0555, 0500, 01777, 02755 };

static inline void finish(int fd, const char *name, bool dir, bool link)
{
	if (!getuid() && !geteuid() && !roll(4))
		assert_int_equal(
			fchownat(fd, name, 1000 + roll(3), 2000 + roll(3), AT_SYMLINK_NOFOLLOW), 0);
	if (!link && !roll(5)) {
		char value = (char)('a' + roll(3));

		/* Some file systems have no extended attributes. */
		(void)at_xattr_set(fd, name, "user.test", &value, 1);
	}
	stamp(fd, name, OLD + (int64_t)roll(3) * SECOND + roll(2));
	if (!link)
		assert_int_equal(fchmodat(fd, name,
					 dir ? dir_modes[roll(COUNT(dir_modes))]
					     : file_modes[roll(COUNT(file_modes))],
					 0),
			0);
}

static inline void grow_file(int fd, const char *name)
{
	static const char *const texts[] = { "", "one", "two", "three", "four lines\n\n\n\n" };

	if (roll(12)) {
		put(fd, name, texts[roll(COUNT(texts))]);
		return;
	}
	owned_fd int sparse = openat(fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_int_equal(ftruncate(sparse, 1 << 20), 0);
	assert_int_equal(at_pwrite_all(sparse, "data", 4, roll(200) * 4096), 0);
}

/*
 * Fill a directory.  There are only a few names, so that the same name has different types in
 * different trees.
 */
static inline void grow(int top, int fd, unsigned depth)
{
	for (char c = 'a'; c <= 'g'; c++) {
		char name[] = { c, '\0' };

		switch (roll(depth < 2 ? 9 : 6)) {
		case 0:
			continue;
		case 1:
		case 2:
			grow_file(fd, name);
			finish(fd, name, false, false);
			break;
		case 3:
			assert_int_equal(symlinkat(roll(2) ? "a/b" : "no where", fd, name), 0);
			finish(fd, name, false, true);
			break;
		case 4:
			assert_int_equal(mknodat(fd, name, S_IFIFO | 0600, 0), 0);
			finish(fd, name, false, false);
			break;
		case 5: /* one of two link groups; their first names are removed at the end */
			assert_int_equal(linkat(top, roll(2) ? "link1" : "link2", fd, name, 0), 0);
			break;
		default:
			assert_int_equal(mkdirat(fd, name, 0700), 0);
			int below = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			grow(top, below, depth + 1);
			close(below);
			finish(fd, name, true, false);
		}
	}
}

static inline struct hash random_tree(struct fixture *fixture, unsigned number)
{
	owned(live_close) struct live live;
	char name[16];

	seed = number * 2654435761u + 88172645463325252u;
	snprintf(name, sizeof(name), "random%u", number);
	live_open(&live, fixture, name);
	put(live.fd, "link1", "linked");
	put(live.fd, "link2", "linked too");
	finish(live.fd, "link1", false, false);
	finish(live.fd, "link2", false, false);
	grow(live.fd, live.fd, 0);
	if (roll(2))
		assert_int_equal(unlinkat(live.fd, "link1", 0), 0);
	finish(live.fd, ".", true, false);
	struct hash tree = live_read(&live);
	assert_int_equal(live_reported(&live), 0);
	assert_int_equal(fchmod(live.fd, 0700), 0);
	return tree;
}
