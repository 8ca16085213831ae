/* Tests of workspace: the same cases for every backend, each on a file system on which it works. */
#include <linux/falloc.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/vfs.h>

#include <cmocka.h>

#include "random_tree.h"
#include "workspace_fixture.h"

#define TMPFS 0x01021994

/*
 * Returns the number of files in the directory of index files.  2 stands for more than one, or
 * another name than "main".
 */
static int index_files(struct env *env)
{
	owned_fd int fd = openat(
		env->fixture->rootfd, WORKSPACE_INDEX_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return at_holds_only(fd, "", env_err(env))       ? 0
	       : at_holds_only(fd, "main", env_err(env)) ? 1
							 : 2;
}

/* --- the cases --- */

static void makes_the_tree_it_is_given(void **state)
{
	struct env *env = ready(state);
	struct hash tree = create(env);

	/* files that the backend wrote itself need not be read */
	assert_int_equal(env->counters.ingested.files, 0);
	struct hash now = capture(env);
	assert_same_tree(&tree, &now);
	assert_holds(env->seen.fd, "d/e/f", "two");
	assert_int_equal(env->report.n_items, 0);
	now = read_all(env, &env->seen);
	assert_same_tree(&tree, &now);
	/* a plain live tree is at its place in the environment */
	if (!env->backend->kind.mounted)
		assert_true(is_there(env->fixture->rootfd, WORKSPACE_LIVE_DIR "/main/d/g"));
}

static void captures_what_changed_and_only_that(void **state)
{
	struct env *env = ready(state);

	create(env);
	put(env->seen.fd, "early", "early");
	settle();
	struct hash tree = capture(env);
	settle_index(env);
	put(env->seen.fd, "d/g", "changed");
	put(env->seen.fd, "new", "new");
	struct hash changed = capture(env);
	assert_other_tree(&tree, &changed);
	assert_int_equal(env->counters.ingested.files, 2);
	assert_text(env->fixture, &changed, "d/g", "changed");
	assert_text(env->fixture, &changed, "a", "one");
	settle_index(env);
	reopen(env);
	struct hash again = capture(env);
	assert_same_tree(&changed, &again);
}

/* --- what programs do to a tree, each right before a capture --- */

static void rewrite(int at)
{
	int64_t mtime = mtime_of(at, "d/g");

	put(at, "d/g", "THREE");
	stamp(at, "d/g", mtime);
}

static int held = -1; /* open all the time */

static void write_to_open_file(int at)
{
	assert_int_equal(pwrite(held, "X", 1, 0), 1);
}

static void write_through_a_mapping(int at)
{
	owned_fd int fd = openat(at, "d/e/f", O_RDWR | O_CLOEXEC);
	char *bytes = mmap(NULL, 3, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	assert_ptr_not_equal(bytes, MAP_FAILED);
	bytes[0]++;
	assert_int_equal(munmap(bytes, 3), 0);
}

static void write_past_the_cache(int at)
{
	static char block[4096] __attribute__((aligned(4096)));
	owned_fd int fd = openat(at, "direct", O_RDWR | O_CREAT | O_DIRECT | O_CLOEXEC, 0644);

	if (fd < 0 && errno == EINVAL)
		fd = openat(at, "direct", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	block[0]++;
	assert_int_equal(pwrite(fd, block, sizeof(block), 0), sizeof(block));
}

static void append(int at)
{
	owned_fd int fd = openat(at, "a", O_WRONLY | O_APPEND | O_CLOEXEC);

	assert_int_equal(write(fd, "more", 4), 4);
}

static void cut(int at)
{
	owned_fd int fd = openat(at, "a", O_WRONLY | O_CLOEXEC);

	assert_int_equal(ftruncate(fd, 1), 0);
}

static void dig_a_hole(int at)
{
	owned_fd int fd = openat(at, "direct", O_WRONLY | O_CLOEXEC);

	assert_int_equal(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), 0);
}

static void change_mode(int at)
{
	assert_int_equal(fchmodat(at, "d/e/f", 0640, 0), 0);
}

static void set_attribute(int at)
{
	owned_fd int fd = openat(at, "d/e", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_int_equal(fsetxattr(fd, "user.test", "x", 1, 0), 0);
}

static void change_owner(int at)
{
	/* only root can change the owner, so a user changes the mode instead */
	assert_int_equal(
		geteuid() ? fchmodat(at, "d/e/f", 0600, 0) : fchownat(at, "d/e/f", 7, 8, 0), 0);
}

static void link_name(int at)
{
	assert_int_equal(linkat(at, "d/g", at, "linked", 0), 0);
}

static void write_to_linked(int at)
{
	owned_fd int fd = openat(at, "linked", O_WRONLY | O_CLOEXEC);

	assert_int_equal(pwrite(fd, "t", 1, 0), 1);
}

static void unlink_name(int at)
{
	assert_int_equal(unlinkat(at, "d/g", 0), 0);
}

static void rename_file(int at)
{
	assert_int_equal(renameat(at, "d/e/f", at, "d/f"), 0);
}

/*
 * An overlay may refuse to rename a directory of a lower layer.  The test then does what mv(1)
 * does.
 */
static void rename_dir(int at)
{
	if (renameat(at, "d", at, "moved") == 0)
		return;
	assert_int_equal(errno, EXDEV);
	make(at, "moved");
	make(at, "moved/e");
	assert_int_equal(renameat(at, "d/f", at, "moved/f"), 0);
	assert_int_equal(unlinkat(at, "d/e", AT_REMOVEDIR), 0);
	assert_int_equal(unlinkat(at, "d", AT_REMOVEDIR), 0);
}

static void make_dir_again(int at)
{
	make(at, "d");
	put(at, "d/other", "other");
}

static void file_to_dir(int at)
{
	assert_int_equal(unlinkat(at, "a", 0), 0);
	make(at, "a");
	put(at, "a/inside", "x");
}

static void dir_to_file(int at)
{
	assert_int_equal(unlinkat(at, "a/inside", 0), 0);
	assert_int_equal(unlinkat(at, "a", AT_REMOVEDIR), 0);
	put(at, "a", "a file again");
}

static void point_elsewhere(int at)
{
	assert_int_equal(unlinkat(at, "l", 0), 0);
	assert_int_equal(symlinkat("b", at, "l"), 0);
}

static void remove_fifo(int at)
{
	assert_int_equal(unlinkat(at, "p", 0), 0);
}

static void link_pair(int at)
{
	assert_int_equal(linkat(at, "direct", at, "pair", 0), 0);
}

static void (*const changes[])(int at) = { rewrite, write_to_open_file, write_through_a_mapping,
	write_through_a_mapping, write_past_the_cache, write_past_the_cache, append, cut,
	dig_a_hole, change_mode, set_attribute, change_owner, link_name, write_to_linked,
	unlink_name, rename_file, rename_dir, make_dir_again, file_to_dir, dir_to_file,
	point_elsewhere, remove_fifo, link_pair };

/* Check that a capture has the same result as reading the whole live tree. */
static struct hash assert_sees(struct env *env)
{
	struct hash now = capture(env), there = read_all(env, &env->seen);

	assert_same_tree(&there, &now);
	settle_index(env);
	now = capture(env);
	assert_same_tree(&there, &now);
	return now;
}

static void sees_every_change_at_once(void **state)
{
	struct env *env = ready(state);
	struct hash first = create_as(env, words), last = first, now;

	put(env->seen.fd, "held", "held");
	held = openat(env->seen.fd, "held", O_RDWR | O_CLOEXEC);
	for (size_t i = 0; i < COUNT(changes); i++) {
		changes[i](env->seen.fd);
		now = assert_sees(env);
		assert_other_tree(&last, &now);
		last = now;
	}
	close_fd(&held);
	/* change the live tree back to the first tree, and then to the last one again */
	struct hash all = last;
	become(env, &all, &first);
	now = read_all(env, &env->seen);
	assert_same_tree(&first, &now);
	become(env, &first, &all);
	now = read_all(env, &env->seen);
	assert_same_tree(&all, &now);
	now = capture(env);
	assert_same_tree(&all, &now);
	settle_index(env);
	/* in a lower layer of an overlay, hard links may not be linked any more */
	owned_fd int pair = openat(env->seen.fd, "pair", O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(pair, "pair", 4, 0), 4);
	assert_int_equal(unlinkat(env->seen.fd, "moved/f", 0), 0);
	last = assert_sees(env);
	become(env, &last, &first);
	now = assert_sees(env);
	assert_same_tree(&first, &now);
}

static void becomes_what_it_was(void **state)
{
	struct env *env = ready(state);
	struct hash tree = create(env);

	put(env->seen.fd, "d/g", "changed");
	put(env->seen.fd, "new", "new");
	assert_int_equal(unlinkat(env->seen.fd, "l", 0), 0);
	make(env->seen.fd, "l");
	struct hash changed = capture(env);
	settle_index(env);
	struct hash now = become(env, &changed, &tree);
	assert_same_tree(&tree, &now);
	assert_holds(env->seen.fd, "d/g", "three");
	assert_false(is_there(env->seen.fd, "new"));
	now = capture(env);
	assert_same_tree(&tree, &now);
	/* change to the later tree again */
	now = become(env, &tree, &changed);
	assert_same_tree(&changed, &now);
	assert_holds(env->seen.fd, "d/g", "changed");
	reopen(env);
	now = capture(env);
	assert_same_tree(&changed, &now);
	struct hash empty = tree_of(env->fixture, "");
	now = become(env, &changed, &empty);
	assert_same_tree(&empty, &now);
	now = read_all(env, &env->seen);
	assert_same_tree(&empty, &now);
}

/*
 * Check that the index belongs to this tree.  The index of an overlay belongs to its upper
 * directory.
 */
static void assert_indexed(struct env *env, const struct hash *tree)
{
	struct hash indexed;

	assert_int_equal(index_files(env), 1);
	assert_true(workspace_indexed(env->fixture->rootfd, "main", &indexed));
	if (!env->backend->kind.mounted)
		assert_same_tree(tree, &indexed);
}

/* Change a file at random.  A change that is not possible is skipped. */
static void shake_file(int fd, const char *name, const char *other)
{
	int64_t mtime = mtime_of(fd, name);
	owned_fd int file = -1;

	switch (roll(6)) {
	case 0:
		(void)unlinkat(fd, name, 0);
		return;
	case 1:
		(void)!renameat(fd, name, fd, other);
		return;
	case 2:
		(void)!linkat(fd, name, fd, other, 0);
		return;
	case 3:
		(void)!fchmodat(fd, name, file_modes[roll(COUNT(file_modes))], 0);
		return;
	case 4:
		(void)at_xattr_set(fd, name, "user.test", "s", 1);
		return;
	default:
		file = openat(fd, name, O_WRONLY | O_CLOEXEC);
		if (file >= 0 && pwrite(file, roll(2) ? "S" : "T", 1, 0) == 1)
			stamp(fd, name, mtime);
	}
}

static void shake(int fd, unsigned depth)
{
	struct err ignored = { 0 };
	struct stat st;

	for (char c = 'a'; c <= 'g'; c++) {
		char name[] = { c, '\0' }, other[] = { (char)('a' + roll(7)), '\0' };
		bool there = fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;

		if (roll(3))
			continue;
		if (there && S_ISREG(st.st_mode)) {
			shake_file(fd, name, other);
		} else if (there && S_ISDIR(st.st_mode) && roll(4)) {
			owned_fd int below = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

			shake(below, depth + 1);
			if (!roll(4))
				(void)!renameat(fd, name, fd, other);
		} else if (!there || at_remove_tree(fd, name, &ignored) == 0) {
			if (roll(2) && mkdirat(fd, name, 0755) == 0 && depth < 3) {
				owned_fd int below =
					openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

				(void)!symlinkat(roll(2) ? "x" : "y", below, "a");
				(void)mknodat(below, "b", S_IFREG | 0644, 0);
			}
		}
	}
}

static void any_tree_becomes_any_other(void **state)
{
	struct env *env = ready(state);
	struct hash now = create_as(env, "");

	for (unsigned i = 1; i <= 12; i++) {
		struct hash tree = random_tree(env->fixture, i);

		env_ok(env, store_flush(env->fixture->store, env_err(env)));
		become(env, &now, &tree);
		now = assert_sees(env);
		assert_same_tree(&tree, &now);
		/*
		 * change the tree twice: first files of lower layers, then files that are changed
		 * already
		 */
		shake(env->seen.fd, 0);
		now = assert_sees(env);
		shake(env->seen.fd, 0);
		now = assert_sees(env);
	}
}

static void a_capture_that_is_not_settled_changes_nothing(void **state)
{
	struct env *env = ready(state);

	create(env);
	struct hash tree = capture(env);
	settle_index(env);
	assert_indexed(env, &tree);
	put(env->seen.fd, "new", "new");
	struct hash changed = capture(env);
	reopen(env);
	assert_indexed(env, &tree);
	struct hash again = capture(env);
	assert_same_tree(&changed, &again);
	settle_index(env);
	assert_indexed(env, &changed);
}

static void looking_only_writes_nothing(void **state)
{
	struct env *env = ready(state);

	create(env);
	struct hash tree = capture(env);
	settle_index(env);
	put(env->seen.fd, "new", "new");
	workspace_close(&env->ws);
	workspace_init(env, &env->ws, "main");
	env->ws.setup.scratch = true;
	env_ok(env, workspace_open(&env->ws, env_err(env)));
	struct hash changed = capture(env);
	assert_other_tree(&tree, &changed);
	env_ok(env, env->backend->save_index(&env->ws, env_err(env)));
	assert_indexed(env, &tree);
}

static void reads_everything_once_it_forgot(void **state)
{
	struct env *env = ready(state);
	struct hash indexed;

	create(env);
	put(env->seen.fd, "d/g", "changed");
	struct hash tree = capture(env);
	settle_index(env);
	env_ok(env, workspace_forget(env->fixture->rootfd, "main", env_err(env)));
	env_ok(env, workspace_forget(env->fixture->rootfd, "main", env_err(env)));
	assert_false(workspace_indexed(env->fixture->rootfd, "main", &indexed));
	struct hash now = capture(env);
	assert_same_tree(&tree, &now);
	assert_int_equal(env->counters.ingested.files, env->backend->kind.mounted ? 1 : 3);
}

/* The index is saved, but the objects that it names were never flushed to the store. */
static void does_not_believe_an_index_the_store_knows_nothing_of(void **state)
{
	struct env *env = ready(state);

	create(env);
	put(env->seen.fd, "a", "only here");
	capture(env);
	env_ok(env, env->backend->save_index(&env->ws, env_err(env)));
	workspace_close(&env->ws);
	fixture_reopen(env->fixture);
	reopen(env);
	struct hash now = capture(env);
	env_ok(env, store_flush(env->fixture->store, env_err(env)));
	fixture_reopen(env->fixture);
	assert_text(env->fixture, &now, "a", "only here");
	workspace_close(&env->ws);
}

static void destroys_all_that_belongs_to_it(void **state)
{
	struct env *env = ready(state);
	struct hash indexed;

	create(env);
	put(env->seen.fd, "not captured", "x");
	assert_int_equal(fchmodat(env->seen.fd, "d", 0500, 0), 0);
	seen_close(&env->seen);
	env_ok(env, env->backend->destroy(&env->ws, env_err(env)));
	assert_false(workspace_indexed(env->fixture->rootfd, "main", &indexed));
	assert_false(is_there(env->fixture->rootfd, WORKSPACE_LIVE_DIR "/main"));
	assert_true(is_there(env->fixture->rootfd, WORKSPACE_LIVE_DIR));
	workspace_close(&env->ws);
	workspace_init(env, &env->ws, "main");
	assert_int_equal(workspace_open(&env->ws, env_err(env)), -ERR_NOT_FOUND);
}

static void a_tree_outside_the_environment_stays_when_it_is_destroyed(void **state)
{
	struct env *env = ready(state);
	owned_mem char *path = mem_printf("%s/outside", env->fixture->path);
	struct seen outside = { .fd = -1 };
	struct hash indexed;

	make(env->fixture->rootfd, "outside");
	put(env->fixture->rootfd, "outside/file", "x");
	outside.fd = openat(env->fixture->rootfd, "outside", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct hash tree = read_all(env, &outside);
	env_ok(env, store_flush(env->fixture->store, env_err(env)));
	env->ws.setup.path = path;
	env_ok(env, env->backend->create(&env->ws, &tree, -1, env_err(env)));
	seen_open(env, &env->ws, &env->seen);
	struct hash now = capture(env);
	assert_same_tree(&tree, &now);
	settle_index(env);
	put(env->seen.fd, "file", "y");
	assert_holds(outside.fd, "file", env->backend->kind.in_place == WORKSPACE_LIVE ? "y" : "x");
	struct hash changed = capture(env);
	assert_text(env->fixture, &changed, "file", "y");
	now = become(env, &changed, &tree);
	assert_same_tree(&tree, &now);
	assert_holds(env->seen.fd, "file", "x");
	seen_close(&env->seen);
	env_ok(env, env->backend->destroy(&env->ws, env_err(env)));
	assert_false(workspace_indexed(env->fixture->rootfd, "main", &indexed));
	now = read_all(env, &outside);
	assert_same_tree(&tree, &now);
	seen_close(&outside);
	workspace_close(&env->ws);
}

static bool shares_blocks(int dirfd, const char *name)
{
	struct {
		struct fiemap map;
		struct fiemap_extent extent[8];
	} request = { .map = {
			      .fm_length = FIEMAP_MAX_OFFSET,
			      .fm_flags = FIEMAP_FLAG_SYNC,
			      .fm_extent_count = 8,
		      } };
	owned_fd int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);

	return ioctl(fd, FS_IOC_FIEMAP, &request.map) == 0 && request.map.fm_mapped_extents &&
	       request.extent[0].fe_flags & FIEMAP_EXTENT_SHARED;
}

static void a_second_one_may_take_its_files_from_the_first(void **state)
{
	struct env *env = ready(state);
	owned_mem char *bytes = fixture_noise(300000, 1);
	struct workspace second;
	struct seen seen;

	create(env);
	put_bytes(env->seen.fd, "large", bytes, 300000);
	put_bytes(env->seen.fd, "changed later", bytes, 200000);
	struct hash tree = capture(env);
	settle_index(env);
	put(env->seen.fd, "changed later", "no longer what was captured");
	put(env->seen.fd, "new", "never captured");
	fork_off(env, &second, "second", &tree, &seen);
	struct hash now;
	env_ok(env, env->backend->capture(&second, &now, env_err(env)));
	assert_same_tree(&tree, &now);
	assert_false(is_there(seen.fd, "new"));
	if (env->backend == &workspace_reflink || env->backend == &workspace_btrfs)
		assert_true(shares_blocks(seen.fd, "large"));
	/* a write to one workspace does not change the other */
	put(seen.fd, "large", "mine");
	struct stat st;
	assert_int_equal(fstatat(env->seen.fd, "large", &st, 0), 0);
	assert_int_equal(st.st_size, 300000);
	env_ok(env, workspace_forget(env->fixture->rootfd, "second", env_err(env)));
	put_bytes(seen.fd, "large", bytes, 300000);
	stamp(seen.fd, "large", mtime_of(env->seen.fd, "large"));
	env_ok(env, env->backend->capture(&second, &now, env_err(env)));
	assert_same_tree(&tree, &now);
	fork_end(env, &second, &seen);
	assert_holds(env->seen.fd, "a", "one");
}

static void leaves_out_what_is_excluded(void **state)
{
	static const char *const patterns[] = { "*.tmp" };
	struct env *env = ready(state);
	struct hash tree = create(env);

	put(env->seen.fd, "x.tmp", "x");
	stamp(env->seen.fd, ".", OLD);
	env->ws.setup.exclude = patterns;
	env->ws.setup.n_exclude = 1;
	struct hash now = capture(env);
	assert_same_tree(&tree, &now);
	/*
	 * workspace_choose does not choose a mounted backend if files are excluded, since they
	 * would be lost
	 */
	if (env->backend->kind.mounted)
		return;
	struct hash empty = tree_of(env->fixture, "");
	become(env, &tree, &empty);
	assert_holds(env->seen.fd, "x.tmp", "x");
}

static void makes_it_durable_when_asked(void **state)
{
	struct env *env = ready(state);

	env->ws.setup.durable = true;
	struct hash tree = create(env), empty = tree_of(env->fixture, "");
	struct hash now = become(env, &tree, &empty);
	assert_same_tree(&empty, &now);
	now = become(env, &empty, &tree);
	assert_same_tree(&tree, &now);
}

/* --- choosing --- */

static const struct workspace_backend *choose(
	int fd, const char *name, bool programs, char reason[400], struct err *err)
{
	struct workspace_want want = { .backend = name, .programs = programs };

	const struct workspace_kind *kind = workspace_choose(fd, &want, reason, 400, err);
	return kind ? workspace_backend(kind->name) : NULL;
}

/* Check that the reason of the choice says why this backend was not chosen. */
static void assert_reason(const char *reason, const struct workspace_backend *backend, int fd)
{
	char why[WORKSPACE_WHY_MAX] = "";

	assert_int_equal(backend->probe(fd, why), 0);
	owned_mem char *says = mem_printf("no %s: %s", backend->kind.name, why);
	assert_non_null(strstr(reason, says));
}

/*
 * Check the choice on a file system that is not btrfs and cannot clone files, and that nothing is
 * left behind.
 */
static void assert_only_copies(int fd, const char *tested)
{
	char why[WORKSPACE_WHY_MAX] = "", reason[400] = "";
	struct err err = { 0 };

	if (workspace_reflink.probe(fd, why)) {
		printf("# %s can clone files\n", tested);
		return;
	}
	assert_string_equal(why, "this file system cannot clone files (no FICLONE)");
	assert_ptr_equal(choose(fd, NULL, false, reason, &err), &workspace_copy);
	assert_reason(reason, &workspace_reflink, fd);
	assert_reason(reason, &workspace_btrfs, fd);
	assert_ptr_equal(choose(fd, "auto", false, reason, &err), &workspace_copy);
	assert_null(choose(fd, "reflink", false, reason, &err));
	assert_int_equal(err.code, ERR_UNSUPPORTED);
	assert_non_null(strstr(err.text, why));
	assert_string_not_equal(err.hint, "");
}

static void says_why_a_backend_cannot_work(void **state)
{
	const char *tmp = getenv("TMPDIR");
	char path[300], why[WORKSPACE_WHY_MAX];
	struct err err = { 0 };
	struct statfs fs;

	snprintf(path, sizeof(path), "%s/strata-test-XXXXXX", tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(path));
	owned_fd int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_only_copies(fd, path);
	assert_int_equal(at_holds_only(fd, "", &err), 1);
	assert_int_equal(rmdir(path), 0);
	owned_fd int shm = open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (shm >= 0 && fstatfs(shm, &fs) == 0 && fs.f_type == TMPFS) {
		assert_only_copies(shm, "/dev/shm");
		assert_int_equal(workspace_btrfs.probe(shm, why), 0);
		assert_string_equal(why, "this file system is tmpfs, not btrfs");
	}
	owned_fd int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(workspace_btrfs.probe(proc, why), 0);
	assert_string_equal(why, "this file system is not btrfs");
}

static void chooses_what_was_asked_for(void **state)
{
	owned_fd int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char reason[400] = "";
	struct err err = { 0 };

	assert_ptr_equal(choose(fd, "copy", false, reason, &err), &workspace_copy);
	assert_string_equal(reason, "asked for with --backend");
	assert_null(choose(fd, "teleport", false, reason, &err));
	assert_int_equal(err.code, ERR_UNSUPPORTED);
	assert_null(workspace_backend(""));
	for (size_t i = 0; workspace_backends[i]; i++)
		assert_ptr_equal(
			workspace_backend(workspace_backends[i]->kind.name), workspace_backends[i]);
}

static void assert_best(struct image *image, const struct workspace_backend *best)
{
	/* valgrind does not know the system calls by which overlays are mounted */
	const char *preloaded = getenv("LD_PRELOAD");

	if (preloaded && strstr(preloaded, "vgpreload")) {
		printf("# skip: valgrind\n");
		skip();
	}
	const char *tmp = getenv("TMPDIR");
	char reason[400] = "";
	struct err err = { 0 };

	if (!image_mount(image, tmp ? tmp : "/tmp")) {
		printf("# skip: %s\n", image->why);
		skip();
	}
	owned_fd int fd = open(image->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_ptr_equal(choose(fd, "auto", false, reason, &err), best);
	assert_ptr_equal(choose(fd, "auto", true, reason, &err), &workspace_overlay);
	assert_string_equal(reason, "the best that works here");
	assert_int_equal(at_holds_only(fd, "", &err), 1);
}

static void the_best_that_works_is_chosen_on_xfs(void **state)
{
	assert_best(&xfs_image, &workspace_reflink);
}

static void the_best_that_works_is_chosen_on_btrfs(void **state)
{
	assert_best(&btrfs_image, &workspace_btrfs);
}

static void knows_a_good_name(void **state)
{
	static const struct {
		const char *name;
		bool good;
	} cases[] = { { "main", true }, { "a", true }, { "A-b_c.9", true }, { "", false },
		{ ".hidden", false }, { "..", false }, { "-x", false }, { "a/b", false },
		{ "a b", false }, { "\xc3\xa9", false }, { "a\n", false } };
	char longest[WORKSPACE_NAME_MAX + 2];

	for (size_t i = 0; i < COUNT(cases); i++)
		assert_int_equal(workspace_name_ok(cases[i].name), cases[i].good);
	memset(longest, 'x', sizeof(longest));
	longest[WORKSPACE_NAME_MAX + 1] = '\0';
	assert_false(workspace_name_ok(longest));
	longest[WORKSPACE_NAME_MAX] = '\0';
	assert_true(workspace_name_ok(longest));
}

/* --- all of it --- */

#define conformance(name)                                                                          \
	{                                                                                          \
#name, name                                                                        \
	}

static const struct {
	const char *name;
	CMUnitTestFunction test;
} cases[] = {
	conformance(makes_the_tree_it_is_given),
	conformance(captures_what_changed_and_only_that),
	conformance(sees_every_change_at_once),
	conformance(becomes_what_it_was),
	conformance(any_tree_becomes_any_other),
	conformance(a_capture_that_is_not_settled_changes_nothing),
	conformance(looking_only_writes_nothing),
	conformance(reads_everything_once_it_forgot),
	conformance(does_not_believe_an_index_the_store_knows_nothing_of),
	conformance(destroys_all_that_belongs_to_it),
	conformance(a_tree_outside_the_environment_stays_when_it_is_destroyed),
	conformance(a_second_one_may_take_its_files_from_the_first),
	conformance(leaves_out_what_is_excluded),
	conformance(makes_it_durable_when_asked),
};

int main(void)
{
	struct CMUnitTest tests[100] = {
		cmocka_unit_test(says_why_a_backend_cannot_work),
		cmocka_unit_test(chooses_what_was_asked_for),
		cmocka_unit_test(the_best_that_works_is_chosen_on_xfs),
		cmocka_unit_test(the_best_that_works_is_chosen_on_btrfs),
		cmocka_unit_test(knows_a_good_name),
	};
	static char names[100][100];
	size_t n = 5;

	mounts_enter();
	for (size_t b = 0; workspace_backends[b]; b++) {
		for (size_t i = 0; i < COUNT(cases); i++, n++) {
			snprintf(names[n], sizeof(names[n]), "%s: %s",
				workspace_backends[b]->kind.name, cases[i].name);
			tests[n] = (struct CMUnitTest){ names[n], cases[i].test, env_setup,
				env_teardown, (void *)workspace_backends[b] };
		}
	}
	return _cmocka_run_group_tests("workspace", tests, n, NULL, images_remove);
}
