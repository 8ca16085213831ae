/* workspace: every backend over the same cases, each on a file system where it works. */
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/vfs.h>

#include <cmocka.h>

#include "workspace/workspace.h"

#include "tree_fixture.h"

#define IMAGE_SIZE ((off_t)300 << 20) /* the least mkfs.xfs takes */
#define TMPFS 0x01021994

/* --- a file system that can clone, for backends the temporary directory is not enough for --- */

static char cloning[300];    /* where it is mounted, "" nowhere */
static char no_cloning[128]; /* why not */

static bool run(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static bool run(const char *fmt, ...)
{
	owned(buf_release) struct buf command = BUF_INIT;
	va_list ap;

	buf_adds(&command, "PATH=$PATH:/usr/sbin:/sbin; ");
	va_start(ap, fmt);
	buf_addv(&command, fmt, ap);
	va_end(ap);
	return system(command.data) == 0;
}

/*
 * In a mount namespace of our own, so that the mount and with it the loop
 * device go with this process, whatever happens to it.
 */
static void mount_cloning(const char *tmp)
{
	static bool tried;
	char place[200];

	if (tried)
		return;
	tried = true;
	if (getuid()) {
		snprintf(no_cloning, sizeof(no_cloning), "not root");
		return;
	}
	if (!run("command -v mkfs.xfs >/dev/null")) {
		snprintf(no_cloning, sizeof(no_cloning), "no mkfs.xfs");
		return;
	}
	snprintf(no_cloning, sizeof(no_cloning), "an XFS image cannot be mounted here");
	snprintf(place, sizeof(place), "%s/strata-test-XXXXXX", tmp);
	if (unshare(CLONE_NEWNS) < 0 || mount("", "/", "", MS_REC | MS_PRIVATE, NULL) < 0 ||
		!mkdtemp(place))
		return;
	bool mounted = run("truncate -s %lld '%s/image' && mkfs.xfs -q -m reflink=1 '%s/image' &&"
			   " mkdir '%s/mount' && mount -o loop '%s/image' '%s/mount'",
		(long long)IMAGE_SIZE, place, place, place, place, place);
	/* The loop device keeps the image. */
	(void)run("rm -f '%s/image'", place);
	if (mounted)
		snprintf(cloning, sizeof(cloning), "%s/mount", place);
	else
		(void)run("rm -rf '%s'", place);
}

static int unmount_cloning(void **state)
{
	if (!cloning[0])
		return 0;
	(void)umount2(cloning, MNT_DETACH);
	*strrchr(cloning, '/') = '\0';
	return !run("rm -rf '%s'", cloning);
}

/* --- an environment --- */

struct env {
	struct fixture *fixture;
	const struct workspace_backend *backend;
	struct workspace ws;
	struct report report;
	struct ingest_progress ingested;
	char tmpdir[256]; /* as it was */
};

static void workspace_init(struct env *env, struct workspace *ws, const char *name)
{
	*ws = (struct workspace){
		.backend = env->backend,
		.rootfd = env->fixture->rootfd,
		.store = env->fixture->store,
		.report = &env->report,
		.ingested = &env->ingested,
		.live = -1,
		.index = -1,
	};
	snprintf(ws->name, sizeof(ws->name), "%s", name);
}

static bool works_at(const struct workspace_backend *backend, const char *path)
{
	owned_fd int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char why[WORKSPACE_WHY_MAX] = "";

	return backend->probe(fd, why);
}

static int env_setup(void **state)
{
	struct env *env = mem_zalloc(sizeof(*env));
	const char *tmp = getenv("TMPDIR");
	void *fixture = NULL;

	env->backend = *state;
	env->report = (struct report)REPORT_INIT;
	*state = env;
	snprintf(env->tmpdir, sizeof(env->tmpdir), "%s", tmp ? tmp : "/tmp");
	if (!works_at(env->backend, env->tmpdir)) {
		mount_cloning(env->tmpdir);
		if (!cloning[0])
			return 0;
		setenv("TMPDIR", cloning, 1);
	}
	if (tree_setup(&fixture) < 0)
		return -1;
	env->fixture = fixture;
	workspace_init(env, &env->ws, "main");
	return mkdirat(env->fixture->rootfd, WORKSPACE_LIVE_DIR, 0700) < 0 ||
	       mkdirat(env->fixture->rootfd, WORKSPACE_INDEX_DIR, 0700) < 0;
}

static int env_teardown(void **state)
{
	struct env *env = *state;
	void *fixture = env->fixture;
	int r = 0;

	setenv("TMPDIR", env->tmpdir, 1);
	if (fixture) {
		workspace_close(&env->ws);
		r = tree_teardown(&fixture);
	}
	report_release(&env->report);
	free(env);
	return r;
}

static struct env *ready(void **state)
{
	struct env *env = *state;

	if (!env->fixture) {
		printf("# skip: %s\n", no_cloning);
		skip();
	}
	return env;
}

#define env_ok(env, call) assert_ok((env)->fixture, call)
#define env_err(env) (&(env)->fixture->err)

static const char words[] = "a=one d/,m0700 d/e/f=two d/g=three,m0600 l@a p|";

static struct hash create(struct env *env)
{
	struct hash tree = tree_of(env->fixture, words);

	env_ok(env, env->backend->create(&env->ws, &tree, -1, env_err(env)));
	return tree;
}

static struct hash capture(struct env *env)
{
	struct hash tree;

	env->ingested.files = 0;
	env_ok(env, env->backend->capture(&env->ws, &tree, env_err(env)));
	return tree;
}

static void settle_index(struct env *env)
{
	env_ok(env, store_flush(env->fixture->store, env_err(env)));
	env_ok(env, env->backend->settle(&env->ws, env_err(env)));
}

static void reopen(struct env *env)
{
	workspace_close(&env->ws);
	workspace_init(env, &env->ws, "main");
	env_ok(env, workspace_open(&env->ws, env_err(env)));
}

static struct hash become(struct env *env, const struct hash *from, const struct hash *to)
{
	struct hash now;

	env_ok(env, env->backend->become(&env->ws, from, to, &now, env_err(env)));
	return now;
}

/* How many names there are in the directory of index files. */
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

	/* What it wrote itself it need not read. */
	assert_int_equal(env->ingested.files, 0);
	struct hash now = capture(env);
	assert_same_tree(&tree, &now);
	assert_holds(env->ws.live, "d/e/f", "two");
	assert_int_equal(env->report.n_items, 0);
	/* In its place in the environment. */
	assert_true(is_there(env->fixture->rootfd, WORKSPACE_LIVE_DIR "/main/d/g"));
}

static void captures_what_changed_and_only_that(void **state)
{
	struct env *env = ready(state);
	struct hash tree = create(env);

	settle();
	capture(env);
	settle_index(env);
	put(env->ws.live, "d/g", "changed");
	put(env->ws.live, "new", "new");
	struct hash changed = capture(env);
	assert_other_tree(&tree, &changed);
	assert_int_equal(env->ingested.files, 2);
	assert_text(env->fixture, &changed, "d/g", "changed");
	assert_text(env->fixture, &changed, "a", "one");
	settle_index(env);
	reopen(env);
	struct hash again = capture(env);
	assert_same_tree(&changed, &again);
}

static void becomes_what_it_was(void **state)
{
	struct env *env = ready(state);
	struct hash tree = create(env);

	put(env->ws.live, "d/g", "changed");
	put(env->ws.live, "new", "new");
	assert_int_equal(unlinkat(env->ws.live, "l", 0), 0);
	make(env->ws.live, "l");
	struct hash changed = capture(env);
	settle_index(env);
	struct hash now = become(env, &changed, &tree);
	assert_same_tree(&tree, &now);
	assert_holds(env->ws.live, "d/g", "three");
	assert_false(is_there(env->ws.live, "new"));
	now = capture(env);
	assert_same_tree(&tree, &now);
	/* And forth. */
	now = become(env, &tree, &changed);
	assert_same_tree(&changed, &now);
	assert_holds(env->ws.live, "d/g", "changed");
	reopen(env);
	now = capture(env);
	assert_same_tree(&changed, &now);
	struct hash empty = tree_of(env->fixture, "");
	now = become(env, &changed, &empty);
	assert_same_tree(&empty, &now);
	assert_int_equal(at_holds_only(env->ws.live, "", env_err(env)), 1);
}

static void a_capture_that_is_not_settled_changes_nothing(void **state)
{
	struct env *env = ready(state);
	struct hash tree = create(env), indexed;

	assert_true(workspace_indexed(env->fixture->rootfd, "main", &indexed));
	assert_same_tree(&tree, &indexed);
	put(env->ws.live, "new", "new");
	struct hash changed = capture(env);
	reopen(env);
	assert_int_equal(index_files(env), 1);
	assert_true(workspace_indexed(env->fixture->rootfd, "main", &indexed));
	assert_same_tree(&tree, &indexed);
	struct hash again = capture(env);
	assert_same_tree(&changed, &again);
	settle_index(env);
	assert_true(workspace_indexed(env->fixture->rootfd, "main", &indexed));
	assert_same_tree(&changed, &indexed);
	assert_int_equal(index_files(env), 1);
}

static void looking_only_writes_nothing(void **state)
{
	struct env *env = ready(state);
	struct hash tree = create(env), indexed;

	put(env->ws.live, "new", "new");
	workspace_close(&env->ws);
	workspace_init(env, &env->ws, "main");
	env->ws.scratch = true;
	env_ok(env, workspace_open(&env->ws, env_err(env)));
	struct hash changed = capture(env);
	assert_other_tree(&tree, &changed);
	env_ok(env, env->backend->settle(&env->ws, env_err(env)));
	assert_true(workspace_indexed(env->fixture->rootfd, "main", &indexed));
	assert_same_tree(&tree, &indexed);
	assert_int_equal(index_files(env), 1);
}

static void reads_everything_once_it_forgot(void **state)
{
	struct env *env = ready(state);
	struct hash tree = create(env), indexed;

	env_ok(env, workspace_forget(env->fixture->rootfd, "main", env_err(env)));
	env_ok(env, workspace_forget(env->fixture->rootfd, "main", env_err(env)));
	assert_false(workspace_indexed(env->fixture->rootfd, "main", &indexed));
	struct hash now = capture(env);
	assert_same_tree(&tree, &now);
	assert_int_equal(env->ingested.files, 3);
}

/* The index was settled, but what it speaks of never got into the store. */
static void does_not_believe_an_index_the_store_knows_nothing_of(void **state)
{
	struct env *env = ready(state);

	create(env);
	put(env->ws.live, "a", "only here");
	capture(env);
	env_ok(env, env->backend->settle(&env->ws, env_err(env)));
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
	put(env->ws.live, "not captured", "x");
	assert_int_equal(fchmodat(env->ws.live, "d", 0500, 0), 0);
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
	struct hash indexed;

	make(env->fixture->rootfd, "outside");
	put(env->fixture->rootfd, "outside/file", "x");
	env->ws.path = path;
	env_ok(env, env->backend->create(&env->ws, NULL, -1, env_err(env)));
	struct hash tree = capture(env);
	assert_text(env->fixture, &tree, "file", "x");
	settle_index(env);
	put(env->ws.live, "file", "y");
	struct hash changed = capture(env), now = become(env, &changed, &tree);
	assert_same_tree(&tree, &now);
	assert_holds(env->fixture->rootfd, "outside/file", "x");
	env_ok(env, env->backend->destroy(&env->ws, env_err(env)));
	assert_false(workspace_indexed(env->fixture->rootfd, "main", &indexed));
	assert_holds(env->fixture->rootfd, "outside/file", "x");
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

	create(env);
	put_bytes(env->ws.live, "large", bytes, 300000);
	put_bytes(env->ws.live, "changed later", bytes, 200000);
	struct hash tree = capture(env);
	settle_index(env);
	put(env->ws.live, "changed later", "no longer what was captured");
	put(env->ws.live, "new", "never captured");
	workspace_init(env, &second, "second");
	env_ok(env, env->backend->create(&second, &tree, env->ws.live, env_err(env)));
	struct hash now;
	env_ok(env, env->backend->capture(&second, &now, env_err(env)));
	assert_same_tree(&tree, &now);
	assert_false(is_there(second.live, "new"));
	if (env->backend == &workspace_reflink)
		assert_true(shares_blocks(second.live, "large"));
	/* Writing to one does not show in the other. */
	put(second.live, "large", "mine");
	struct stat st;
	assert_int_equal(fstatat(env->ws.live, "large", &st, 0), 0);
	assert_int_equal(st.st_size, 300000);
	env_ok(env, workspace_forget(env->fixture->rootfd, "second", env_err(env)));
	put_bytes(second.live, "large", bytes, 300000);
	stamp(second.live, "large", mtime_of(env->ws.live, "large"));
	env_ok(env, env->backend->capture(&second, &now, env_err(env)));
	assert_same_tree(&tree, &now);
	env_ok(env, env->backend->destroy(&second, env_err(env)));
	workspace_close(&second);
	assert_holds(env->ws.live, "a", "one");
}

static void leaves_out_what_is_excluded(void **state)
{
	static const char *const patterns[] = { "*.tmp" };
	struct env *env = ready(state);
	struct hash tree = create(env);

	put(env->ws.live, "x.tmp", "x");
	stamp(env->ws.live, ".", OLD);
	env->ws.exclude = patterns;
	env->ws.n_exclude = 1;
	struct hash now = capture(env);
	assert_same_tree(&tree, &now);
	struct hash empty = tree_of(env->fixture, "");
	become(env, &tree, &empty);
	assert_holds(env->ws.live, "x.tmp", "x");
}

static void makes_it_durable_when_asked(void **state)
{
	struct env *env = ready(state);

	env->ws.durable = true;
	struct hash tree = create(env), empty = tree_of(env->fixture, "");
	struct hash now = become(env, &tree, &empty);
	assert_same_tree(&empty, &now);
	now = become(env, &empty, &tree);
	assert_same_tree(&tree, &now);
}

/* --- choosing --- */

/* The reason on a file system that cannot clone, and nothing left behind. */
static void assert_no_reflink(int fd, const char *tested)
{
	char why[WORKSPACE_WHY_MAX] = "", reason[300] = "";
	struct err err = { 0 };

	if (workspace_reflink.probe(fd, why)) {
		printf("# %s can clone files\n", tested);
		return;
	}
	assert_string_equal(why, "this file system cannot clone files (no FICLONE)");
	assert_ptr_equal(workspace_choose(fd, NULL, reason, sizeof(reason), &err), &workspace_copy);
	assert_string_equal(reason, "no reflink: this file system cannot clone files (no FICLONE)");
	assert_ptr_equal(
		workspace_choose(fd, "auto", reason, sizeof(reason), &err), &workspace_copy);
	assert_null(workspace_choose(fd, "reflink", reason, sizeof(reason), &err));
	assert_int_equal(err.code, ERR_UNSUPPORTED);
	assert_non_null(strstr(err.text, why));
	assert_string_not_equal(err.hint, "");
}

static void says_why_a_backend_cannot_work(void **state)
{
	const char *tmp = getenv("TMPDIR");
	char path[300];
	struct err err = { 0 };
	struct statfs fs;

	snprintf(path, sizeof(path), "%s/strata-test-XXXXXX", tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(path));
	owned_fd int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_no_reflink(fd, path);
	assert_int_equal(at_holds_only(fd, "", &err), 1);
	assert_int_equal(rmdir(path), 0);
	owned_fd int shm = open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (shm >= 0 && fstatfs(shm, &fs) == 0 && fs.f_type == TMPFS)
		assert_no_reflink(shm, "/dev/shm");
}

static void chooses_what_was_asked_for(void **state)
{
	owned_fd int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char reason[100] = "";
	struct err err = { 0 };

	assert_ptr_equal(
		workspace_choose(fd, "copy", reason, sizeof(reason), &err), &workspace_copy);
	assert_string_equal(reason, "asked for with --backend");
	assert_null(workspace_choose(fd, "teleport", reason, sizeof(reason), &err));
	assert_int_equal(err.code, ERR_UNSUPPORTED);
	assert_null(workspace_backend(""));
	for (size_t i = 0; workspace_backends[i]; i++)
		assert_ptr_equal(
			workspace_backend(workspace_backends[i]->name), workspace_backends[i]);
}

static void the_best_that_works_is_chosen(void **state)
{
	char reason[100] = "";
	struct err err = { 0 };
	const char *tmp = getenv("TMPDIR");

	mount_cloning(tmp ? tmp : "/tmp");
	if (!cloning[0]) {
		printf("# skip: %s\n", no_cloning);
		skip();
	}
	owned_fd int fd = open(cloning, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_ptr_equal(
		workspace_choose(fd, "auto", reason, sizeof(reason), &err), &workspace_reflink);
	assert_string_equal(reason, "the best that works here");
	assert_int_equal(at_holds_only(fd, "", &err), 1);
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
	conformance(becomes_what_it_was),
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
		cmocka_unit_test(the_best_that_works_is_chosen),
		cmocka_unit_test(knows_a_good_name),
	};
	static char names[100][100];
	size_t n = 4;

	for (size_t b = 0; workspace_backends[b]; b++) {
		for (size_t i = 0; i < COUNT(cases); i++, n++) {
			snprintf(names[n], sizeof(names[n]), "%s: %s", workspace_backends[b]->name,
				cases[i].name);
			tests[n] = (struct CMUnitTest){ names[n], cases[i].test, env_setup,
				env_teardown, (void *)workspace_backends[b] };
		}
	}
	return _cmocka_run_group_tests("workspace", tests, n, NULL, unmount_cloning);
}
