/*
 * workspace_fixture - an environment with a workspace, for tests of all backends.  The environment
 * is on a file system on which the backend works.  The fixture also shows the live tree as programs
 * see it.
 *
 * A test program calls mounts_enter() before anything else, and unmounts with images_remove.
 * Include this header after <cmocka.h>.
 */
#pragma once
#include <sched.h>
#include <sys/mount.h>

#include "tree_fixture.h"
#include "workspace/backend.h"

/* --- mounts --- */

static char no_mounts[128]; /* why nothing can be mounted here; "": mounts are possible */

/*
 * Enter a new mount namespace, so that mounts and their loop devices disappear when this process
 * ends.  This must come before any file is opened, since a descriptor belongs to the namespace in
 * which it was opened.
 */
static inline void mounts_enter(void)
{
	if (getuid())
		snprintf(no_mounts, sizeof(no_mounts), "not root");
	else if (unshare(CLONE_NEWNS) < 0 || mount("", "/", "", MS_REC | MS_PRIVATE, NULL) < 0)
		snprintf(no_mounts, sizeof(no_mounts), "no mount namespace: %s", strerror(errno));
}

/* An image with a file system of a type that the temporary directory may not have. */
struct image {
	const char *type;
	const char *mkfs;
	char path[300]; /* path of the mount; "": not mounted */
	char why[128];  /* why it is not mounted */
};

#define IMAGE_SIZE ((off_t)300 << 20) /* the smallest size that mkfs.xfs accepts */

static struct image xfs_image = { .type = "xfs", .mkfs = "mkfs.xfs -q -m reflink=1" };
static struct image btrfs_image = { .type = "btrfs", .mkfs = "mkfs.btrfs -q" };
static struct image *const images[] = { &xfs_image, &btrfs_image };

static inline bool run(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static inline bool run(const char *fmt, ...)
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
 * Mount an image, unless it is mounted already.  Returns false, with the reason in image->why, if
 * that is not possible.
 */
static inline bool image_mount(struct image *image, const char *tmp)
{
	char place[280];

	if (image->path[0] || image->why[0])
		return image->path[0];
	snprintf(image->why, sizeof(image->why), "%s", no_mounts);
	snprintf(place, sizeof(place), "%s/strata-test-XXXXXX", tmp);
	if (image->why[0])
		return false;
	if (!run("command -v mkfs.%s >/dev/null", image->type)) {
		snprintf(image->why, sizeof(image->why), "no mkfs.%s", image->type);
		return false;
	}
	snprintf(image->why, sizeof(image->why), "a %s image cannot be mounted here", image->type);
	if (!mkdtemp(place) || chmod(place, 0755) < 0)
		return false;
	bool mounted = run("truncate -s %lld '%s/image' && %s '%s/image' >/dev/null &&"
			   " mkdir '%s/mount' && mount -o loop '%s/image' '%s/mount'",
		(long long)IMAGE_SIZE, place, image->mkfs, place, place, place, place);
	/* the loop device keeps the file of the image */
	(void)run("rm -f '%s/image'", place);
	if (mounted)
		snprintf(image->path, sizeof(image->path), "%s/mount", place);
	else
		(void)run("rm -rf '%s'", place);
	return mounted;
}

static inline int images_remove(void **state)
{
	int bad = 0;

	for (size_t i = 0; i < COUNT(images); i++) {
		if (!images[i]->path[0])
			continue;
		(void)umount2(images[i]->path, MNT_DETACH);
		*strrchr(images[i]->path, '/') = '\0';
		bad |= !run("rm -rf '%s'", images[i]->path);
	}
	return bad;
}

/* --- an environment --- */

/* A live tree as programs see it. */
struct seen {
	int fd;
	char mounted[400]; /* path of the mount; "": the live tree needs no mount */
};

struct env {
	struct fixture *fixture; /* NULL: the backend does not work here */
	const struct workspace_backend *backend;
	struct workspace ws;
	struct seen seen;
	struct report report;
	struct workspace_counters counters;
	char tmpdir[256];    /* TMPDIR before the test */
	const char *missing; /* why the backend does not work here */
};

#define env_ok(env, call) assert_ok((env)->fixture, call)
#define env_err(env) (&(env)->fixture->err)

static inline void workspace_init(struct env *env, struct workspace *ws, const char *name)
{
	*ws = (struct workspace){
		.backend = env->backend,
		.setup = {
			.name = name,
			.rootfd = env->fixture->rootfd,
			.store = env->fixture->store,
			.first = !strcmp(name, "main"),
			.report = &env->report,
		},
		.counters = &env->counters,
		.live = -1,
		.index = -1,
		.shown = -1,
	};
}

static inline bool works_at(const struct workspace_backend *backend, const char *path)
{
	owned_fd int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char why[WORKSPACE_WHY_MAX] = "";

	return backend->probe(fd, why);
}

/*
 * Returns a directory in which the backend works: the temporary directory or a mounted image.
 * Returns NULL if there is none.
 */
static inline const char *place_for(struct env *env)
{
	struct image *image = env->backend == &workspace_btrfs ? &btrfs_image : &xfs_image;

	if (env->backend->kind.mounted && no_mounts[0]) {
		env->missing = no_mounts;
		return NULL;
	}
	if (works_at(env->backend, env->tmpdir))
		return env->tmpdir;
	env->missing = image->why;
	return image_mount(image, env->tmpdir) ? image->path : NULL;
}

static inline int env_setup(void **state)
{
	struct env *env = mem_zalloc(sizeof(*env));
	const char *tmp = getenv("TMPDIR");
	void *fixture = NULL;

	env->backend = *state;
	env->report = (struct report)REPORT_INIT;
	env->seen.fd = -1;
	*state = env;
	snprintf(env->tmpdir, sizeof(env->tmpdir), "%s", tmp ? tmp : "/tmp");
	const char *place = place_for(env);
	if (!place)
		return 0;
	setenv("TMPDIR", place, 1);
	if (tree_setup(&fixture) < 0)
		return -1;
	env->fixture = fixture;
	workspace_init(env, &env->ws, "main");
	return mkdirat(env->fixture->rootfd, WORKSPACE_LIVE_DIR, 0700) < 0 ||
	       mkdirat(env->fixture->rootfd, WORKSPACE_INDEX_DIR, 0700) < 0 ||
	       mkdirat(env->fixture->rootfd, "run", 0700) < 0;
}

static inline void seen_close(struct seen *seen)
{
	close_fd(&seen->fd);
	if (!seen->mounted[0])
		return;
	(void)umount2(seen->mounted, MNT_DETACH);
	(void)rmdir(seen->mounted);
	seen->mounted[0] = '\0';
}

static inline int env_teardown(void **state)
{
	struct env *env = *state;
	void *fixture = env->fixture;
	int r = 0;

	setenv("TMPDIR", env->tmpdir, 1);
	seen_close(&env->seen);
	if (fixture) {
		workspace_close(&env->ws);
		r = tree_teardown(&fixture);
	}
	report_release(&env->report);
	free(env);
	return r;
}

static inline struct env *ready(void **state)
{
	struct env *env = *state;

	if (!env->fixture) {
		printf("# skip: %s\n", env->missing);
		skip();
	}
	return env;
}

/* --- the live tree, seen from inside --- */

/* Append a path to mount options.  The path is absolute, or relative to the environment. */
static inline void add_path(struct buf *out, struct env *env, const char *path)
{
	owned_mem char *whole =
		*path == '/' ? mem_strdup(path) : mem_printf("%s/%s", env->fixture->path, path);

	for (const char *p = whole; *p; p++) {
		if (strchr(":,\\", *p))
			buf_addc(out, '\\');
		buf_addc(out, *p);
	}
}

static inline void mount_overlay(
	struct env *env, const struct workspace_mount *mount_of, const char *point)
{
	owned(buf_release) struct buf options = BUF_INIT;

	for (size_t i = 0; i < mount_of->n_lower; i++) {
		buf_adds(&options, i ? ":" : "userxattr,lowerdir=");
		add_path(&options, env, mount_of->lower[i]);
	}
	buf_adds(&options, ",upperdir=");
	add_path(&options, env, mount_of->upper);
	buf_adds(&options, ",workdir=");
	add_path(&options, env, mount_of->work);
	if (mount("overlay", point, "overlay", 0, options.data) < 0)
		fail_msg("mount overlay %s: %s", options.data, strerror(errno));
}

static inline void seen_open(struct env *env, struct workspace *ws, struct seen *seen)
{
	struct workspace_mount how = { 0 };

	seen_close(seen);
	assert_int_equal(env->backend->kind.mounted, env->backend->mount != NULL);
	if (!env->backend->mount) {
		seen->fd = openat(ws->live, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	} else {
		env_ok(env, env->backend->mount(ws, &how, env_err(env)));
		assert_true(how.n_lower > 0);
		snprintf(seen->mounted, sizeof(seen->mounted), "%s/seen-%s", env->fixture->path,
			ws->setup.name);
		assert_int_equal(mkdir(seen->mounted, 0700), 0);
		mount_overlay(env, &how, seen->mounted);
		seen->fd = open(seen->mounted, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	assert_true(seen->fd >= 0);
	/* the tests must not change access times */
	assert_int_equal(fcntl(seen->fd, F_SETFL, O_NOATIME), 0);
}

/* The skeleton below an overlay: directories for mounts, which are not in the tree (layers.c). */
static const char *const skeleton[] = { "proc", "sys", "dev", "etc" };

/*
 * Returns the tree of the live tree, for which every file is read.  A capture must have the same
 * result.
 */
static inline struct hash read_all(struct env *env, const struct seen *seen)
{
	struct live live = { .fixture = env->fixture, .fd = seen->fd, .report = REPORT_INIT };

	if (seen->mounted[0]) {
		live.exclude = skeleton;
		live.n_exclude = COUNT(skeleton);
	}
	struct hash tree = live_read(&live);
	live_forget_reports(&live);
	return tree;
}

/* --- what is done with it --- */

static const char words[] = "a=one d/,m0700 d/e/f=two d/g=three,m0600 l@a p|";

static inline struct hash create_as(struct env *env, const char *spec)
{
	struct hash tree = tree_of(env->fixture, spec);

	env_ok(env, store_flush(env->fixture->store, env_err(env)));
	env_ok(env, env->backend->create(&env->ws, &tree, -1, env_err(env)));
	seen_open(env, &env->ws, &env->seen);
	return tree;
}

static inline struct hash create(struct env *env)
{
	return create_as(env, words);
}

static inline struct hash capture(struct env *env)
{
	struct hash tree;

	env->counters.ingested.files = 0;
	env->counters.scanned = 0;
	env_ok(env, env->backend->capture(&env->ws, &tree, env_err(env)));
	return tree;
}

static inline void settle_index(struct env *env)
{
	env_ok(env, store_flush(env->fixture->store, env_err(env)));
	env_ok(env, env->backend->save_index(&env->ws, env_err(env)));
}

static inline void reopen(struct env *env)
{
	workspace_close(&env->ws);
	workspace_init(env, &env->ws, "main");
	env_ok(env, workspace_open(&env->ws, env_err(env)));
	seen_open(env, &env->ws, &env->seen);
}

static inline struct hash become(struct env *env, const struct hash *from, const struct hash *to)
{
	struct hash now;

	env_ok(env, env->backend->apply(&env->ws, from, to, &now, env_err(env)));
	seen_open(env, &env->ws, &env->seen);
	return now;
}

/* Make a second workspace that shows tree.  It is a fork of the first workspace. */
static inline void fork_off(struct env *env, struct workspace *ws, const char *name,
	const struct hash *tree, struct seen *seen)
{
	workspace_init(env, ws, name);
	env_ok(env, env->backend->create(ws, tree, env->seen.fd, env_err(env)));
	*seen = (struct seen){ .fd = -1 };
	seen_open(env, ws, seen);
}

static inline void fork_end(struct env *env, struct workspace *ws, struct seen *seen)
{
	seen_close(seen);
	env_ok(env, env->backend->destroy(ws, env_err(env)));
	workspace_close(ws);
}
