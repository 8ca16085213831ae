/*
 * mountplan: a plan restricts even a process that is root in a user namespace of its own.
 *
 * Each test has three processes: the test itself, a process that applies a plan and serves its
 * masks (the outer one), and a process that has a copy of the mounts in its own user namespace (the
 * inner one).
 */
#include "sandbox_fixture.h"

#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include "core/arena.h"
#include "core/stub.h"
#include "sandbox/maskfs.h"
#include "sandbox/mountplan.h"

#define ENTRIES_MAX 16
#define PATH_SIZE 320

static const char *base; /* the directory that the plans restrict */
static struct arena texts;

/*
 * Ends the process on failure.  An assertion of cmocka would go on in a process that is not the
 * test.
 */
#define must(condition)                                                                            \
	do {                                                                                       \
		errno = 0;                                                                         \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%d: not %s (%s)\n", __LINE__, #condition,                 \
				strerror(errno));                                                  \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

/* Returns the path of a name in the directory of the test.  Eight results are valid at a time. */
static const char *in(const char *name)
{
	static char paths[8][PATH_SIZE];
	static unsigned next;
	char *path = paths[next++ % 8];

	snprintf(path, PATH_SIZE, "%s/%s", base, name);
	return path;
}

static int open_locks(void)
{
	return open(in("../locks"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

static bool fails_with(long r, int error)
{
	return r < 0 && errno == error;
}

static bool can_read(const char *path)
{
	owned_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	char c;

	return fd >= 0 && read(fd, &c, 1) == 1;
}

static bool can_write(const char *path)
{
	owned_fd int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	return fd >= 0 && write(fd, "x", 1) == 1;
}

static int pivot(const char *root)
{
	return chdir(root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 ||
			       umount2(".", MNT_DETACH) < 0 || chdir("/") < 0
		       ? -1
		       : 0;
}

/* ------------------------------------------------------------------ processes */

static void map_ids(unsigned inside, unsigned outside)
{
	char line[64];

	snprintf(line, sizeof(line), "%u %u 1", inside, outside);
	for (const char *const *file =
			(const char *const[]){ "setgroups", "uid_map", "gid_map", NULL };
		*file; file++) {
		char path[64];
		const char *text = !strcmp(*file, "setgroups") ? "deny" : line;

		snprintf(path, sizeof(path), "/proc/self/%s", *file);
		owned_fd int fd = open(path, O_WRONLY | O_CLOEXEC);
		must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	}
}

/* Called in the outer process for each byte that the inner process sends. */
typedef void answering(struct mountplan_made *made, char question);

struct scene {
	const struct mountplan_entry *entries;
	size_t n;
	/* runs in the inner process; keeper is the socket to the outer process */
	void (*inside)(int keeper);
	answering *answer;
	size_t told; /* number of accesses to masks that must be reported */
	bool no_fuse;
};

static size_t heard;

static void hear(void *arg, size_t entry, const char *path, pid_t pid)
{
	heard++;
}

static _Noreturn void be_inside(const struct scene *scene, int keeper)
{
	unsigned uid = geteuid();

	must(unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0);
	map_ids(0, uid);
	must(chdir("/") == 0);
	scene->inside(keeper);
	_exit(0);
}

/* Serve until the inner process ends.  Returns the status of that process. */
static int keep(const struct scene *scene, struct mountplan_made *made, pid_t pid, int socket)
{
	int status;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		struct pollfd ready[] = { { socket, POLLIN, 0 },
			{ made->masks ? maskfs_fd(made->masks) : -1, POLLIN, 0 } };
		char question;

		(void)poll(ready, 2, 5);
		if (made->masks)
			must(maskfs_serve(made->masks) == 0);
		if (!(ready[0].revents & POLLIN) || recv(socket, &question, 1, 0) != 1)
			continue;
		scene->answer(made, question);
		must(send(socket, "", 1, MSG_NOSIGNAL) == 1);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static void ask(int keeper, char question)
{
	char c = question;

	must(send(keeper, &c, 1, MSG_NOSIGNAL) == 1 && recv(keeper, &c, 1, 0) == 1);
}

static _Noreturn void be_keeper(const struct scene *scene)
{
	struct mount_attr shared = { .propagation = MS_SHARED };
	struct mountplan_made made;
	struct err err = { 0 }, no_fuse = { 0 };
	struct mountplan plan = {
		.list = scene->entries,
		.n = scene->n,
		.device = scene->no_fuse ? -1 : maskfs_open(&no_fuse),
		.nobody = -1,
		.stub_locks = open_locks(),
		.told = hear,
	};
	bool tells = plan.device >= 0;
	int ends[2];
	owned_fd int self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);

	/*
	 * Make a mount namespace that belongs to the user namespace of this process, as that of a
	 * sandbox does.
	 */
	must(unshare(CLONE_NEWNS) == 0);
	if (mountplan_apply(&plan, self, &made, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		_exit(1);
	}
	must(!made.unexplained.code);
	must(mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &shared, sizeof(shared)) == 0);
	must(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
	pid_t pid = fork();
	if (pid == 0) {
		/* Only the process that serves may keep the device open. */
		if (made.masks)
			close(maskfs_fd(made.masks));
		close(ends[0]);
		be_inside(scene, ends[1]);
	}
	close(ends[1]);
	int status = keep(scene, &made, pid, ends[0]);
	mountplan_remove_stubs(&made);
	must(!tells || heard >= scene->told);
	mountplan_release(&made);
	_exit(status);
}

static void play(struct place *place, const struct scene *scene)
{
	int status;

	pid_t pid = fork();
	if (pid == 0)
		be_keeper(scene);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/*
 * Make the directories of a test.  "ws" is a project and writable.  "secret" is masked, except
 * "secret/open".  "plain" and everything else is read-only.  "link" leads to "ws/real".
 */
static struct place *begin(void **state)
{
	static const char *const dirs[] = { "ws", "ws/.git", "ws/.git/hooks", "ws/real", "secret",
		"secret/open", "secret/open/deep", "plain", "private", "mnt", "ws/mnt" };
	struct place *place = *state;

	skip_unless_possible();
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		assert_int_equal(mkdirat(place->root, dirs[i], 0755), 0);
	put(place->root, "ws/.git/config", "config", 0644);
	put(place->root, "ws/.git/hooks/old", "hook", 0755);
	put(place->root, "ws/file", "file", 0644);
	put(place->root, "ws/real/inner", "inner", 0644);
	put(place->root, "secret/key", "key", 0600);
	put(place->root, "secret/open/known", "known", 0644);
	put(place->root, "secret/open/deep/key", "key", 0644);
	put(place->root, "token", "token", 0600);
	put(place->root, "plain/file", "file", 0644);
	put(place->root, "private/file", "file", 0644);
	assert_int_equal(symlinkat("real", place->root, "ws/link"), 0);
	base = arena_printf(&texts, "%s/root", place->path);
	return place;
}

#define PLAN(name, ...)                                                                            \
	const struct mountplan_entry name[] = { __VA_ARGS__ };                                     \
	const size_t n_##name = sizeof(name) / sizeof(name[0])
#define ENTRY(kind, path)                                                                          \
	{                                                                                          \
		MOUNTPLAN_##kind, arena_strdup(&texts, path)                                       \
	}

static void play_typical(
	struct place *place, void (*inside)(int), answering *answer, size_t told, bool no_fuse)
{
	PLAN(plan, ENTRY(READ_ONLY, "/"), ENTRY(WRITABLE, in("ws")), ENTRY(MASK, in("secret")),
		ENTRY(SHOW, in("secret/open")), ENTRY(MASK, in("token")),
		ENTRY(MASK, in("secret/open/deep")), ENTRY(PROTECT, in("ws/.git/hooks")),
		ENTRY(PROTECT, in("ws/.git/config")), ENTRY(PROTECT, in("ws/link/inner")));
	const struct scene scene = { plan, n_plan, inside, answer, told, no_fuse };

	play(place, &scene);
}

/* ---------------------------------------------------------------------- rules */

static void keep_the_rules(int keeper)
{
	must(fails_with(open(in("plain/new"), O_WRONLY | O_CREAT, 0600), EROFS));
	must(fails_with(open(in("plain/file"), O_WRONLY), EROFS));
	must(can_read(in("plain/file")));
	must(can_write(in("ws/new")) && unlink(in("ws/new")) == 0);
	must(can_write(in("ws/.git/HEAD")));
	must(fails_with(open(in("ws/.git/hooks/new"), O_WRONLY | O_CREAT, 0600), EROFS));
	must(fails_with(open(in("ws/.git/config"), O_WRONLY), EROFS));
	must(fails_with(open(in("ws/real/inner"), O_WRONLY), EROFS));
	must(!can_read(in("secret/key")) && errno != 0);
	must(!can_read(in("token")));
	must(can_read(in("secret/open/known")));
	must(!can_read(in("secret/open/deep/key")));
	must(fails_with(open(in("secret/open/new"), O_WRONLY | O_CREAT, 0600), EROFS));
	must(can_write("/dev/shm/strata-mountplan"));
	must(unlink("/dev/shm/strata-mountplan") == 0);
}

static void follows_the_plan(void **state)
{
	play_typical(begin(state), keep_the_rules, NULL, 3, false);
}

static void follows_it_without_fuse(void **state)
{
	play_typical(begin(state), keep_the_rules, NULL, 0, true);
}

/* -------------------------------------------------------------------- attacks */

static void rename_things(int keeper)
{
	must(fails_with(rename(in("ws/.git"), in("ws/.git2")), EBUSY));
	must(fails_with(rename(in("ws/.git/hooks"), in("ws/.git/h2")), EBUSY));
	must(fails_with(rename(in("ws/file"), in("ws/.git/config")), EBUSY) || errno == EXDEV);
	must(fails_with(rename(in("ws/real"), in("ws/real2")), EBUSY));
	must(fails_with(rename(in("ws/link"), in("ws/link2")), EBUSY));
	must(fails_with(unlink(in("ws/link")), EBUSY));
	must(fails_with(symlink("/tmp", in("ws/link")), EEXIST));
	must(fails_with(rmdir(in("ws/.git/hooks")), EBUSY));
	must(fails_with(unlink(in("ws/.git/config")), EBUSY));
	must(fails_with(renameat2(AT_FDCWD, in("ws/.git"), AT_FDCWD, in("ws/mnt"), RENAME_EXCHANGE),
		EBUSY));
	must(fails_with(link(in("ws/.git/config"), in("ws/config")), EXDEV));
	must(fails_with(link(in("ws/.git/config"), in("ws/.git/config2")), EXDEV));
}

static void cannot_rename_what_matters(void **state)
{
	play_typical(begin(state), rename_things, NULL, 0, false);
}

static void change_mounts(int keeper)
{
	static const char *const restricted[] = { "secret", "token", "ws/.git/hooks",
		"ws/.git/config", "secret/open/deep" };
	struct mount_attr open_up = { .attr_clr = MOUNT_ATTR_RDONLY };

	for (size_t i = 0; i < sizeof(restricted) / sizeof(restricted[0]); i++) {
		const char *path = in(restricted[i]);

		must(fails_with(umount2(path, 0), EINVAL));
		must(fails_with(umount2(path, MNT_DETACH), EINVAL));
		must(fails_with(mount(NULL, path, NULL, MS_REMOUNT | MS_BIND, NULL), EPERM));
		must(fails_with(
			mount_setattr(AT_FDCWD, path, 0, &open_up, sizeof(open_up)), EPERM));
		must(fails_with(move_mount(AT_FDCWD, path, AT_FDCWD, in("ws/mnt"), 0), EINVAL));
	}
	must(fails_with(umount2(in("ws"), MNT_DETACH), EINVAL));
	must(fails_with(mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL), EPERM));
	must(fails_with(
		mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &open_up, sizeof(open_up)), EPERM));
	must(fails_with(open(in("plain/new"), O_WRONLY | O_CREAT, 0600), EROFS));
}

static void cannot_take_mounts_away(void **state)
{
	play_typical(begin(state), change_mounts, NULL, 0, false);
}

static void look_elsewhere(int keeper)
{
	struct mount_attr open_up = { .attr_clr = MOUNT_ATTR_RDONLY };
	char proc[2 * PATH_SIZE];

	/* A copy of a mount must include the mounts that cover parts of it. */
	must(fails_with(mount(base, in("ws/mnt"), NULL, MS_BIND, NULL), EINVAL));
	must(fails_with(mount(in("ws"), in("ws/mnt"), NULL, MS_BIND, NULL), EINVAL));
	must(mount(base, in("ws/mnt"), NULL, MS_BIND | MS_REC, NULL) == 0);
	must(!can_read(in("ws/mnt/secret/key")) && !can_read(in("ws/mnt/token")));
	must(can_read(in("ws/mnt/secret/open/known")));
	must(fails_with(umount2(in("ws/mnt/secret"), MNT_DETACH), EINVAL));
	must(fails_with(open(in("ws/mnt/plain/new"), O_WRONLY | O_CREAT, 0600), EROFS));
	must(fails_with(rename(in("ws/mnt/ws/.git"), in("ws/mnt/ws/.git2")), EBUSY));
	/* The copy can be unmounted as a whole.  It does not exist any more then. */
	must(umount2(in("ws/mnt"), MNT_DETACH) == 0);

	owned_fd int tree = open_tree(AT_FDCWD, in("plain"), OPEN_TREE_CLONE);
	must(tree >= 0);
	must(fails_with(mount_setattr(tree, "", AT_EMPTY_PATH, &open_up, sizeof(open_up)), EPERM));
	must(fails_with(openat(tree, "new", O_WRONLY | O_CREAT, 0600), EROFS));

	snprintf(proc, sizeof(proc), "/proc/self/root%s", in("secret/key"));
	must(!can_read(proc));
	snprintf(proc, sizeof(proc), "/proc/1/root%s", in("secret/key"));
	must(!can_read(proc));
	snprintf(proc, sizeof(proc), "/proc/%d/root%s", getppid(), in("secret/key"));
	must(!can_read(proc));
	must(chroot(base) == 0 && !can_read("/secret/key") && !can_read("/token"));
	must(!can_write("/plain/new") && !can_write("/ws/.git/config"));
}

static void cannot_reach_below_the_mounts(void **state)
{
	play_typical(begin(state), look_elsewhere, NULL, 0, false);
}

/* Make a new root in one more user namespace.  All copies include the mounts below them. */
static void nest(int keeper)
{
	must(unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0);
	map_ids(0, 0);
	must(mount(NULL, "/", NULL, MS_PRIVATE | MS_REC, NULL) == 0);
	must(fails_with(umount2(in("secret"), MNT_DETACH), EINVAL));
	must(mount("none", in("mnt"), "tmpfs", 0, NULL) == 0);
	must(mkdir(in("mnt/new"), 0755) == 0);
	must(mount(base, in("mnt/new"), NULL, MS_BIND | MS_REC, NULL) == 0);
	must(pivot(in("mnt/new")) == 0);
	must(!can_read("/secret/key") && !can_read("/token"));
	must(fails_with(rename("/ws/.git", "/ws/.git2"), EBUSY));
	must(fails_with(rename("/ws/link", "/ws/link2"), EBUSY));
	must(fails_with(umount2("/ws/.git/hooks", MNT_DETACH), EINVAL));
	must(fails_with(open("/plain/new", O_WRONLY | O_CREAT, 0600), EROFS));
	must(can_write("/ws/new") && unlink("/ws/new") == 0);
}

static void cannot_leave_by_another_root(void **state)
{
	play_typical(begin(state), nest, NULL, 0, false);
}

/* ---------------------------------------------------------------------- stubs */

static void meet_stubs(int keeper)
{
	char value[8];

	must(fails_with(mkdir(in("ws/.vscode"), 0755), EEXIST));
	must(fails_with(open(in("ws/.vscode/x"), O_WRONLY | O_CREAT, 0600), EROFS));
	must(fails_with(rmdir(in("ws/.vscode")), EBUSY));
	must(fails_with(rename(in("ws/mnt"), in("ws/.vscode")), EBUSY));
	must(fails_with(open(in("ws/.mcp.json"), O_WRONLY), EROFS));
	must(fails_with(unlink(in("ws/.mcp.json")), EBUSY));
	must(fails_with(open(in("ws/a/b/c"), O_WRONLY), EROFS));
	must(fails_with(rename(in("ws/a"), in("ws/a2")), EBUSY));
	must(fails_with(rename(in("ws/a/b"), in("ws/a/b2")), EBUSY));
	must(getxattr(in("ws/.vscode"), STUB_XATTR, value, sizeof(value)) == 1);
	/* Where programs cannot make files, no stub is made. */
	must(fails_with(access(in("plain/.vscode"), F_OK), ENOENT));
	must(can_write(in("ws/a/mine")));
}

static void stubs_keep_names_from_being_made(void **state)
{
	struct place *place = begin(state);
	PLAN(plan, ENTRY(READ_ONLY, "/"), ENTRY(WRITABLE, in("ws")), ENTRY(STUB, in("ws/.vscode")),
		ENTRY(STUB_FILE, in("ws/.mcp.json")), ENTRY(STUB_FILE, in("ws/a/b/c")),
		ENTRY(STUB, in("plain/.vscode")), ENTRY(STUB, in("ws/.git/hooks")));
	const struct scene scene = { plan, n_plan, meet_stubs, NULL, 0, true };
	struct stat before, after;

	assert_int_equal(fstatat(place->root, "ws", &before, 0), 0);
	play(place, &scene);
	assert_false(there(place->root, "ws/.vscode") || there(place->root, "ws/.mcp.json"));
	assert_false(there(place->root, "ws/a/b"));
	/* A program has used the stub, so it stays. */
	assert_true(there(place->root, "ws/a/mine"));
	assert_true(getxattr(in("ws/a"), STUB_XATTR, NULL, 0) < 0);
	assert_true(there(place->root, "ws/.git/hooks/old"));
	assert_int_equal(fstatat(place->root, "ws", &after, 0), 0);
	assert_int_equal(before.st_mtim.tv_sec, after.st_mtim.tv_sec);
	assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
}

static void let_another_end(int keeper)
{
	ask(keeper, 'e');
	must(fails_with(rmdir(in("ws/.vscode")), EBUSY));
	must(fails_with(open(in("ws/.vscode/x"), O_WRONLY | O_CREAT, 0600), EROFS));
}

/* Apply a second plan with the same stub, which ends first. */
static void run_another(struct mountplan_made *made, char question)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		const struct mountplan_entry entry = ENTRY(STUB, in("ws/.vscode"));
		const struct mountplan plan = {
			.list = &entry,
			.n = 1,
			.device = -1,
			.nobody = -1,
			.stub_locks = open_locks(),
		};
		struct mountplan_made other;
		struct err err = { 0 };

		must(setns(made->before, CLONE_NEWNS) == 0);
		must(mountplan_apply(&plan, -1, &other, &err) == 0);
		must(other.n_stubs == 1);
		mountplan_remove_stubs(&other);
		_exit(0);
	}
	must(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status));
}

static void the_last_plan_removes_a_stub(void **state)
{
	struct place *place = begin(state);
	PLAN(plan, ENTRY(STUB, in("ws/.vscode")));
	const struct scene scene = { plan, n_plan, let_another_end, run_another, 0, true };

	play(place, &scene);
	assert_false(there(place->root, "ws/.vscode"));
}

/* ----------------------------------------------------------- other kinds */

static void use_private(int keeper)
{
	must(fails_with(access(in("private/file"), F_OK), ENOENT));
	must(can_write(in("private/new")));
	must(fails_with(execl("/proc/self/exe", "x", NULL), EACCES));
	must(fails_with(execl(in("ws/script"), "x", NULL), EACCES));
	/* The file may be executed, but it is no program. */
	must(fails_with(execl(in("ws/.git/hooks/old"), "x", NULL), ENOEXEC));
	must(fails_with(rename(in("ws/real"), in("ws/real2")), EBUSY));
	must(rename(in("ws/real/inner"), in("ws/real/inner2")) == 0);
}

static void gives_private_directories(void **state)
{
	struct place *place = begin(state);
	PLAN(plan, ENTRY(PRIVATE, in("private")), ENTRY(PIN, in("ws/real")), ENTRY(NO_EXEC, "/"),
		ENTRY(EXEC, in("ws/.git/hooks")));
	const struct scene scene = { plan, n_plan, use_private, NULL, 0, true };

	put(place->root, "ws/script", "script", 0755);
	play(place, &scene);
	assert_false(there(place->root, "private/new"));
	assert_true(there(place->root, "ws/real/inner2"));
}

static void live_in_a_new_root(int keeper)
{
	must(fails_with(access("/etc", F_OK), ENOENT));
	must(can_read(in("plain/file")) && !can_write(in("plain/new")));
	must(fails_with(access(in("secret"), F_OK), ENOENT));
	must(can_write(in("ws/new")) && unlink(in("ws/new")) == 0);
	must(can_read(in("ws/link/inner")));
	must(fails_with(mkdir("/new", 0755), EROFS));
	must(fails_with(umount2("/", MNT_DETACH), EINVAL));
	must(fails_with(mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL), EPERM));
	must(fails_with(umount2(in("ws"), MNT_DETACH), EINVAL));
}

static void makes_a_new_root(void **state)
{
	struct place *place = begin(state);
	PLAN(plan, ENTRY(ROOT, "/"), ENTRY(READ_ONLY, "/"), ENTRY(SHOW, in("plain")),
		ENTRY(SHOW, in("ws")), ENTRY(WRITABLE, in("ws")), ENTRY(SHOW, "/proc"));
	const struct scene scene = { plan, n_plan, live_in_a_new_root, NULL, 0, true };

	play(place, &scene);
}

/* -------------------------------------------------------------- later changes */

static void change_later(struct mountplan_made *made, char question)
{
	struct err err = { 0 };
	int r = 0;

	switch (question) {
	case 'h':
		r = mountplan_hide(made, in("ws"), &err);
		break;
	case 'u':
		r = mountplan_unhide(made, in("ws"), &err);
		break;
	case 's':
		r = mountplan_show(made, in("secret/key"), false, &err);
		break;
	case 'S':
		r = mountplan_unhide(made, in("secret/key"), &err);
		break;
	case 'w':
		r = mountplan_show(made, in("plain"), true, &err);
		break;
	case 'W':
		r = mountplan_unhide(made, in("plain"), &err);
		break;
	case 'f':
		r = mountplan_hide(made, in("plain/file"), &err);
		break;
	default:
		r = mountplan_hide(made, in("no/such"), &err) == -ERR_NOT_FOUND ? 0 : -1;
	}
	if (r < 0) {
		fprintf(stderr, "%c: %s\n", question, err.text);
		_exit(1);
	}
}

static void see_changes(int keeper)
{
	must(can_write(in("ws/new")));
	ask(keeper, 'h');
	must(!can_read(in("ws/file")) && !can_write(in("ws/new")));
	must(fails_with(umount2(in("ws"), MNT_DETACH), EINVAL));
	must(fails_with(umount2(in("ws"), MNT_DETACH), EINVAL));
	must(!can_read(in("ws/file")));
	ask(keeper, 'u');
	must(can_read(in("ws/file")) && can_write(in("ws/new")));
	must(fails_with(open(in("ws/.git/config"), O_WRONLY), EROFS));
	must(fails_with(rename(in("ws/.git"), in("ws/.git2")), EBUSY));

	ask(keeper, 's');
	must(can_read(in("secret/key")) && can_read(in("secret/open/known")));
	must(fails_with(open(in("secret/key"), O_WRONLY), EROFS));
	must(!can_read(in("secret/open/deep/key")));
	ask(keeper, 'S');
	must(!can_read(in("secret/key")) && can_read(in("secret/open/known")));
	must(fails_with(umount2(in("secret"), MNT_DETACH), EINVAL));

	ask(keeper, 'w');
	must(can_write(in("plain/new")));
	ask(keeper, 'W');
	must(fails_with(open(in("plain/new"), O_WRONLY), EROFS));
	must(fails_with(umount2(in("plain"), MNT_DETACH), EINVAL));
	ask(keeper, 'f');
	must(!can_read(in("plain/file")) && can_read(in("plain/new")));
	must(fails_with(umount2(in("plain/file"), MNT_DETACH), EINVAL));
	ask(keeper, '?');
	must(can_read(in("ws/file")));
}

static void changes_while_programs_run(void **state)
{
	play_typical(begin(state), see_changes, change_later, 0, false);
}

static void changes_while_programs_run_without_fuse(void **state)
{
	play_typical(begin(state), see_changes, change_later, 0, true);
}

static _Noreturn void look_for_ever(void)
{
	char name[32];

	for (unsigned i = 0;; i++) {
		snprintf(name, sizeof(name), "secret/none%u", i);
		(void)access(in(name), F_OK);
	}
}

/* The kernel does not mount on a mask while a program waits for an answer about it. */
static void look_while_it_changes(int keeper)
{
	pid_t lookers[4];

	for (size_t i = 0; i < sizeof(lookers) / sizeof(lookers[0]); i++) {
		lookers[i] = fork();
		must(lookers[i] >= 0);
		if (lookers[i] == 0)
			look_for_ever();
	}
	for (int i = 0; i < 10; i++)
		must(!can_read(in("secret/key")));
	ask(keeper, 's');
	must(can_read(in("secret/key")));
	ask(keeper, 'S');
	must(!can_read(in("secret/key")));
	for (size_t i = 0; i < sizeof(lookers) / sizeof(lookers[0]); i++)
		must(kill(lookers[i], SIGKILL) == 0 && waitpid(lookers[i], NULL, 0) == lookers[i]);
}

static void changes_while_masks_are_looked_at(void **state)
{
	play_typical(begin(state), look_while_it_changes, change_later, 1, false);
}

static void show_in_root(struct mountplan_made *made, char question)
{
	struct err err = { 0 };
	int r = 0;

	switch (question) {
	case 'p':
		r = mountplan_show(made, in("plain"), true, &err);
		break;
	case 'P':
		r = mountplan_unhide(made, in("plain"), &err);
		break;
	case 't':
		r = mountplan_show(made, in("token"), false, &err);
		break;
	case 'T':
		r = mountplan_unhide(made, in("token"), &err);
		break;
	case 'd':
		r = mountplan_show(made, in("secret/open/deep"), false, &err);
		break;
	case 'D':
		r = mountplan_unhide(made, in("secret/open/deep"), &err);
		break;
	case 'l':
		/* Links are not followed, and stubs count as missing. */
		r = mountplan_show(made, in("ws/link"), true, &err) == -ERR_INVALID &&
				    mountplan_show(made, in("ws/stub"), true, &err) ==
					    -ERR_NOT_FOUND
			    ? 0
			    : -1;
		break;
	default:
		r = mountplan_show(made, in("private"), true, &err) == -ERR_DENIED ? 0 : -1;
	}
	if (r < 0) {
		fprintf(stderr, "%c: %s\n", question, err.text);
		_exit(1);
	}
}

static void see_what_is_shown(int keeper)
{
	must(can_read(in("ws/file")) && !can_read(in("token")) && !can_read(in("plain/file")));
	must(fails_with(open(in("private"), O_RDONLY), ENOENT));
	ask(keeper, 'p');
	must(can_read(in("plain/file")) && can_write(in("plain/new")));
	must(!can_read(in("token")) && !can_read(in("secret/key")));
	ask(keeper, 't');
	must(can_read(in("token")) && fails_with(open(in("token"), O_WRONLY), EROFS));
	ask(keeper, 'd');
	must(can_read(in("secret/open/deep/key")) && !can_read(in("secret/key")));
	must(!can_read(in("secret/open/known")));
	ask(keeper, 'l');
	ask(keeper, '?');
	ask(keeper, 'P');
	ask(keeper, 'T');
	ask(keeper, 'D');
	must(!can_read(in("token")) && !can_read(in("plain/file")) && !can_write(in("plain/new")));
	must(!can_read(in("secret/open/deep/key")));
	must(fails_with(umount2(in("plain"), MNT_DETACH), EINVAL));
	must(can_read(in("ws/file")));
}

static void play_in_root(struct place *place, bool no_fuse)
{
	PLAN(plan, ENTRY(ROOT, "/"), ENTRY(SHOW, "/proc"), ENTRY(SHOW, in("ws")),
		ENTRY(LATER, in("plain")), ENTRY(MASK, in("plain")), ENTRY(LATER, in("token")),
		ENTRY(MASK, in("token")), ENTRY(LATER, in("secret")), ENTRY(MASK, in("secret")),
		ENTRY(STUB, in("ws/stub")));
	const struct scene scene = { plan, n_plan, see_what_is_shown, show_in_root, 1, no_fuse };

	play(place, &scene);
}

static void shows_later_what_the_root_hides(void **state)
{
	play_in_root(begin(state), false);
}

static void shows_later_what_the_root_hides_without_fuse(void **state)
{
	play_in_root(begin(state), true);
}

static void rename_what_may_be_shown_later(int keeper)
{
	must(fails_with(rename(in("ws/real"), in("ws/real2")), EBUSY));
	must(fails_with(rename(in("ws"), in("ws2")), EBUSY) || errno == EROFS);
	must(can_write(in("ws/real/new")));
}

static void pins_what_may_be_shown_later(void **state)
{
	struct place *place = begin(state);
	PLAN(plan, ENTRY(LATER, in("ws/real")));
	const struct scene scene = { plan, n_plan, rename_what_may_be_shown_later, NULL, 0, true };

	play(place, &scene);
}

/* ---------------------------------------------------------------- bad plans */

static void refuses_what_makes_no_sense(void **state)
{
	struct place *place = begin(state);
	int status;

	assert_int_equal(symlinkat("loop", place->root, "loop"), 0);
	pid_t pid = fork();
	if (pid == 0) {
		const struct mountplan_entry entry = ENTRY(MASK, in("loop/x"));
		const struct mountplan plan = {
			.list = &entry,
			.n = 1,
			.device = -1,
			.nobody = -1,
			.stub_locks = open_locks(),
		};
		struct mountplan_made made;
		struct err err = { 0 };

		must(mountplan_apply(&plan, -1, &made, &err) == -ERR_INVALID);
		mountplan_release(&made);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static int all_tests(void)
{
	const struct CMUnitTest tests[] = {
		place_test(follows_the_plan),
		place_test(follows_it_without_fuse),
		place_test(cannot_rename_what_matters),
		place_test(cannot_take_mounts_away),
		place_test(cannot_reach_below_the_mounts),
		place_test(cannot_leave_by_another_root),
		place_test(stubs_keep_names_from_being_made),
		place_test(the_last_plan_removes_a_stub),
		place_test(gives_private_directories),
		place_test(makes_a_new_root),
		place_test(changes_while_programs_run),
		place_test(changes_while_programs_run_without_fuse),
		place_test(changes_while_masks_are_looked_at),
		place_test(shows_later_what_the_root_hides),
		place_test(shows_later_what_the_root_hides_without_fuse),
		place_test(pins_what_may_be_shown_later),
		place_test(refuses_what_makes_no_sense),
	};

	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	arena_release(&texts);
	texts = (struct arena){ 0 };
	return failed;
}

int main(void)
{
	return run_in_both_worlds(all_tests);
}
