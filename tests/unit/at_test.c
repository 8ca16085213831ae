/* at: no path leaves its directory, with openat2 and without it, and no file outside is touched. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include <cmocka.h>

#include "core/at.h"
#include "core/buf.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/uapi.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NOBODY 65534

struct place {
	char path[256];
	int tmp;
	int fd;
	struct err err;
};

static void write_file(int dirfd, const char *path, const char *text)
{
	owned_fd int fd = openat(dirfd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(at_write_all(fd, text, strlen(text)), 0);
}

static int setup(void **state)
{
	struct place *place = mem_zalloc(sizeof(*place));
	const char *tmp = getenv("TMPDIR");

	snprintf(place->path, sizeof(place->path), "%s/strata-test-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(place->path))
		return -1;
	place->tmp = open(tmp ? tmp : "/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	place->fd = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = place;
	return place->fd < 0;
}

static int teardown(void **state)
{
	struct place *place = *state;

	if (!getuid())
		(void)!seteuid(0);
	int r = at_remove_tree(place->tmp, strrchr(place->path, '/') + 1, &place->err);
	close(place->fd);
	close(place->tmp);
	free(place);
	return r;
}

#define place_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* Make a directory with files, directories, and links to files inside and outside of it. */
static int make_dir(struct place *place)
{
	static const char *const links[][2] = { { "file", "link" }, { "sub", "dirlink" },
		{ "/etc", "out" }, { "..", "up" }, { "nothing here", "dangling" }, { ".", "self" },
		{ "loop", "loop" } };

	assert_int_equal(mkdirat(place->fd, "dir", 0755), 0);
	assert_int_equal(mkdirat(place->fd, "dir/sub", 0755), 0);
	assert_int_equal(mkdirat(place->fd, "dir/sub/deeper", 0755), 0);
	write_file(place->fd, "secret", "outside");
	write_file(place->fd, "dir/file", "file");
	write_file(place->fd, "dir/sub/file", "sub/file");
	write_file(place->fd, "dir/..file", "dots");
	int dir = openat(place->fd, "dir", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(dir >= 0);
	for (size_t i = 0; i < COUNT(links); i++)
		assert_int_equal(symlinkat(links[i][0], dir, links[i][1]), 0);
	return dir;
}

/* --- the same cases with openat2 and without --- */

#define LONG_NAME                                                                                  \
	"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" \
	"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" \
	"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

struct open_case {
	const char *path;
	int flags;
	enum err_code code; /* 0: the file can be opened */
	int error;          /* the errno, with ERR_SYSTEM */
};

static const struct open_case opens[] = {
	{ "file", O_RDONLY, 0, 0 },
	{ "./file", O_RDONLY, 0, 0 },
	{ "sub/file", O_RDONLY, 0, 0 },
	{ "sub//file", O_RDONLY, 0, 0 },
	{ "sub/./file", O_RDONLY, 0, 0 },
	{ "..file", O_RDONLY, 0, 0 },
	{ "sub", O_RDONLY | O_DIRECTORY, 0, 0 },
	{ "sub/", O_RDONLY, 0, 0 },
	{ "sub/deeper///", O_PATH, 0, 0 },
	{ ".", O_RDONLY, 0, 0 },
	{ "file", O_PATH, 0, 0 },

	{ "/", O_RDONLY, ERR_DENIED, 0 },
	{ "/etc/passwd", O_RDONLY, ERR_DENIED, 0 },
	{ "//etc", O_PATH, ERR_DENIED, 0 },

	{ "..", O_RDONLY, ERR_DENIED, 0 },
	{ "../secret", O_RDONLY, ERR_DENIED, 0 },
	{ "../dir/file", O_RDONLY, ERR_DENIED, 0 },
	{ "sub/..", O_RDONLY, ERR_DENIED, 0 },
	{ "sub/../file", O_RDONLY, ERR_DENIED, 0 },
	{ "sub/../../secret", O_RDONLY, ERR_DENIED, 0 },
	{ "sub/deeper/../", O_PATH, ERR_DENIED, 0 },

	{ "link", O_RDONLY, ERR_DENIED, 0 },
	{ "link", O_PATH, ERR_DENIED, 0 },
	{ "link", O_RDWR, ERR_DENIED, 0 },
	{ "link", O_RDONLY | O_NOFOLLOW, ERR_DENIED, 0 },
	{ "dirlink", O_RDONLY | O_DIRECTORY, ERR_DENIED, 0 },
	{ "dirlink", O_PATH | O_DIRECTORY, ERR_DENIED, 0 },
	{ "dirlink/", O_RDONLY, ERR_DENIED, 0 },
	{ "dirlink/file", O_RDONLY, ERR_DENIED, 0 },
	{ "self/file", O_RDONLY, ERR_DENIED, 0 },
	{ "out/passwd", O_RDONLY, ERR_DENIED, 0 },
	{ "up/secret", O_RDONLY, ERR_DENIED, 0 },
	{ "up/dir/file", O_RDONLY, ERR_DENIED, 0 },
	{ "dangling", O_RDONLY, ERR_DENIED, 0 },
	{ "dangling", O_PATH, ERR_DENIED, 0 },
	{ "loop", O_RDONLY, ERR_DENIED, 0 },
	{ "loop/x", O_RDONLY, ERR_DENIED, 0 },

	{ "", O_RDONLY, ERR_NOT_FOUND, 0 },
	{ "nothing", O_RDONLY, ERR_NOT_FOUND, 0 },
	{ "nothing/file", O_RDONLY, ERR_NOT_FOUND, 0 },
	{ "sub/nothing", O_RDONLY, ERR_NOT_FOUND, 0 },
	{ "...", O_RDONLY, ERR_NOT_FOUND, 0 },
	{ "file/", O_RDONLY, ERR_SYSTEM, ENOTDIR },
	{ "file/x", O_RDONLY, ERR_SYSTEM, ENOTDIR },
	{ "file", O_RDONLY | O_DIRECTORY, ERR_SYSTEM, ENOTDIR },
	{ "sub", O_RDWR, ERR_SYSTEM, EISDIR },
	{ LONG_NAME, O_RDONLY, ERR_SYSTEM, ENAMETOOLONG },
	{ "sub/" LONG_NAME "/x", O_RDONLY, ERR_SYSTEM, ENAMETOOLONG },
};

static const struct open_case creates[] = {
	{ "new", O_WRONLY | O_EXCL, 0, 0 },
	{ "new", O_WRONLY, 0, 0 },
	{ "sub/new", O_RDWR | O_EXCL, 0, 0 },
	{ "file", O_WRONLY | O_EXCL, ERR_SYSTEM, EEXIST },
	{ "link", O_WRONLY | O_EXCL, ERR_SYSTEM, EEXIST },
	{ "dangling", O_WRONLY | O_EXCL, ERR_SYSTEM, EEXIST },
	{ "link", O_WRONLY, ERR_DENIED, 0 },
	{ "dangling", O_WRONLY, ERR_DENIED, 0 },
	{ "dirlink/new", O_WRONLY | O_EXCL, ERR_DENIED, 0 },
	{ "up/new", O_WRONLY | O_EXCL, ERR_DENIED, 0 },
	{ "../new", O_WRONLY | O_EXCL, ERR_DENIED, 0 },
	{ "sub/../new", O_WRONLY | O_EXCL, ERR_DENIED, 0 },
	{ "/tmp/strata-at-test", O_WRONLY | O_EXCL, ERR_DENIED, 0 },
	{ "nothing/new", O_WRONLY | O_EXCL, ERR_NOT_FOUND, 0 },
	{ "another/", O_WRONLY | O_EXCL, ERR_SYSTEM, EISDIR },
	{ "file/new", O_WRONLY, ERR_SYSTEM, ENOTDIR },
};

static const struct {
	const char *path;
	bool there;
} exist[] = { { "file", true }, { "sub", true }, { "sub/file", true }, { ".", true },
	{ "link", false }, { "dangling", false }, { "dirlink/file", false }, { "nothing", false },
	{ "sub/..", false }, { "/etc", false }, { "", false } };

/* Links that the kernel makes, such as those to a process's root and descriptors. */
static const char *const magic[] = { "self/cwd", "self/exe", "thread-self/root/etc/passwd" };
static const char *const own_magic[] = { "cwd", "exe", "root/etc/passwd", "fd/0", "cwd/.." };

static int check_open(const char *call, const struct open_case *c, int fd, const struct err *err)
{
	bool good = c->code ? fd == -(int)c->code && err->code == c->code &&
				      (c->code != ERR_SYSTEM || err->errno_value == c->error)
			    : fd >= 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC;

	if (fd >= 0)
		close(fd);
	if (!good)
		printf("# %s('%.40s', 0%o): %d %s\n", call, c->path, (unsigned)c->flags, fd,
			err->text);
	return !good;
}

static int check_magic(int dirfd, const char *const *paths, size_t n)
{
	int wrong = 0;

	for (size_t i = 0; i < n; i++) {
		struct err err = { 0 };
		struct open_case c = { paths[i], O_RDONLY, ERR_DENIED, 0 };

		wrong += check_open("at_open", &c, at_open(dirfd, c.path, c.flags, &err), &err);
	}
	return wrong;
}

/*
 * Run all cases in dir.  Returns the number of wrong results.  It makes no assertions, since a
 * child process runs it, too.
 */
/*
 * Absolute paths, written here relative to dir.  If only the name of a link is opened, the link
 * itself is the result.
 */
static const struct {
	const char *path;
	int flags, error;
} abs_opens[] = {
	{ "sub/file", O_RDONLY, 0 },
	{ "sub", O_PATH | O_DIRECTORY, 0 },
	{ "link", O_PATH, 0 },
	{ "link", O_RDONLY, ELOOP },
	{ "dirlink/file", O_RDONLY, ELOOP },
	{ "dirlink/file", O_PATH, ELOOP },
	{ "sub/nothing", O_PATH, ENOENT },
	{ "file/below", O_PATH, ENOTDIR },
};

static int run_abs_cases(int dir)
{
	char link[64], root[PATH_MAX], path[PATH_MAX + 64];
	int wrong = 0;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
	ssize_t len = readlink(link, root, sizeof(root) - 1);
	assert_true(len > 0);
	root[len] = '\0';
	for (size_t i = 0; i < COUNT(abs_opens); i++) {
		snprintf(path, sizeof(path), "%s/%s", root, abs_opens[i].path);
		owned_fd int fd = at_abs_open(path, abs_opens[i].flags);

		if ((fd < 0 ? -fd : 0) == abs_opens[i].error)
			continue;
		printf("# at_abs_open('%s'): %d\n", abs_opens[i].path, fd);
		wrong++;
	}
	return wrong;
}

static int run_open_cases(int dir)
{
	int wrong = run_abs_cases(dir);

	for (size_t i = 0; i < COUNT(opens); i++) {
		const struct open_case *c = &opens[i];
		struct err err = { 0 };

		wrong += check_open("at_open", c, at_open(dir, c->path, c->flags, &err), &err);
	}
	for (size_t i = 0; i < COUNT(creates); i++) {
		const struct open_case *c = &creates[i];
		struct err err = { 0 };

		wrong += check_open(
			"at_create", c, at_create(dir, c->path, c->flags, 0640, &err), &err);
	}
	for (size_t i = 0; i < COUNT(exist); i++) {
		if (at_exists(dir, exist[i].path) == exist[i].there)
			continue;
		printf("# at_exists('%s')\n", exist[i].path);
		wrong++;
	}
	owned_fd int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	owned_fd int self = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return wrong + check_magic(proc, magic, COUNT(magic)) +
	       check_magic(self, own_magic, COUNT(own_magic));
}

static void opens_nothing_outside_its_directory(void **state)
{
	struct place *place = *state;
	owned_fd int dir = make_dir(place);

	assert_int_equal(run_open_cases(dir), 0);
}

/* From now on, make these calls fail with error, in this process and its children. */
static bool refuse_calls(const int *calls, size_t n, int error)
{
	struct sock_filter filter[16];
	struct sock_fprog program = { .filter = filter };
	size_t at = 0;

	filter[at++] = (struct sock_filter)BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < n; i++) {
		filter[at++] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
		filter[at++] = (struct sock_filter)BPF_STMT(
			BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error);
	}
	filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = (unsigned short)at;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

#define NO_FILTER 99

/* Returns the result of run(dir) in a child in which the calls fail with error. */
static int run_without(const int *calls, size_t n, int error, int (*run)(int dir), int dir)
{
	int status;

	fflush(stdout);
	pid_t child = fork();
	assert_true(child >= 0);
	if (!child) {
		int wrong = refuse_calls(calls, n, error) ? run(dir) : NO_FILTER;

		fflush(stdout);
		_exit(wrong > NO_FILTER ? NO_FILTER - 1 : wrong);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void assert_the_same_without(
	const int *calls, size_t n, int error, int (*run)(int dir), int dir)
{
	int wrong = run_without(calls, n, error, run, dir);

	if (wrong == NO_FILTER) {
		printf("# skip: seccomp filters are not allowed here\n");
		skip();
	}
	assert_int_equal(wrong, 0);
}

static const int openat2_call[] = { SYS_openat2 };

static void opens_the_same_where_the_kernel_has_no_openat2(void **state)
{
	owned_fd int dir = make_dir(*state);

	assert_the_same_without(openat2_call, 1, ENOSYS, run_open_cases, dir);
}

static void opens_the_same_where_a_policy_forbids_openat2(void **state)
{
	owned_fd int dir = make_dir(*state);

	assert_the_same_without(openat2_call, 1, EPERM, run_open_cases, dir);
}

#define LEVEL "a name of some thirty characters"
#define LEVELS 200

/* Try a path longer than PATH_MAX, and such a path with a link at its end. */
static int run_long_path(int dir)
{
	owned(buf_release) struct buf path = BUF_INIT;
	struct err err = { 0 };

	for (int i = 0; i < LEVELS; i++)
		buf_adds(&path, LEVEL "/");
	size_t len = path.len;
	int wrong = len <= PATH_MAX;

	buf_adds(&path, "file");
	owned_fd int file = at_open(dir, path.data, O_RDONLY, &err);
	wrong += file < 0;
	buf_truncate(&path, len);
	buf_adds(&path, "link");
	wrong += at_open(dir, path.data, O_RDONLY, &err) != -ERR_DENIED;
	buf_truncate(&path, len);
	buf_adds(&path, "../file");
	wrong += at_open(dir, path.data, O_RDONLY, &err) != -ERR_DENIED;
	buf_truncate(&path, len);
	buf_adds(&path, "nothing");
	wrong += at_open(dir, path.data, O_RDONLY, &err) != -ERR_NOT_FOUND;
	return wrong;
}

static void opens_paths_longer_than_the_kernel_takes(void **state)
{
	struct place *place = *state;
	owned(buf_release) struct buf path = BUF_INIT;
	int below = fcntl(place->fd, F_DUPFD_CLOEXEC, 0);

	for (int i = 0; i < LEVELS; i++)
		buf_adds(&path, LEVEL "/");
	assert_int_equal(at_mkdirs(place->fd, path.data, 0700, &place->err), 0);
	for (int i = 0; i < LEVELS; i++) {
		int next = openat(below, LEVEL, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		assert_true(next >= 0);
		close(below);
		below = next;
	}
	write_file(below, "file", "deep");
	assert_int_equal(symlinkat("file", below, "link"), 0);
	close(below);
	assert_int_equal(run_long_path(place->fd), 0);
	assert_the_same_without(openat2_call, 1, ENOSYS, run_long_path, place->fd);
}

/* --- making directories --- */

static void makes_directories_and_their_parents(void **state)
{
	struct place *place = *state;
	owned_fd int dir = make_dir(place);
	static const struct {
		const char *path;
		int want; /* 0, or any negative value */
		const char *made;
	} cases[] = {
		{ "one", 0, "one" },
		{ "one", 0, "one" },
		{ "one/two/three", 0, "one/two/three" },
		{ "./four//five/", 0, "four/five" },
		{ "", 0, "." },
		{ "../six", -1, NULL },
		{ "one/../six", -1, NULL },
		{ "/six", -1, NULL },
		{ "dirlink/six", -1, NULL },
		{ "up/six", -1, NULL },
		{ "dangling/six", -1, NULL },
		{ "file/six", -1, NULL },
		{ "one/" LONG_NAME, -1, NULL },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		int r = at_mkdirs(dir, cases[i].path, 0710, &place->err);
		struct stat st;

		assert_int_equal(r < 0, cases[i].want < 0);
		if (r < 0)
			continue;
		assert_int_equal(fstatat(dir, cases[i].made, &st, 0), 0);
		assert_true(S_ISDIR(st.st_mode));
	}
	assert_int_equal(faccessat(place->fd, "six", F_OK, 0), -1);
	assert_int_equal(faccessat(dir, "six", F_OK, 0), -1);
	assert_int_equal(faccessat(dir, "sub/six", F_OK, 0), -1);
}

static void makes_directories_a_person_named(void **state)
{
	struct place *place = *state;
	owned_mem char *path = mem_printf("%s/a/b//c/", place->path);

	assert_int_equal(at_mkdirs_given(path, 0700, &place->err), 0);
	assert_int_equal(at_mkdirs_given(path, 0700, &place->err), 0);
	assert_int_equal(faccessat(place->fd, "a/b/c", F_OK, 0), 0);
	write_file(place->fd, "file", "");
	owned_mem char *through = mem_printf("%s/file/x", place->path);
	assert_true(at_mkdirs_given(through, 0700, &place->err) < 0);
}

/* --- removing --- */

static void removes_a_tree_of_1500_levels(void **state)
{
	struct place *place = *state;
	struct rlimit files;
	int below = fcntl(place->fd, F_DUPFD_CLOEXEC, 0);

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	int levels = files.rlim_cur < 1600 ? (int)files.rlim_cur - 100 : 1500;
	for (int i = 0; i < levels; i++) {
		assert_int_equal(mkdirat(below, "d", 0700), 0);
		int next = openat(below, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		assert_true(next >= 0);
		write_file(next, "file", "x");
		close(below);
		below = next;
	}
	close(below);
	assert_int_equal(at_remove_tree(place->fd, "d", &place->err), 0);
	assert_int_equal(faccessat(place->fd, "d", F_OK, 0), -1);
}

static void removes_files_links_and_what_is_not_there(void **state)
{
	struct place *place = *state;

	write_file(place->fd, "file", "x");
	assert_int_equal(symlinkat("file", place->fd, "link"), 0);
	assert_int_equal(mkdirat(place->fd, "empty", 0700), 0);
	static const char *const names[] = { "link", "file", "empty", "nothing" };
	for (size_t i = 0; i < COUNT(names); i++) {
		struct stat st;

		assert_int_equal(at_remove_tree(place->fd, names[i], &place->err), 0);
		assert_int_equal(fstatat(place->fd, names[i], &st, AT_SYMLINK_NOFOLLOW), -1);
	}
}

/* If this is root, become an ordinary user, who owns the place, until the test ends. */
static void become_user(struct place *place)
{
	if (getuid())
		return;
	assert_int_equal(fchown(place->fd, NOBODY, NOBODY), 0);
	assert_int_equal(seteuid(NOBODY), 0);
}

static void removes_directories_their_owner_may_not_write(void **state)
{
	static const mode_t modes[] = { 0700, 0500, 0300, 0100, 0400, 0000 };
	struct place *place = *state;
	struct stat st;

	become_user(place);
	assert_int_equal(mkdirat(place->fd, "all", 0700), 0);
	for (size_t i = 0; i < COUNT(modes); i++) {
		char name[32];

		snprintf(name, sizeof(name), "all/%zu", i);
		assert_int_equal(mkdirat(place->fd, name, 0700), 0);
		snprintf(name, sizeof(name), "all/%zu/sub", i);
		assert_int_equal(mkdirat(place->fd, name, 0700), 0);
		snprintf(name, sizeof(name), "all/%zu/sub/file", i);
		write_file(place->fd, name, "x");
		snprintf(name, sizeof(name), "all/%zu/sub", i);
		assert_int_equal(fchmodat(place->fd, name, modes[i], 0), 0);
		snprintf(name, sizeof(name), "all/%zu", i);
		assert_int_equal(fchmodat(place->fd, name, modes[i], 0), 0);
	}
	assert_int_equal(fchmodat(place->fd, "all", 0, 0), 0);
	assert_int_equal(at_remove_tree(place->fd, "all", &place->err), 0);
	assert_int_equal(fstatat(place->fd, "all", &st, AT_SYMLINK_NOFOLLOW), -1);
}

static void says_why_a_file_of_another_stays(void **state)
{
	struct place *place = *state;

	if (getuid()) {
		printf("# skip: not root\n");
		skip();
	}
	assert_int_equal(mkdirat(place->fd, "dir", 0755), 0);
	assert_int_equal(mkdirat(place->fd, "dir/theirs", 0755), 0);
	write_file(place->fd, "dir/theirs/file", "x");
	assert_int_equal(fchownat(place->fd, "dir", NOBODY, NOBODY, 0), 0);
	assert_int_equal(fchmodat(place->fd, "dir/theirs", 01777, 0), 0);
	become_user(place);
	assert_int_equal(at_remove_tree(place->fd, "dir", &place->err), -ERR_SYSTEM);
	assert_int_equal(place->err.errno_value, EPERM);
	assert_int_equal(faccessat(place->fd, "dir/theirs/file", F_OK, 0), 0);
}

static void removes_nothing_through_a_link(void **state)
{
	struct place *place = *state;

	assert_int_equal(mkdirat(place->fd, "outside", 0500), 0);
	assert_int_equal(mkdirat(place->fd, "dir", 0700), 0);
	assert_int_equal(mkdirat(place->fd, "dir/sub", 0700), 0);
	assert_int_equal(fchmodat(place->fd, "outside", 0700, 0), 0);
	write_file(place->fd, "outside/file", "x");
	assert_int_equal(fchmodat(place->fd, "outside", 0500, 0), 0);
	assert_int_equal(symlinkat("../outside", place->fd, "dir/link"), 0);
	assert_int_equal(symlinkat("../../outside", place->fd, "dir/sub/link"), 0);
	assert_int_equal(symlinkat("outside", place->fd, "top"), 0);
	assert_int_equal(at_remove_tree(place->fd, "dir", &place->err), 0);
	assert_int_equal(at_remove_tree(place->fd, "top", &place->err), 0);
	struct stat st;
	assert_int_equal(fstatat(place->fd, "dir", &st, AT_SYMLINK_NOFOLLOW), -1);
	assert_int_equal(fstatat(place->fd, "top", &st, AT_SYMLINK_NOFOLLOW), -1);
	assert_int_equal(faccessat(place->fd, "outside/file", F_OK, 0), 0);
	assert_int_equal(fstatat(place->fd, "outside", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0500);
}

#define NO_MOUNT 98

/* Remove a tree over a mount, in a mount namespace of this process's own, which ends with it. */
static int remove_over_mount(const char *place)
{
	struct err err = { 0 };
	struct stat st;

	if (unshare(CLONE_NEWNS) < 0 || mount("", "/", "", MS_REC | MS_PRIVATE, NULL) < 0 ||
		chdir(place) < 0 || mount("tmpfs", "dir/sub/mount", "tmpfs", 0, "size=1m") < 0)
		return NO_MOUNT;
	owned_fd int dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd = openat(dir, "dir/sub/mount/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return 1;
	close(fd);
	int r = at_remove_tree(dir, "dir", &err);
	if (r != -ERR_SYSTEM || err.errno_value != EBUSY)
		return 2;
	if (fstatat(dir, "dir/sub/mount/file", &st, 0) < 0)
		return 3;
	/* Files that are not below a mount point are removed. */
	return fstatat(dir, "dir/sub/file", &st, 0) == 0 ? 4 : 0;
}

static void never_empties_what_is_mounted_below(void **state)
{
	struct place *place = *state;
	int status;

	if (getuid()) {
		printf("# skip: not root\n");
		skip();
	}
	assert_int_equal(at_mkdirs(place->fd, "dir/sub/mount", 0700, &place->err), 0);
	write_file(place->fd, "dir/sub/file", "x");
	pid_t child = fork();
	assert_true(child >= 0);
	if (!child)
		_exit(remove_over_mount(place->path));
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_MOUNT) {
		printf("# skip: mounting is not allowed here\n");
		skip();
	}
	assert_int_equal(status, 0);
}

/* --- searching --- */

static void knows_whether_a_directory_holds_only_a_name(void **state)
{
	struct place *place = *state;

	assert_int_equal(at_holds_only(place->fd, "run", &place->err), 1);
	assert_int_equal(mkdirat(place->fd, "run", 0700), 0);
	assert_int_equal(at_holds_only(place->fd, "run", &place->err), 1);
	assert_int_equal(at_holds_only(place->fd, "other", &place->err), 0);
	assert_int_equal(at_holds_only(place->fd, "ru", &place->err), 0);
	write_file(place->fd, ".hidden", "");
	assert_int_equal(at_holds_only(place->fd, "run", &place->err), 0);
	/* The check does not move the position of the descriptor. */
	assert_int_equal(lseek(place->fd, 0, SEEK_CUR), 0);
	owned_fd int file = openat(place->fd, ".hidden", O_RDONLY | O_CLOEXEC);
	assert_true(at_holds_only(file, "run", &place->err) < 0);
}

static int note_name(void *arg, int dirfd, const char *name, struct err *err)
{
	buf_addf(arg, "%s,", name);
	return strcmp(name, "bad") ? 0 : err_set(err, ERR_INVALID, "bad");
}

static void visits_each_name_and_says_why_it_cannot(void **state)
{
	struct place *place = *state;
	owned(buf_release) struct buf names = BUF_INIT;

	assert_int_equal(at_each_name(place->fd, ".", note_name, &names, &place->err), 0);
	assert_int_equal(names.len, 0);
	write_file(place->fd, "one", "");
	assert_int_equal(at_each_name(place->fd, ".", note_name, &names, &place->err), 0);
	assert_string_equal(names.data, "one,");
	assert_int_equal(unlinkat(place->fd, "one", 0), 0);
	write_file(place->fd, "bad", "");
	assert_int_equal(
		at_each_name(place->fd, ".", note_name, &names, &place->err), -ERR_INVALID);
	assert_int_equal(
		at_each_name(place->fd, "none", note_name, &names, &place->err), -ERR_NOT_FOUND);
}

static void makes_new_directories_of_its_own(void **state)
{
	struct place *place = *state;
	owned_mem char *first = at_mkdir_new(place->fd, ".x", &place->err);
	owned_mem char *second = at_mkdir_new(place->fd, ".x", &place->err);
	struct stat st;

	assert_non_null(first);
	assert_non_null(second);
	assert_string_not_equal(first, second);
	assert_int_equal(fstatat(place->fd, second, &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0700);
	assert_null(at_mkdir_new(place->fd, "none/x", &place->err));
	assert_int_equal(place->err.errno_value, ENOENT);
}

static bool same_place(int fd, int dirfd, const char *path)
{
	struct stat a, b;

	assert_int_equal(fstat(fd, &a), 0);
	assert_int_equal(fstatat(dirfd, path, &b, 0), 0);
	return a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

static void finds_the_nearest_directory_upward(void **state)
{
	struct place *place = *state;
	owned_fd int old = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct err err = { 0 };

	assert_int_equal(at_mkdirs(place->fd, "a/b/c/d", 0700, &place->err), 0);
	assert_int_equal(at_mkdirs(place->fd, "a/.mark-of-a-test", 0700, &place->err), 0);
	assert_int_equal(at_mkdirs(place->fd, "a/b/c/.mark-of-a-test", 0700, &place->err), 0);
	/* A file with the wanted name is not the wanted directory. */
	write_file(place->fd, "a/b/c/d/.mark-of-a-test", "");
	static const struct {
		const char *from, *found;
	} cases[] = {
		{ "a/b/c/d", "a/b/c/.mark-of-a-test" },
		{ "a/b/c", "a/b/c/.mark-of-a-test" },
		{ "a/b", "a/.mark-of-a-test" },
		{ "a", "a/.mark-of-a-test" },
		{ ".", NULL },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		owned_fd int from = openat(place->fd, cases[i].from, O_PATH | O_CLOEXEC);

		assert_int_equal(fchdir(from), 0);
		owned_fd int found = at_find_upward(".mark-of-a-test", &err);
		assert_int_equal(fchdir(old), 0);
		if (cases[i].found) {
			assert_true(found >= 0);
			assert_true(same_place(found, place->fd, cases[i].found));
		} else {
			assert_int_equal(found, -ERR_NOT_FOUND);
		}
	}
}

static void knows_the_path_of_a_directory(void **state)
{
	struct place *place = *state;
	owned_mem char *path = at_path_of(place->fd, &place->err);
	owned_mem char *real = realpath(place->path, NULL);

	assert_non_null(path);
	assert_string_equal(path, real);
}

/* --- temporary files, whole reads and writes --- */

static void temporary_files_have_no_name(void **state)
{
	struct place *place = *state;
	owned_fd int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const int places[] = { place->fd, -1, proc };
	struct stat st, dir;

	assert_int_equal(fstat(place->fd, &dir), 0);
	for (size_t i = 0; i < COUNT(places); i++) {
		owned_fd int fd = at_tmpfile(places[i], &place->err);
		char bytes[5] = "";

		assert_true(fd >= 0);
		assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
		assert_int_equal(fstat(fd, &st), 0);
		assert_int_equal(st.st_nlink, 0);
		if (places[i] == place->fd)
			assert_int_equal(st.st_dev, dir.st_dev);
		assert_int_equal(at_write_all(fd, "abcd", 4), 0);
		assert_int_equal(at_pwrite_all(fd, "XY", 2, 6), 0);
		assert_int_equal(at_pread_full(fd, bytes, 4, 2), 4);
		assert_memory_equal(bytes, "cd\0\0", 4);
		assert_int_equal(at_pread_full(fd, bytes, 4, 6), 2);
		assert_int_equal(at_pread_full(fd, bytes, 4, 100), 0);
	}
	assert_int_equal(at_holds_only(place->fd, "", &place->err), 1);
	assert_int_equal(at_write_all(-1, "x", 1), -EBADF);
	assert_int_equal(at_pread_full(-1, place, 1, 0), -EBADF);
}

static void names_are_never_followed(void **state)
{
	struct place *place = *state;
	owned_fd int dir = make_dir(place);
	char target[16];
	struct statx stx;

	assert_int_equal(at_name_open(dir, "link", O_RDONLY), -ELOOP);
	assert_int_equal(at_name_read(dir, "link"), -ELOOP);
	assert_int_equal(at_name_stat(dir, "link", &stx), 0);
	assert_true(S_ISLNK(stx.stx_mode));
	assert_int_equal(at_name_readlink(dir, "link", target, sizeof(target)), 4);
	assert_string_equal(target, "file");
	assert_int_equal(at_name_readlink(dir, "link", target, 4), 3);
	assert_string_equal(target, "fil");
	assert_int_equal(at_name_readlink(dir, "file", target, sizeof(target)), -EINVAL);
	assert_int_equal(at_name_stat(dir, "nothing", &stx), -ENOENT);
	/* Opening a FIFO returns at once, although no process writes to it. */
	assert_int_equal(mknodat(dir, "fifo", S_IFIFO | 0600, 0), 0);
	owned_fd int fifo = at_name_read(dir, "fifo");
	assert_true(fifo >= 0);
}

/* --- extended attributes --- */

#define EXPECT(condition)                                                                          \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			printf("# line %d: %s\n", __LINE__, #condition);                           \
			wrong++;                                                                   \
		}                                                                                  \
	} while (0)

/* Try extended attributes on everything in dir.  Returns the number of wrong results. */
static int run_xattr_cases(int dir)
{
	/* Links have no user attributes, and only root may set others. */
	const char *any = getuid() ? "user.test" : "trusted.test";
	static const char *const names[] = { "file", "sub", "link", "fifo" };
	char list[256], value[16];
	int wrong = 0;

	for (size_t i = 0; i < (getuid() ? 2 : COUNT(names)); i++) {
		const char *name = names[i];

		EXPECT(at_xattr_list(dir, name, list, sizeof(list)) == 0);
		EXPECT(at_xattr_get(dir, name, any, value, sizeof(value)) == -ENODATA);
		EXPECT(at_xattr_set(dir, name, any, "v\0w", 3) == 0);
		EXPECT(at_xattr_list(dir, name, list, sizeof(list)) == (ssize_t)strlen(any) + 1);
		EXPECT(!strcmp(list, any));
		EXPECT(at_xattr_list(dir, name, list, 3) == -ERANGE);
		EXPECT(at_xattr_get(dir, name, any, value, sizeof(value)) == 3);
		EXPECT(!memcmp(value, "v\0w", 3));
		EXPECT(at_xattr_get(dir, name, any, value, 1) == -ERANGE);
		EXPECT(at_xattr_set(dir, name, any, "", 0) == 0);
		EXPECT(at_xattr_get(dir, name, any, value, sizeof(value)) == 0);
		EXPECT(at_xattr_remove(dir, name, any) == 0);
		EXPECT(at_xattr_remove(dir, name, any) == -ENODATA);
		EXPECT(at_xattr_list(dir, name, list, sizeof(list)) == 0);
	}
	EXPECT(at_xattr_set(dir, "link", "user.test", "v", 1) == -EPERM);
	EXPECT(at_xattr_list(dir, "file", list, sizeof(list)) == 0);
	EXPECT(at_xattr_list(dir, "nothing", list, sizeof(list)) == -ENOENT);
	EXPECT(at_xattr_get(dir, "nothing", any, value, sizeof(value)) == -ENOENT);
	EXPECT(at_xattr_set(dir, "nothing", any, "v", 1) == -ENOENT);
	EXPECT(at_xattr_remove(dir, "nothing", any) == -ENOENT);
	return wrong;
}

static int make_xattr_dir(struct place *place)
{
	int dir = make_dir(place);

	assert_int_equal(mknodat(dir, "fifo", S_IFIFO | 0600, 0), 0);
	if (fsetxattr(dir, "user.test", "v", 1, 0) < 0) {
		close(dir);
		printf("# skip: no extended attributes on this file system\n");
		skip();
	}
	return dir;
}

static void reads_and_writes_attributes_of_a_name(void **state)
{
	owned_fd int dir = make_xattr_dir(*state);

	assert_int_equal(run_xattr_cases(dir), 0);
}

static const int xattrat_calls[] = { SYS_setxattrat, SYS_getxattrat, SYS_listxattrat,
	SYS_removexattrat };

static void does_so_where_the_kernel_has_no_xattrat(void **state)
{
	owned_fd int dir = make_xattr_dir(*state);

	assert_the_same_without(xattrat_calls, 4, ENOSYS, run_xattr_cases, dir);
}

static void does_so_where_a_policy_forbids_xattrat(void **state)
{
	owned_fd int dir = make_xattr_dir(*state);

	assert_the_same_without(xattrat_calls, 4, EPERM, run_xattr_cases, dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		place_test(opens_nothing_outside_its_directory),
		place_test(opens_the_same_where_the_kernel_has_no_openat2),
		place_test(opens_the_same_where_a_policy_forbids_openat2),
		place_test(opens_paths_longer_than_the_kernel_takes),
		place_test(makes_directories_and_their_parents),
		place_test(makes_directories_a_person_named),
		place_test(removes_a_tree_of_1500_levels),
		place_test(removes_files_links_and_what_is_not_there),
		place_test(removes_directories_their_owner_may_not_write),
		place_test(says_why_a_file_of_another_stays),
		place_test(removes_nothing_through_a_link),
		place_test(never_empties_what_is_mounted_below),
		place_test(knows_whether_a_directory_holds_only_a_name),
		place_test(visits_each_name_and_says_why_it_cannot),
		place_test(makes_new_directories_of_its_own),
		place_test(finds_the_nearest_directory_upward),
		place_test(knows_the_path_of_a_directory),
		place_test(temporary_files_have_no_name),
		place_test(names_are_never_followed),
		place_test(reads_and_writes_attributes_of_a_name),
		place_test(does_so_where_the_kernel_has_no_xattrat),
		place_test(does_so_where_a_policy_forbids_xattrat),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
