/* Tests of the backend btrfs: it finds changes without a walk, and misses no change. */
#include <linux/fs.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>

#include <cmocka.h>

#include "valgrind_fixture.h"
#include "workspace/subvolume.h"
#include "workspace_fixture.h"

#define FORKS 64

/*
 * The tree has no symbolic link, since the first reading of a link stores the time of the reading,
 * which is a change of the subvolume.
 */
static struct hash create_plain(struct env *env)
{
	return create_as(env, "a=one d/,m0700 d/e/f=two d/g=three,m0600 p|");
}

/* Capture, and check that the capture has looked at no file. */
static void assert_no_walk(struct env *env, const struct hash *tree)
{
	struct hash now = capture(env);

	assert_same_tree(tree, &now);
	assert_int_equal(env->counters.scanned, 0);
}

static void assert_walk(struct env *env, const struct hash *tree)
{
	struct hash now = capture(env);

	assert_same_tree(tree, &now);
	assert_int_not_equal(env->counters.scanned, 0);
	settle_index(env);
}

/* --- captures --- */

static void an_unchanged_tree_is_not_walked(void **state)
{
	struct env *env = ready(state);
	struct hash tree = create_plain(env);

	assert_no_walk(env, &tree);
	reopen(env);
	assert_no_walk(env, &tree);
	put(env->seen.fd, "d/g", "changed");
	struct hash changed = capture(env);
	assert_other_tree(&tree, &changed);
	/* the index was not settled, so its mark does not count */
	reopen(env);
	assert_walk(env, &changed);
	assert_no_walk(env, &changed);
	struct hash now = become(env, &changed, &tree);
	assert_same_tree(&tree, &now);
	assert_no_walk(env, &tree);
	/* changes elsewhere on the file system do not matter */
	put(env->fixture->rootfd, "elsewhere", "x");
	assert_int_equal(syncfs(env->fixture->rootfd), 0);
	assert_no_walk(env, &tree);
	env->ws.setup.scratch = true;
	assert_no_walk(env, &tree);
}

static void a_link_that_was_read_costs_one_walk(void **state)
{
	struct env *env = ready(state);

	create_plain(env);
	assert_int_equal(symlinkat("a", env->seen.fd, "l"), 0);
	settle();
	struct hash tree = capture(env);
	settle_index(env);
	capture(env);
	settle_index(env);
	assert_no_walk(env, &tree);
}

static void is_walked_when_the_index_was_forgotten(void **state)
{
	struct env *env = ready(state);
	struct hash tree = create_plain(env);

	assert_no_walk(env, &tree);
	env_ok(env, workspace_forget(env->fixture->rootfd, "main", env_err(env)));
	assert_walk(env, &tree);
	assert_no_walk(env, &tree);
}

static void is_walked_when_other_names_are_left_out(void **state)
{
	static const char *const patterns[] = { "*.tmp" };
	struct env *env = ready(state);

	create_plain(env);
	put(env->seen.fd, "x.tmp", "x");
	struct hash with = capture(env);
	settle_index(env);
	env->ws.setup.exclude = patterns;
	env->ws.setup.n_exclude = 1;
	struct hash without = capture(env);
	assert_other_tree(&with, &without);
	settle_index(env);
	assert_no_walk(env, &without);
	env->ws.setup.n_exclude = 0;
	assert_walk(env, &with);
}

/*
 * Write so that the change is hard to find: the file keeps its size and its old mtime, and the new
 * bytes are only in memory.
 */
static void write_unseen(int fd, uint32_t value, struct timespec mtime)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, mtime };

	assert_int_equal(pwrite(fd, &value, sizeof(value), 0), sizeof(value));
	assert_int_equal(futimens(fd, times), 0);
}

static uint32_t captured_value(struct env *env, const struct hash *tree, const char *path)
{
	owned(buf_release) struct buf bytes = BUF_INIT;
	struct entry entry = tree_entry(env->fixture, tree, path);
	uint32_t value;

	env_ok(env, content_load(env->fixture->store, &entry, 1 << 20, &bytes, env_err(env)));
	assert_true(bytes.len >= sizeof(value));
	memcpy(&value, bytes.data, sizeof(value));
	return value;
}

static void assert_no_write_is_missed(struct env *env, uint32_t n)
{
	struct timespec old = { .tv_sec = OLD / SECOND };

	put_bytes(env->seen.fd, "value", "\0\0\0\0", 4);
	owned_fd int fd = openat(env->seen.fd, "value", O_RDWR | O_CLOEXEC);
	for (uint32_t i = 1; i <= n; i++) {
		write_unseen(fd, i, old);
		struct hash now = capture(env);
		assert_int_equal(captured_value(env, &now, "value"), i);
		settle_index(env);
		assert_no_walk(env, &now);
	}
}

static void a_write_right_before_a_capture_is_never_missed(void **state)
{
	struct env *env = ready(state);

	create_plain(env);
	assert_no_write_is_missed(env, 150);
}

/*
 * The write goes through a mapping to a page that is dirty already, so the file gets no new time.
 */
static void a_write_through_a_mapping_that_stays_is_not_missed(void **state)
{
	struct env *env = ready(state);

	create_plain(env);
	put_bytes(env->seen.fd, "value", "\0\0\0\0", 4);
	owned_fd int fd = openat(env->seen.fd, "value", O_RDWR | O_CLOEXEC);
	volatile uint32_t *value = mmap(NULL, 4, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal((void *)value, MAP_FAILED);
	for (uint32_t i = 1; i <= 50; i++) {
		*value = i;
		struct hash now = capture(env);
		assert_int_equal(captured_value(env, &now, "value"), i);
		settle_index(env);
	}
	assert_int_equal(munmap((void *)value, 4), 0);
}

/* The file is written in place, so the write makes no new extent. */
static void a_write_without_copying_is_not_missed(void **state)
{
	struct env *env = ready(state);
	owned_mem char *bytes = fixture_noise(65536, 1);
	long flags = FS_NOCOW_FL; /* the ioctl is declared with a long, but takes an int */

	create_plain(env);
	owned_fd int fd = openat(env->seen.fd, "value", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(ioctl(fd, FS_IOC_SETFLAGS, &flags), 0);
	assert_int_equal(write(fd, bytes, 65536), 65536);
	assert_int_equal(fsync(fd), 0);
	for (uint32_t i = 1; i <= 50; i++) {
		write_unseen(fd, i, (struct timespec){ .tv_sec = OLD / SECOND });
		struct hash now = capture(env);
		assert_int_equal(captured_value(env, &now, "value"), i);
		settle_index(env);
	}
}

struct writer {
	int fd;
	_Atomic uint32_t done; /* the last value whose write has returned */
	_Atomic bool stop;
};

static void *keep_writing(void *arg)
{
	struct writer *writer = arg;
	struct timespec old = { .tv_sec = OLD / SECOND };

	for (uint32_t i = 1; !writer->stop; i++) {
		write_unseen(writer->fd, i, old);
		writer->done = i;
	}
	return NULL;
}

static void no_capture_is_behind_a_writer(void **state)
{
	struct env *env = ready(state);
	struct writer writer = { 0 };
	pthread_t thread;

	create_plain(env);
	put_bytes(env->seen.fd, "value", "\0\0\0\0", 4);
	writer.fd = openat(env->seen.fd, "value", O_RDWR | O_CLOEXEC);
	assert_int_equal(pthread_create(&thread, NULL, keep_writing, &writer), 0);
	for (int i = 0; i < 50; i++) {
		uint32_t least = writer.done;
		struct hash now = capture(env);

		assert_true(captured_value(env, &now, "value") >= least);
		settle_index(env);
	}
	writer.stop = true;
	assert_int_equal(pthread_join(thread, NULL), 0);
	struct hash now = capture(env);
	assert_int_equal(captured_value(env, &now, "value"), writer.done);
	close_fd(&writer.fd);
}

/* Changes in the nested subvolume do not change the generation of the outer one. */
static void a_change_in_a_nested_subvolume_is_not_missed(void **state)
{
	struct env *env = ready(state);

	create_plain(env);
	env_ok(env, subvolume_make(env->seen.fd, "inner", env_err(env)));
	put(env->seen.fd, "inner/file", "one");
	struct hash now = capture(env);
	settle_index(env);
	put(env->seen.fd, "inner/file", "two");
	now = capture(env);
	assert_text(env->fixture, &now, "inner/file", "two");
	settle_index(env);
	/* the workspace can be removed in spite of the nested subvolume */
	env_ok(env, env->backend->destroy(&env->ws, env_err(env)));
	assert_false(is_there(env->fixture->rootfd, WORKSPACE_LIVE_DIR "/main"));
}

/* A mount hides files during a capture.  The next capture must find them. */
static void a_walk_that_could_not_see_all_counts_for_nothing(void **state)
{
	struct env *env = ready(state);
	owned_mem char *path = mem_printf("%s/" WORKSPACE_LIVE_DIR "/main/d", env->fixture->path);

	if (no_mounts[0]) {
		printf("# skip: %s\n", no_mounts);
		skip();
	}
	create_plain(env);
	put(env->seen.fd, "new", "new");
	put(env->seen.fd, "d/g", "four");
	assert_int_equal(mount("none", path, "tmpfs", 0, NULL), 0);
	struct hash hidden = capture(env);
	assert_text(env->fixture, &hidden, "d/g", "three");
	settle_index(env);
	assert_int_equal(umount(path), 0);
	struct hash now = capture(env);
	assert_text(env->fixture, &now, "d/g", "four");
	assert_text(env->fixture, &now, "new", "new");
}

/*
 * The live tree is removed by hand and made again by a checkout.  The index then belongs to the old
 * live tree.
 */
static void a_live_tree_made_anew_is_not_taken_for_the_old_one(void **state)
{
	struct env *env = ready(state);
	struct hash tree = create_plain(env), empty = tree_of(env->fixture, "");
	owned_fd int work = openat(
		env->fixture->rootfd, WORKSPACE_LIVE_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct workspace ws;
	struct seen seen;

	assert_no_walk(env, &tree);
	workspace_close(&env->ws);
	env_ok(env, subvolume_delete(work, "main", env_err(env)));
	workspace_init(env, &env->ws, "main");
	env->ws.setup.remake = true;
	env_ok(env, workspace_open(&env->ws, env_err(env)));
	assert_true(subvolume_is(env->ws.live));
	seen_open(env, &env->ws, &env->seen);
	fork_off(env, &ws, "second", &tree, &seen);
	struct hash now = read_all(env, &seen);
	assert_same_tree(&tree, &now);
	fork_end(env, &ws, &seen);
	assert_int_equal(fchmod(env->ws.live, 0755), 0);
	stamp(env->ws.live, ".", OLD);
	now = capture(env);
	assert_same_tree(&empty, &now);
	settle_index(env);
	now = become(env, &empty, &tree);
	assert_same_tree(&tree, &now);
}

/* --- forks --- */

static void a_fork_costs_no_walk(void **state)
{
	struct env *env = ready(state);
	struct workspace ws;
	struct seen seen;

	create_plain(env);
	put(env->seen.fd, "d/g", "changed");
	struct hash tree = capture(env), now;
	settle_index(env);
	env->counters.ingested.files = env->counters.scanned = 0;
	for (int i = 0; i < 3; i++) {
		fork_off(env, &ws, "second", &tree, &seen);
		assert_int_equal(env->counters.scanned + env->counters.ingested.files, 0);
		env_ok(env, env->backend->capture(&ws, &now, env_err(env)));
		assert_same_tree(&tree, &now);
		assert_int_equal(env->counters.scanned, 0);
		now = read_all(env, &seen);
		assert_same_tree(&tree, &now);
		/* the workspace that was forked needs no walk either */
		assert_no_walk(env, &tree);
		fork_end(env, &ws, &seen);
	}
}

/*
 * The first fork has to walk.  The result is kept, so later forks and the first workspace need no
 * walk.
 */
static void a_walk_for_nothing_is_made_once(void **state)
{
	struct env *env = ready(state);
	struct workspace ws;
	struct seen seen;

	create_plain(env);
	assert_int_equal(symlinkat("a", env->seen.fd, "l"), 0);
	settle();
	struct hash tree = capture(env);
	settle_index(env);
	for (int i = 0; i < 3; i++) {
		env->counters.scanned = 0;
		fork_off(env, &ws, "second", &tree, &seen);
		assert_int_equal(env->counters.scanned != 0, i == 0);
		struct hash now = read_all(env, &seen);
		assert_same_tree(&tree, &now);
		fork_end(env, &ws, &seen);
	}
	assert_no_walk(env, &tree);
}

static void what_the_first_one_did_since_is_not_in_a_fork(void **state)
{
	struct env *env = ready(state);
	struct timespec old = { .tv_sec = OLD / SECOND };
	struct workspace ws;
	struct seen seen;

	create_plain(env);
	put_bytes(env->seen.fd, "value", "\0\0\0\0", 4);
	owned_fd int fd = openat(env->seen.fd, "value", O_RDWR | O_CLOEXEC);
	write_unseen(fd, 0, old);
	struct hash tree = capture(env), now;
	settle_index(env);
	for (uint32_t i = 1; i <= 30; i++) {
		/*
		 * Setting a time changes the generation at once.  Written bytes change it only when
		 * they are written out.
		 */
		if (i % 2)
			write_unseen(fd, i, old);
		else
			assert_int_equal(pwrite(fd, &i, sizeof(i), 0), sizeof(i));
		fork_off(env, &ws, "second", &tree, &seen);
		now = read_all(env, &seen);
		assert_same_tree(&tree, &now);
		env_ok(env, env->backend->capture(&ws, &now, env_err(env)));
		assert_same_tree(&tree, &now);
		fork_end(env, &ws, &seen);
		tree = capture(env);
		assert_int_equal(captured_value(env, &tree, "value"), i);
		settle_index(env);
	}
}

/* The fork has the wanted tree, even if the first workspace is changed during the fork. */
static void a_fork_under_a_writer_is_the_tree(void **state)
{
	struct env *env = ready(state);
	struct writer writer = { 0 };
	struct workspace ws;
	struct seen seen;
	pthread_t thread;

	create_plain(env);
	put_bytes(env->seen.fd, "value", "\0\0\0\0", 4);
	writer.fd = openat(env->seen.fd, "value", O_RDWR | O_CLOEXEC);
	assert_int_equal(pthread_create(&thread, NULL, keep_writing, &writer), 0);
	for (int i = 0; i < 50; i++) {
		struct hash tree = capture(env), now;

		settle_index(env);
		fork_off(env, &ws, "second", &tree, &seen);
		now = read_all(env, &seen);
		assert_same_tree(&tree, &now);
		fork_end(env, &ws, &seen);
	}
	writer.stop = true;
	assert_int_equal(pthread_join(thread, NULL), 0);
	close_fd(&writer.fd);
}

static void a_fork_may_be_of_another_tree(void **state)
{
	struct env *env = ready(state);
	struct hash first = create_plain(env), now;
	struct workspace ws;
	struct seen seen;

	put(env->seen.fd, "d/g", "changed");
	put(env->seen.fd, "new", "new");
	capture(env);
	settle_index(env);
	fork_off(env, &ws, "second", &first, &seen);
	now = read_all(env, &seen);
	assert_same_tree(&first, &now);
	env->counters.scanned = 0;
	env_ok(env, env->backend->capture(&ws, &now, env_err(env)));
	assert_same_tree(&first, &now);
	assert_int_equal(env->counters.scanned, 0);
	fork_end(env, &ws, &seen);
}

/*
 * The index is copied with its inode numbers.  After the fork, both sides give the same numbers to
 * new files.
 */
static void a_fork_goes_its_own_way(void **state)
{
	struct env *env = ready(state);
	struct workspace ws;
	struct seen seen;

	struct hash tree = create_plain(env), now;
	fork_off(env, &ws, "second", &tree, &seen);
	for (int i = 0; i < 20; i++) {
		char name[32];

		snprintf(name, sizeof(name), "new-%d", i);
		put(env->seen.fd, name, "first");
		put(seen.fd, name, "other");
		stamp(env->seen.fd, name, OLD);
		stamp(seen.fd, name, OLD);
		now = capture(env);
		assert_text(env->fixture, &now, name, "first");
		settle_index(env);
		env_ok(env, env->backend->capture(&ws, &now, env_err(env)));
		assert_text(env->fixture, &now, name, "other");
		env_ok(env, store_flush(env->fixture->store, env_err(env)));
		env_ok(env, env->backend->save_index(&ws, env_err(env)));
	}
	fork_end(env, &ws, &seen);
}

static void what_is_left_out_does_not_come_along(void **state)
{
	static const char *const patterns[] = { "*.tmp" };
	struct env *env = ready(state);
	struct workspace ws;

	env->ws.setup.exclude = patterns;
	env->ws.setup.n_exclude = 1;
	struct hash tree = create_plain(env);
	put(env->seen.fd, "x.tmp", "x");
	stamp(env->seen.fd, ".", OLD);
	struct hash now = capture(env);
	assert_same_tree(&tree, &now);
	settle_index(env);
	workspace_init(env, &ws, "second");
	ws.setup.exclude = patterns;
	ws.setup.n_exclude = 1;
	env_ok(env, env->backend->create(&ws, &tree, env->ws.live, env_err(env)));
	assert_false(is_there(ws.live, "x.tmp"));
	assert_holds(ws.live, "a", "one");
	workspace_close(&ws);
}

static void what_a_fork_that_died_left_is_cleared_away(void **state)
{
	struct env *env = ready(state);
	struct hash tree = create_plain(env), now;
	struct workspace ws;
	struct seen seen;

	owned_fd int work = openat(
		env->fixture->rootfd, WORKSPACE_LIVE_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	env_ok(env, subvolume_snapshot(env->ws.live, work, "second", env_err(env)));
	put(env->fixture->rootfd, WORKSPACE_LIVE_DIR "/second/junk", "x");
	put(env->fixture->rootfd, WORKSPACE_INDEX_DIR "/.second", "junk");
	fork_off(env, &ws, "second", &tree, &seen);
	now = read_all(env, &seen);
	assert_same_tree(&tree, &now);
	fork_end(env, &ws, &seen);
}

static double milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void many_forks_are_cheap(void **state)
{
	struct env *env = ready(state);
	static struct workspace ws[FORKS];
	static struct seen seen[FORKS];
	/* valgrind takes ten minutes for all of them */
	const int forks = valgrind_runs() ? 4 : FORKS;
	char name[32];

	create_plain(env);
	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "file-%d", i);
		put(env->seen.fd, name, name);
	}
	struct hash tree = capture(env), now;
	settle_index(env);
	env->counters.scanned = 0;
	double began = milliseconds();
	for (int i = 0; i < forks; i++) {
		snprintf(name, sizeof(name), "fork-%d", i);
		fork_off(env, &ws[i], name, &tree, &seen[i]);
	}
	printf("# %d forks: %.1f ms\n", forks, milliseconds() - began);
	assert_int_equal(env->counters.scanned, 0);
	for (int i = 0; i < forks; i++) {
		snprintf(name, sizeof(name), "of fork %d", i);
		put(seen[i].fd, "file-7", name);
	}
	for (int i = 0; i < forks; i++) {
		snprintf(name, sizeof(name), "of fork %d", i);
		env_ok(env, env->backend->capture(&ws[i], &now, env_err(env)));
		assert_text(env->fixture, &now, "file-7", name);
		assert_holds(seen[i].fd, "file-7", name);
		assert_holds(seen[i].fd, "file-8", "file-8");
		fork_end(env, &ws[i], &seen[i]);
	}
	assert_no_walk(env, &tree);
}

/* --- without privilege --- */

static void as_root(const char *command, const char *path)
{
	assert_int_equal(seteuid(0), 0);
	assert_true(run("%s '%s'", command, path));
	assert_int_equal(seteuid(NOBODY), 0);
}

static void an_ordinary_user_needs_the_mount_option(void **state)
{
	struct env *env = ready(state);
	char why[WORKSPACE_WHY_MAX] = "";
	struct workspace ws;
	struct seen seen;

	need_root();
	if (strcmp(getenv("TMPDIR"), btrfs_image.path)) {
		printf("# skip: %s is btrfs already, with options of its own\n", env->tmpdir);
		skip();
	}
	workspace_close(&env->ws);
	become_user(env->fixture);
	workspace_init(env, &env->ws, "main");
	owned_fd int dir = openat(
		env->fixture->rootfd, WORKSPACE_LIVE_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(env->backend->probe(dir, why), 0);
	assert_string_equal(why, "subvolumes cannot be deleted here"
				 " (mount option user_subvol_rm_allowed is missing)");
	assert_int_equal(at_holds_only(dir, "", env_err(env)), 1);
	/* a live tree that was made with the mount option can be removed without the option */
	create_plain(env);
	seen_close(&env->seen);
	env_ok(env, env->backend->destroy(&env->ws, env_err(env)));
	workspace_close(&env->ws);
	assert_int_equal(at_holds_only(dir, "", env_err(env)), 1);

	as_root("mount -o remount,user_subvol_rm_allowed", btrfs_image.path);
	assert_int_equal(env->backend->probe(dir, why), 1);
	assert_int_equal(at_holds_only(dir, "", env_err(env)), 1);
	workspace_init(env, &env->ws, "main");
	struct hash tree = create_plain(env), now;
	assert_no_walk(env, &tree);
	env->counters.scanned = 0;
	fork_off(env, &ws, "second", &tree, &seen);
	assert_int_equal(env->counters.scanned, 0);
	put(seen.fd, "a", "changed");
	env_ok(env, env->backend->capture(&ws, &now, env_err(env)));
	assert_text(env->fixture, &now, "a", "changed");
	fork_end(env, &ws, &seen);
	assert_no_walk(env, &tree);
	assert_no_write_is_missed(env, 30);
}

#define on_btrfs(name)                                                                             \
	{                                                                                          \
#name, name, env_setup, env_teardown, (void *)&workspace_btrfs                     \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		on_btrfs(an_unchanged_tree_is_not_walked),
		on_btrfs(a_link_that_was_read_costs_one_walk),
		on_btrfs(is_walked_when_the_index_was_forgotten),
		on_btrfs(is_walked_when_other_names_are_left_out),
		on_btrfs(a_write_right_before_a_capture_is_never_missed),
		on_btrfs(a_write_through_a_mapping_that_stays_is_not_missed),
		on_btrfs(a_write_without_copying_is_not_missed),
		on_btrfs(no_capture_is_behind_a_writer),
		on_btrfs(a_change_in_a_nested_subvolume_is_not_missed),
		on_btrfs(a_walk_that_could_not_see_all_counts_for_nothing),
		on_btrfs(a_live_tree_made_anew_is_not_taken_for_the_old_one),
		on_btrfs(a_fork_costs_no_walk),
		on_btrfs(a_walk_for_nothing_is_made_once),
		on_btrfs(what_the_first_one_did_since_is_not_in_a_fork),
		on_btrfs(a_fork_under_a_writer_is_the_tree),
		on_btrfs(a_fork_may_be_of_another_tree),
		on_btrfs(a_fork_goes_its_own_way),
		on_btrfs(what_is_left_out_does_not_come_along),
		on_btrfs(what_a_fork_that_died_left_is_cleared_away),
		on_btrfs(many_forks_are_cheap),
		on_btrfs(an_ordinary_user_needs_the_mount_option),
	};

	mounts_enter();
	return cmocka_run_group_tests_name("btrfs", tests, NULL, images_remove);
}
