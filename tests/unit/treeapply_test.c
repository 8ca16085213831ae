/* treeapply: turns any tree into any other exactly, and loses no file of which there is no copy. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "random_tree.h"
#include "tree_fixture.h"

#define TREES 4

/*
 * If this is set, the next linkat fails with EMLINK, as for a file with the maximum number of
 * names.
 */
static bool no_more_links;

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
	if (!no_more_links)
		return (int)syscall(SYS_linkat, from_dir, from, to_dir, to, flags);
	no_more_links = false;
	errno = EMLINK;
	return -1;
}

static void go_everywhere(struct fixture *fixture)
{
	struct hash trees[TREES], now;
	owned(live_close) struct live live;

	for (unsigned i = 0; i < TREES; i++)
		trees[i] = random_tree(fixture, i);
	live_open(&live, fixture, "live");
	/* The test uses no index.  Each step is checked by reading the whole directory. */
	live_apply(&live, NULL, &trees[0]);
	size_t at = 0;
	for (size_t i = 0; i < TREES; i++) {
		for (size_t k = 0; k < TREES; k++) {
			const size_t steps[] = { i, k };

			for (size_t s = 0; s < 2; s++) {
				live_apply(&live, &trees[at], &trees[steps[s]]);
				if (live_reported(&live))
					print_error("%zu to %zu: %s: %s\n", at, steps[s],
						live.report.items[0].path.ptr,
						live.report.items[0].what);
				assert_int_equal(live_reported(&live), 0);
				at = steps[s];
				now = live_read(&live);
				assert_same_tree(&trees[at], &now);
			}
		}
	}
}

static void goes_from_any_tree_to_any_other(void **state)
{
	go_everywhere(*state);
}

static void an_ordinary_user_can_do_so_too(void **state)
{
	need_root(); /* for an ordinary user, the previous test was the same */
	become_user(*state);
	go_everywhere(*state);
}

/* Apply trees as a workspace does, with an index and adoption. */
static void and_what_was_written_need_not_be_read(void **state)
{
	struct fixture *fixture = *state;
	struct hash trees[4], now;
	owned(live_close) struct live live;

	for (unsigned i = 0; i < COUNT(trees); i++)
		trees[i] = random_tree(fixture, 100 + i);
	live_open(&live, fixture, "live");
	now = live_become(&live, NULL, &trees[0]);
	assert_same_tree(&trees[0], &now);
	for (size_t i = 1; i < 3 * COUNT(trees); i++) {
		struct hash to = trees[i * 3 % COUNT(trees)];

		now = live_become(&live, &now, &to);
		assert_same_tree(&to, &now);
		assert_int_equal(live.unhashed, 0);
		struct hash read = live_read(&live);
		assert_same_tree(&to, &read);
	}
}

/* Replace the content of a file by one of the same size, and set its mtime back. */
static void edit_secretly(int dirfd, const char *name, const char *text)
{
	struct stat st;

	assert_int_equal(fstatat(dirfd, name, &st, 0), 0);
	put(dirfd, name, text);
	const struct timespec times[2] = { st.st_atim, st.st_mtim };
	assert_int_equal(utimensat(dirfd, name, times, 0), 0);
}

/* Changes that other programs make while treeapply runs are noticed by the next scan. */
static void what_others_did_meanwhile_is_not_taken_for_ours(void **state)
{
	struct fixture *fixture = *state;
	owned(live_close) struct live live;

	live_open(&live, fixture, "live");
	put(live.fd, "edited", "aaaa");
	put(live.fd, "mode", "aaaa");
	put(live.fd, "linked", "aaaa");
	put(live.fd, "attributes", "aaaa");
	assert_int_equal(linkat(live.fd, "linked", live.fd, "other", 0), 0);
	assert_int_equal(mkdirat(live.fd, "dir", 0755), 0);
	struct hash first = live_capture(&live);
	put(live.fd, "edited", "bbbb");
	put(live.fd, "mode", "bbbb");
	put(live.fd, "linked", "bbbb");
	assert_int_equal(fchmodat(live.fd, "attributes", 0600, 0), 0);
	assert_int_equal(fchmodat(live.fd, "dir", 0700, 0), 0);
	struct hash second = live_capture(&live);

	/*
	 * This change is made before treeapply, in a file of which only attributes are to be
	 * changed.
	 */
	edit_secretly(live.fd, "attributes", "cccc");
	live_apply(&live, &second, &first);
	settle();
	edit_secretly(live.fd, "edited", "cccc");
	edit_secretly(live.fd, "linked", "cccc");
	assert_int_equal(fchmodat(live.fd, "mode", 04755, 0), 0);
	assert_int_equal(fchmodat(live.fd, "dir", 01777, 0), 0);
	struct hash now = live_look(&live, true, true, &first);
	struct hash read = live_read(&live);
	assert_same_tree(&read, &now);
	assert_int_equal(tree_entry(fixture, &now, "mode").mode, 04755);
	assert_int_equal(tree_entry(fixture, &now, "dir").mode, 01777);
}

/*
 * Names that should be hard links are scanned as separate files if the link could not be made or
 * was replaced.
 */
static void a_link_that_is_none_is_not_taken_for_one(void **state)
{
	struct fixture *fixture = *state;
	owned(live_close) struct live live;

	live_open(&live, fixture, "live");
	struct hash empty = live_capture(&live);
	put(live.fd, "a", "text");
	assert_int_equal(linkat(live.fd, "a", live.fd, "b", 0), 0);
	struct hash linked = live_capture(&live);
	(void)live_become(&live, &linked, &empty);
	live_apply(&live, &empty, &linked);
	assert_int_equal(unlinkat(live.fd, "b", 0), 0);
	put(live.fd, "b", "text");
	struct hash now = live_look(&live, true, true, &linked);
	struct hash read = live_read(&live);
	assert_same_tree(&read, &now);
	assert_int_equal(tree_entry(fixture, &now, "a").link, 0);
	/* So the next checkout restores the link. */
	now = live_become(&live, &now, &linked);
	assert_same_tree(&linked, &now);
}

static void devices_are_made_where_we_may(void **state)
{
	struct fixture *fixture = *state;
	owned(live_close) struct live source, live;

	need_root();
	live_open(&source, fixture, "source");
	if (mknodat(source.fd, "char", S_IFCHR | 0640, makedev(1, 3)) < 0 ||
		mknodat(source.fd, "block", S_IFBLK | 0600, makedev(300, 70000)) < 0) {
		printf("# skip: no device nodes here\n");
		skip();
	}
	assert_int_equal(mknodat(source.fd, "socket", S_IFSOCK | 0600, 0), 0);
	struct hash with = live_read(&source);
	live_open(&live, fixture, "live");
	struct hash without = live_read(&live);
	live_apply(&live, &without, &with);
	struct hash now = live_read(&live);
	assert_same_tree(&with, &now);
	live_apply(&live, &with, &without);
	now = live_read(&live);
	assert_same_tree(&without, &now);
}

/* --- hard links --- */

static void links_are_made_and_broken(void **state)
{
	/* All files have the content "same", so that the trees differ only in their links. */
	static const char *const sets[][4] = {
		{ "a b" },
		{ "a", "b" },
		{ "a b c" },
		{ "a c", "b" },
		{ "a d/x" },
		{ "a d/x", "b d/y" },
		{ "a d/y", "b d/x" },
		{ "a b d/x d/y" },
	};
	struct fixture *fixture = *state;
	struct hash trees[COUNT(sets)];
	owned(live_close) struct live live;

	for (size_t i = 0; i < COUNT(sets); i++) {
		owned(live_close) struct live source;
		char name[16], first[8];

		snprintf(name, sizeof(name), "source%zu", i);
		live_open(&source, fixture, name);
		make(source.fd, "d");
		for (size_t k = 0; k < 4 && sets[i][k]; k++) {
			const char *p = sets[i][k];

			snprintf(first, sizeof(first), "%.*s", (int)strcspn(p, " "), p);
			put(source.fd, first, "same");
			stamp(source.fd, first, OLD);
			while (*(p += strcspn(p, " "))) {
				char other[8];

				p++;
				snprintf(other, sizeof(other), "%.*s", (int)strcspn(p, " "), p);
				assert_int_equal(linkat(source.fd, first, source.fd, other, 0), 0);
			}
		}
		stamp(source.fd, "d", OLD);
		stamp(source.fd, ".", OLD);
		trees[i] = live_read(&source);
	}
	live_open(&live, fixture, "live");
	live_apply(&live, NULL, &trees[0]);
	struct hash at = trees[0];
	for (size_t i = 0; i < COUNT(sets); i++) {
		for (size_t k = 0; k < 2 * COUNT(sets); k++) {
			struct hash to = k % 2 ? trees[i] : trees[k / 2];

			live_apply(&live, &at, &to);
			assert_int_equal(live_reported(&live), 0);
			at = live_read(&live);
			assert_same_tree(&to, &at);
		}
	}
}

static void linked_names_change_together(void **state)
{
	struct fixture *fixture = *state;
	owned(live_close) struct live live;

	live_open(&live, fixture, "live");
	put(live.fd, "a", "one");
	assert_int_equal(linkat(live.fd, "a", live.fd, "b", 0), 0);
	stamp(live.fd, "a", OLD);
	struct hash before = live_read(&live);
	stamp(live.fd, "a", OLD + 5);
	assert_int_equal(fchmodat(live.fd, "a", 0600, 0), 0);
	struct hash attributes = live_read(&live);
	put(live.fd, "a", "two");
	struct hash content = live_read(&live);
	const struct hash *way[] = { &before, &attributes, &content, &attributes, &before,
		&content };
	struct hash now = content;
	for (size_t i = 0; i < COUNT(way); i++) {
		struct stat a, b;

		live_apply(&live, &now, way[i]);
		assert_int_equal(live_reported(&live), 0);
		now = live_read(&live);
		assert_same_tree(way[i], &now);
		assert_int_equal(fstatat(live.fd, "a", &a, 0), 0);
		assert_int_equal(fstatat(live.fd, "b", &b, 0), 0);
		assert_int_equal(a.st_ino, b.st_ino);
	}
}

/*
 * Like a file on ext4 with 65000 names, which can have no more: the next name becomes a file of its
 * own.  Leaks are found by the sanitizer.
 */
static void a_file_with_all_the_names_it_can_have_is_written_again(void **state)
{
	struct fixture *fixture = *state;
	struct hash tree = tree_of(fixture, "a=text,h9 b=text,h9 c=text,h9");
	owned(live_close) struct live live;
	struct stat a, b, c;

	live_open(&live, fixture, "live");
	no_more_links = true;
	live_apply(&live, NULL, &tree);
	assert_false(no_more_links);
	assert_int_equal(live_reported(&live), 1);
	assert_true(live_has_report(&live, REPORT_UNRESTORED, "b"));
	assert_int_equal(fstatat(live.fd, "a", &a, 0), 0);
	assert_int_equal(fstatat(live.fd, "b", &b, 0), 0);
	assert_int_equal(fstatat(live.fd, "c", &c, 0), 0);
	assert_int_not_equal(a.st_ino, b.st_ino);
	assert_int_equal(b.st_ino, c.st_ino);
	assert_holds(live.fd, "a", "text");
	assert_holds(live.fd, "c", "text");
}

/* --- files without a copy --- */

/*
 * Each target differs from the captured tree: no file, another content, another mode, another type.
 */
static const char *const targets[] = { "", "f=wanted", "f=captured,m0600", "f/ f/x=1", "f@x", "f|",
	"f=captured,t5" };

static struct hash captured_file(struct live *live)
{
	put(live->fd, "f", "captured");
	stamp(live->fd, "f", OLD);
	stamp(live->fd, ".", OLD);
	return live_read(live);
}

static void a_file_changed_since_the_capture_is_kept(void **state)
{
	struct fixture *fixture = *state;

	for (size_t i = 0; i < COUNT(targets); i++) {
		owned(live_close) struct live live;
		char name[16];
		struct stat st;

		snprintf(name, sizeof(name), "live%zu", i);
		live_open(&live, fixture, name);
		struct hash from = captured_file(&live), to = tree_of(fixture, targets[i]);
		put(live.fd, "f", "precious");
		int64_t mtime = mtime_of(live.fd, "f");
		live_apply(&live, &from, &to);
		assert_holds(live.fd, "f", "precious");
		assert_true(live_has_report(&live, REPORT_UNRESTORED, "f"));
		/*
		 * The mtime must not change, since the file could otherwise be taken for the
		 * captured one.
		 */
		assert_int_equal(mtime_of(live.fd, "f"), mtime);
		assert_int_equal(fstatat(live.fd, "f", &st, 0), 0);
		assert_int_equal(st.st_mode & 07777, 0644);
	}
}

static void what_took_the_place_of_a_file_is_kept(void **state)
{
	struct fixture *fixture = *state;

	for (size_t i = 0; i < COUNT(targets); i++) {
		owned(live_close) struct live live;
		char name[16], target[16];
		struct stat st;

		snprintf(name, sizeof(name), "live%zu", i);
		live_open(&live, fixture, name);
		put(fixture->rootfd, "outside", "outside");
		struct hash from = captured_file(&live), to = tree_of(fixture, targets[i]);
		assert_int_equal(unlinkat(live.fd, "f", 0), 0);
		assert_int_equal(symlinkat("../outside", live.fd, "f"), 0);
		live_apply(&live, &from, &to);
		assert_true(live_has_report(&live, REPORT_UNRESTORED, "f"));
		assert_true(at_name_readlink(live.fd, "f", target, sizeof(target)) > 0);
		assert_string_equal(target, "../outside");
		/* The target of the link has not changed either. */
		assert_int_equal(fstatat(fixture->rootfd, "outside", &st, 0), 0);
		assert_int_equal(st.st_mode & 07777, 0644);
		assert_holds(fixture->rootfd, "outside", "outside");
	}
}

static void a_link_that_leads_elsewhere_since_is_kept(void **state)
{
	static const char *const wanted[] = { "", "l=file", "l@third", "l/" };
	struct fixture *fixture = *state;

	for (size_t i = 0; i < COUNT(wanted); i++) {
		owned(live_close) struct live live;
		char name[16], target[16];

		snprintf(name, sizeof(name), "live%zu", i);
		live_open(&live, fixture, name);
		assert_int_equal(symlinkat("first", live.fd, "l"), 0);
		stamp(live.fd, "l", OLD);
		struct hash from = live_read(&live), to = tree_of(fixture, wanted[i]);
		assert_int_equal(unlinkat(live.fd, "l", 0), 0);
		assert_int_equal(symlinkat("other", live.fd, "l"), 0);
		live_apply(&live, &from, &to);
		assert_true(live_has_report(&live, REPORT_UNRESTORED, "l"));
		assert_int_equal(at_name_readlink(live.fd, "l", target, sizeof(target)), 5);
		assert_string_equal(target, "other");
	}
}

static void what_came_since_the_capture_is_kept(void **state)
{
	static const char *const wanted[] = { "f=wanted", "f@x", "f|", "f=a,h7 g=a,h7",
		"f/ f/x=1" };
	struct fixture *fixture = *state;
	struct hash from = tree_of(fixture, "");

	for (size_t i = 0; i < COUNT(wanted); i++) {
		owned(live_close) struct live live;
		char name[16];

		snprintf(name, sizeof(name), "live%zu", i);
		live_open(&live, fixture, name);
		put(live.fd, "f", "newcomer");
		struct hash to = tree_of(fixture, wanted[i]);
		live_apply(&live, &from, &to);
		assert_holds(live.fd, "f", "newcomer");
		assert_true(live_has_report(&live, REPORT_UNRESTORED, "f"));
	}
}

static void a_directory_that_came_since_keeps_what_is_in_it(void **state)
{
	static const char *const wanted[] = { "f=wanted", "f@x", "f/ f/x=1" };
	struct fixture *fixture = *state;
	struct hash from = tree_of(fixture, "");

	for (size_t i = 0; i < COUNT(wanted); i++) {
		owned(live_close) struct live live;
		char name[16];

		snprintf(name, sizeof(name), "live%zu", i);
		live_open(&live, fixture, name);
		make(live.fd, "f");
		put(live.fd, "f/newcomer", "newcomer");
		struct hash to = tree_of(fixture, wanted[i]);
		live_apply(&live, &from, &to);
		assert_holds(live.fd, "f/newcomer", "newcomer");
	}
}

static void a_directory_to_be_removed_stays_for_what_is_new_in_it(void **state)
{
	struct fixture *fixture = *state;
	owned(live_close) struct live live;

	live_open(&live, fixture, "live");
	make(live.fd, "d");
	make(live.fd, "d/e");
	put(live.fd, "d/e/old", "old");
	put(live.fd, "d/old", "old");
	put(live.fd, "old", "old");
	struct hash from = live_read(&live), to = tree_of(fixture, "new=1");
	put(live.fd, "d/e/new", "new");
	live_apply(&live, &from, &to);
	assert_holds(live.fd, "d/e/new", "new");
	assert_false(is_there(live.fd, "d/e/old"));
	assert_false(is_there(live.fd, "d/old"));
	assert_false(is_there(live.fd, "old"));
	assert_holds(live.fd, "new", "1");
	assert_true(live_has_report(&live, REPORT_UNRESTORED, "d"));
	assert_true(live_has_report(&live, REPORT_UNRESTORED, "d/e"));
}

static void what_was_never_captured_survives_below_what_was(void **state)
{
	struct fixture *fixture = *state;
	owned(live_close) struct live live;
	static const char *const patterns[] = { "secret" };

	live_open(&live, fixture, "live");
	live.exclude = patterns;
	live.n_exclude = 1;
	make(live.fd, "d");
	put(live.fd, "d/secret", "secret");
	put(live.fd, "d/file", "file");
	struct hash from = live_read(&live), to = tree_of(fixture, "d/file=other");
	live_apply(&live, &from, &to);
	assert_holds(live.fd, "d/secret", "secret");
	assert_holds(live.fd, "d/file", "other");
	assert_int_equal(live_reported(&live), 0);
}

/*
 * An empty file stands in for a device that could not be made.  If it gets content, it is an
 * ordinary file.
 */
static void a_stand_in_that_got_content_is_kept(void **state)
{
	struct fixture *fixture = *state;
	owned(live_close) struct live live;
	struct entry device = { .name = STR("char"),
		.type = ENTRY_CHAR,
		.mode = 0600,
		.uid = 1,
		.major = 4,
		.minor = 5 };

	become_user(fixture);
	struct hash with = built_tree(fixture, &device, 1), without = tree_of(fixture, "");
	live_open(&live, fixture, "live");
	live_apply(&live, NULL, &with);
	assert_holds(live.fd, "char", "");
	put(live.fd, "char", "precious");
	live_apply(&live, &with, &without);
	assert_holds(live.fd, "char", "precious");
	assert_true(live_has_report(&live, REPORT_UNRESTORED, "char"));
	put(live.fd, "char", "");
	live_apply(&live, &with, &without);
	assert_false(is_there(live.fd, "char"));
}

/* --- interruption --- */

/* Begin treeapply in another process, which is killed after us microseconds. */
static void begin(struct live *live, const struct hash *from, const struct hash *to, unsigned us)
{
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (!child) {
		struct fixture own = *live->fixture;
		struct report report = REPORT_INIT;
		char path[300];

		/* The child must not use the database of its parent. */
		snprintf(path, sizeof(path), "%s/strata.db", own.path);
		own.db = db_open(path, DB_READ_ONLY, &own.err);
		own.store =
			own.db ? store_open(own.rootfd, own.db, STORE_READ_ONLY, &own.err) : NULL;
		struct treeapply_options options = {
			.fd = live->fd,
			.store = own.store,
			.from = from,
			.to = to,
			.donor = -1,
			.report = &report,
		};
		_exit(!own.store || treeapply_run(&options, &own.err) < 0);
	}
	usleep(us);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
}

static struct hash many_files(struct fixture *fixture, const char *name, uint64_t number)
{
	owned(live_close) struct live live;
	char path[32];

	live_open(&live, fixture, name);
	for (unsigned d = 0; d < 10; d++) {
		snprintf(path, sizeof(path), "d%u", d);
		make(live.fd, path);
		for (unsigned i = 0; i < 30; i++) {
			owned_mem char *bytes = fixture_noise(5000, number * 1000 + d * 30 + i);

			snprintf(path, sizeof(path), "d%u/f%u", d, i + (number == 2 ? i % 2 : 0));
			put_bytes(live.fd, path, bytes, i % 3 ? 5000 : 0);
			stamp(live.fd, path, OLD + i);
		}
		snprintf(path, sizeof(path), "d%u", d);
		stamp(live.fd, path, OLD);
	}
	return live_read(&live);
}

static void an_interrupted_one_is_completed_by_the_next(void **state)
{
	struct fixture *fixture = *state;
	struct hash a = many_files(fixture, "a", 1), b = many_files(fixture, "b", 2);
	owned(live_close) struct live live;

	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	live_open(&live, fixture, "live");
	live_apply(&live, NULL, &a);
	for (unsigned us = 500; us <= 64000; us *= 2) {
		begin(&live, &a, &b, us);
		struct hash half = live_read(&live);

		live_apply(&live, &half, &b);
		assert_int_equal(live_reported(&live), 0);
		struct hash now = live_read(&live);
		assert_same_tree(&b, &now);
		live_apply(&live, &b, &a);
	}
}

/* --- inherited attributes --- */

static bool set_default_acl(int dirfd, const char *name)
{
	/* user::rwx user:1:rwx group::r-x mask::rwx other::r-x */
	static const struct {
		uint16_t tag, perm;
		uint32_t id;
	} entries[] = { { 1, 7, UINT32_MAX }, { 2, 7, 1 }, { 4, 5, UINT32_MAX },
		{ 0x10, 7, UINT32_MAX }, { 0x20, 5, UINT32_MAX } };
	struct {
		uint32_t version;
		char entries[sizeof(entries)];
	} acl = { .version = 2 };

	memcpy(acl.entries, entries, sizeof(entries));
	return at_xattr_set(dirfd, name, "system.posix_acl_default", &acl, sizeof(acl)) == 0;
}

static void a_default_acl_is_not_given_to_what_had_none(void **state)
{
	struct fixture *fixture = *state;
	owned(live_close) struct live live;
	char list[256];

	become_user(fixture);
	live_open(&live, fixture, "live");
	make(live.fd, "d");
	if (!set_default_acl(live.fd, "d")) {
		printf("# skip: no access control lists on this file system\n");
		skip();
	}
	stamp(live.fd, "d", OLD);
	struct hash without = live_read(&live);
	/*
	 * These files are made elsewhere and moved into the directory, so they inherit nothing from
	 * it.
	 */
	put(live.fd, "file", "x");
	make(live.fd, "sub");
	put(live.fd, "sub/inside", "x");
	assert_int_equal(mknodat(live.fd, "fifo", S_IFIFO | 0604, 0), 0);
	assert_int_equal(fchmodat(live.fd, "file", 0640, 0), 0);
	assert_int_equal(renameat(live.fd, "file", live.fd, "d/file"), 0);
	assert_int_equal(renameat(live.fd, "sub", live.fd, "d/sub"), 0);
	assert_int_equal(renameat(live.fd, "fifo", live.fd, "d/fifo"), 0);
	struct hash with = live_read(&live);
	live_apply(&live, &with, &without);
	struct hash now = live_read(&live);
	assert_same_tree(&without, &now);
	live_apply(&live, &without, &with);
	assert_int_equal(live_reported(&live), 0);
	now = live_read(&live);
	assert_same_tree(&with, &now);
	static const char *const names[] = { "d/file", "d/sub", "d/sub/inside", "d/fifo" };
	for (size_t i = 0; i < COUNT(names); i++) {
		owned_mem char *path = mem_strdup(names[i]);
		char *slash = strrchr(path, '/');
		*slash = '\0';
		owned_fd int dir = openat(live.fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		assert_int_equal(at_xattr_list(dir, slash + 1, list, sizeof(list)), 0);
	}
	/* Files that did inherit attributes get them again. */
	make(live.fd, "e");
	assert_true(set_default_acl(live.fd, "e"));
	put(live.fd, "e/inherits", "x");
	make(live.fd, "e/sub");
	struct hash acls = live_read(&live);
	live_apply(&live, &acls, &without);
	live_apply(&live, &without, &acls);
	now = live_read(&live);
	assert_same_tree(&acls, &now);
}

static void a_setgid_directory_gives_its_group_only_to_what_had_it(void **state)
{
	struct fixture *fixture = *state;
	owned(live_close) struct live live;

	live_open(&live, fixture, "live");
	make(live.fd, "d");
	if (!getuid())
		assert_int_equal(fchownat(live.fd, "d", 0, 1234, 0), 0);
	assert_int_equal(fchmodat(live.fd, "d", 02775, 0), 0);
	struct hash without = live_read(&live);
	put(live.fd, "d/inherits", "x");
	make(live.fd, "d/inherits-too");
	put(live.fd, "file", "x");
	make(live.fd, "sub");
	assert_int_equal(renameat(live.fd, "file", live.fd, "d/file"), 0);
	assert_int_equal(renameat(live.fd, "sub", live.fd, "d/sub"), 0);
	struct hash with = live_read(&live);
	assert_int_equal(tree_entry(fixture, &with, "d/sub").mode, 0755);
	assert_int_equal(tree_entry(fixture, &with, "d/inherits-too").mode, 02755);
	live_apply(&live, &with, &without);
	live_apply(&live, &without, &with);
	assert_int_equal(live_reported(&live), 0);
	struct hash now = live_read(&live);
	assert_same_tree(&with, &now);
}

static void the_umask_changes_nothing(void **state)
{
	struct fixture *fixture = *state;
	owned(live_close) struct live source, live;

	live_open(&source, fixture, "source");
	make(source.fd, "d");
	put(source.fd, "d/file", "x");
	assert_int_equal(fchmodat(source.fd, "d", 0777, 0), 0);
	assert_int_equal(fchmodat(source.fd, "d/file", 0666, 0), 0);
	struct hash tree = live_read(&source);
	live_open(&live, fixture, "live");
	mode_t old = umask(0777);
	live_apply(&live, NULL, &tree);
	umask(old);
	struct hash now = live_read(&live);
	assert_same_tree(&tree, &now);
}

/* --- permissions --- */

static void the_owner_can_change_what_he_made_read_only(void **state)
{
	static const char *const words[] = {
		"d/,m0555 d/e/,m0500 d/e/f=1,m0400 d/g=2,m0444",
		"d/,m0555 d/e/,m0500 d/e/f=other,m0400 d/e/new=3 d/g=2,m0444",
		"d/,m0500 d/g=2,m0444",
		"d/,m0555 d/e=file,m0400",
		"",
		"/,m0555 d/,m0555 d/e/,m0555 d/e/l@x",
	};
	struct fixture *fixture = *state;
	struct hash trees[COUNT(words)];
	owned(live_close) struct live live;

	become_user(fixture);
	for (size_t i = 0; i < COUNT(words); i++)
		trees[i] = tree_of(fixture, words[i]);
	live_open(&live, fixture, "live");
	live_apply(&live, NULL, &trees[0]);
	struct hash now = live_read(&live);
	for (size_t i = 0; i < COUNT(words); i++) {
		for (size_t k = 0; k < 2 * COUNT(words); k++) {
			struct hash to = k % 2 ? trees[i] : trees[k / 2];

			live_apply(&live, &now, &to);
			assert_int_equal(live_reported(&live), 0);
			now = live_read(&live);
			assert_same_tree(&to, &now);
		}
	}
	assert_int_equal(fchmod(live.fd, 0755), 0);
}

/* --- further tests --- */

static void never_writes_where_the_environment_lies(void **state)
{
	struct fixture *fixture = *state;
	owned(live_close) struct live live;
	struct statx stx;

	live_open(&live, fixture, "live");
	make(live.fd, "env");
	put(live.fd, "env/database", "ours");
	assert_int_equal(at_name_stat(live.fd, "env", &stx), 0);
	struct scan_skip skip = { stx.stx_dev_major, stx.stx_dev_minor, stx.stx_ino };
	struct hash to = tree_of(fixture, "a=1 env/,m0700 env/database=theirs env/more=x");
	struct treeapply_options options = {
		.fd = live.fd,
		.store = fixture->store,
		.to = &to,
		.donor = -1,
		.skip = &skip,
		.report = &live.report,
	};
	assert_ok(fixture, treeapply_run(&options, &fixture->err));
	assert_holds(live.fd, "a", "1");
	assert_holds(live.fd, "env/database", "ours");
	assert_false(is_there(live.fd, "env/more"));
	assert_true(live_has_report(&live, REPORT_UNRESTORED, "env"));
}

static void what_the_store_lost_is_told_and_the_rest_restored(void **state)
{
	struct fixture *fixture = *state;
	owned(live_close) struct live live;
	struct hash to = tree_of(fixture, "a=1 b=lost d/c=3");
	struct entry lost = tree_entry(fixture, &to, "b");
	char hex[HASH_HEX], sql[200];

	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	snprintf(sql, sizeof(sql), "DELETE FROM fresh WHERE hash = x'%s'",
		hash_hex(&lost.hash, hex));
	assert_ok(fixture, db_exec(fixture->db, sql, &fixture->err));
	fixture_reopen(fixture);
	live_open(&live, fixture, "live");
	live_apply(&live, NULL, &to);
	assert_holds(live.fd, "a", "1");
	assert_holds(live.fd, "d/c", "3");
	assert_false(is_there(live.fd, "b"));
	assert_true(live_has_report(&live, REPORT_DAMAGED, "b"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		tree_test(goes_from_any_tree_to_any_other),
		tree_test(an_ordinary_user_can_do_so_too),
		tree_test(and_what_was_written_need_not_be_read),
		tree_test(what_others_did_meanwhile_is_not_taken_for_ours),
		tree_test(a_link_that_is_none_is_not_taken_for_one),
		tree_test(devices_are_made_where_we_may),
		tree_test(links_are_made_and_broken),
		tree_test(linked_names_change_together),
		tree_test(a_file_with_all_the_names_it_can_have_is_written_again),
		tree_test(a_file_changed_since_the_capture_is_kept),
		tree_test(what_took_the_place_of_a_file_is_kept),
		tree_test(a_link_that_leads_elsewhere_since_is_kept),
		tree_test(what_came_since_the_capture_is_kept),
		tree_test(a_directory_that_came_since_keeps_what_is_in_it),
		tree_test(a_directory_to_be_removed_stays_for_what_is_new_in_it),
		tree_test(what_was_never_captured_survives_below_what_was),
		tree_test(a_stand_in_that_got_content_is_kept),
		tree_test(an_interrupted_one_is_completed_by_the_next),
		tree_test(a_default_acl_is_not_given_to_what_had_none),
		tree_test(a_setgid_directory_gives_its_group_only_to_what_had_it),
		tree_test(the_umask_changes_nothing),
		tree_test(the_owner_can_change_what_he_made_read_only),
		tree_test(never_writes_where_the_environment_lies),
		tree_test(what_the_store_lost_is_told_and_the_rest_restored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
