/*
 * sandbox_fixture - a small root file system to run commands in, as root and as an ordinary user.
 *
 * If root starts a test program, the tests run twice: first in a child that is user 65534 and has
 * entered a user namespace, then as root.
 */
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "sandbox/sandbox.h"
#include "sandbox/sandbox_run.h"
#include "tempdir_fixture.h"
#include "userns_fixture.h"

#define ORDINARY 65534
#define OUTPUT_MAX 65536

static struct {
	char path[200]; /* directory of the places; belongs to the user who runs the tests */
	char busybox[256];
	enum sandbox_user user;
	const char *why_not; /* the reason why no test can run, or NULL */
} world;

struct place {
	char path[256];
	int fd, run, root; /* root: the directory of the tree */
	struct sandbox sandbox;
	struct sandbox_result result;
	struct err err;
	char out[OUTPUT_MAX]; /* output of the last command */
};

static const char *const plain_env[] = { "PATH=/bin:/sbin", "HOME=/root", NULL };

/* --------------------------------------------------------------------- files */

__attribute__((unused)) static void put(int dirfd, const char *name, const char *text, mode_t mode)
{
	owned_fd int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
}

__attribute__((unused)) static bool there(int dirfd, const char *name)
{
	struct stat st;

	return fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Make a tree with busybox, its links, and the directories that a sandbox needs. */
static void make_tree(int dirfd)
{
	static const char *const dirs[] = { "bin", "dev", "etc", "proc", "root", "sys", "tmp" };
	static const char *const links[] = { "sh", "cat", "echo", "id", "ls", "mkdir", "mount",
		"umount", "sleep", "true", "kill", "chmod", "env", "hostname", "ps", "rm", "mv",
		"touch", "tty", "stty", "pwd", "setsid", "wc", "grep", "ip", "nc", "stat", "dd",
		"test", "unshare", "killall", "usleep", "head", "printf", "mknod", "find", "sort" };
	char name[64];

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		assert_int_equal(mkdirat(dirfd, dirs[i], 0755), 0);
	assert_int_equal(linkat(AT_FDCWD, world.busybox, dirfd, "bin/busybox", 0), 0);
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		snprintf(name, sizeof(name), "bin/%s", links[i]);
		assert_int_equal(symlinkat("busybox", dirfd, name), 0);
	}
	put(dirfd, "etc/passwd",
		"root:x:0:0:root:/root:/bin/sh\nagent:x:1000:1001::/home/agent:/bin/sh\n", 0644);
	put(dirfd, "etc/group", "root:x:0:\nagent:x:1001:\nextra:x:2000:other,agent\n", 0644);
	put(dirfd, "etc/resolv.conf", "the tree's own\n", 0644);
	put(dirfd, "marker", "inside\n", 0644);
}

/* -------------------------------------------------------------------- places */

static int setup(void **state)
{
	struct place *place = mem_zalloc(sizeof(*place));

	if (world.why_not) {
		*state = place;
		return 0;
	}
	place->sandbox = (struct sandbox)SANDBOX_INIT;
	snprintf(place->path, sizeof(place->path), "%s/place-XXXXXX", world.path);
	if (!mkdtemp(place->path))
		return -1;
	place->fd = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (place->fd < 0 || mkdirat(place->fd, "run", 0700) < 0 ||
		mkdirat(place->fd, "root", 0755) < 0)
		return -1;
	place->run = openat(place->fd, "run", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	place->root = openat(place->fd, "root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = place;
	return place->run < 0 || place->root < 0;
}

static int teardown(void **state)
{
	struct place *place = *state;
	struct err err = { 0 };

	if (!world.why_not) {
		if (place->sandbox.connection >= 0)
			(void)sandbox_kill(&place->sandbox, "test", &err);
		close(place->root);
		close(place->run);
		close(place->fd);
		(void)tempdir_remove(place->path);
	}
	free(place);
	return 0;
}

#define place_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static void skip_unless_possible(void)
{
	if (!world.why_not)
		return;
	printf("# skip: %s\n", world.why_not);
	skip();
}

__attribute__((unused)) static void ok(struct place *place, int r)
{
	if (r < 0)
		fail_msg("%s (hint: %s)", place->err.text, place->err.hint);
}

__attribute__((unused)) static struct sandbox_plan plan_of(struct place *place)
{
	return (struct sandbox_plan){
		.run = place->run,
		.name = "main",
		.root = { .dir = place->root },
	};
}

/* Start a sandbox with the small tree as its root. */
__attribute__((unused)) static struct place *started(void **state)
{
	struct place *place = *state;

	skip_unless_possible();
	make_tree(place->root);
	struct sandbox_plan plan = plan_of(place);
	ok(place, sandbox_start(&plan, &place->sandbox, &place->err));
	return place;
}

/* ------------------------------------------------------------------ commands */

/* Run a command with its output in place->out.  Returns the result of sandbox_run. */
__attribute__((unused)) static int run_command(
	struct place *place, const struct sandbox_command *command)
{
	owned_fd int memory = memfd_create("output", MFD_CLOEXEC);
	owned_fd int out = dup(STDOUT_FILENO), errors = dup(STDERR_FILENO);

	assert_true(memory >= 0 && out >= 0 && errors >= 0);
	fflush(stdout);
	(void)dup2(memory, STDOUT_FILENO);
	(void)dup2(memory, STDERR_FILENO);
	int r = sandbox_run(&place->sandbox, command, &place->result, &place->err);
	(void)dup2(out, STDOUT_FILENO);
	(void)dup2(errors, STDERR_FILENO);
	ssize_t n = pread(memory, place->out, sizeof(place->out) - 1, 0);
	place->out[n > 0 ? n : 0] = '\0';
	return r;
}

/* Run a line with the tree's shell.  Returns the exit status. */
__attribute__((unused)) static int shell(struct place *place, const char *line)
{
	const char *const argv[] = { "sh", "-c", line, NULL };
	struct sandbox_command command = { .argv = argv, .env = plain_env };

	ok(place, run_command(place, &command));
	return place->result.status;
}

/* Run a line, and check its output. */
#define assert_prints(place, line, text)                                                           \
	do {                                                                                       \
		(void)shell(place, line);                                                          \
		assert_string_equal((place)->out, text);                                           \
	} while (0)

__attribute__((unused)) static void sleep_ms(long ms)
{
	struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	nanosleep(&pause, NULL);
}

/* Try until the condition is true, for up to five seconds. */
#define assert_soon(condition)                                                                     \
	do {                                                                                       \
		int tries_ = 500;                                                                  \
		while (!(condition) && --tries_)                                                   \
			sleep_ms(10);                                                              \
		if (!tries_)                                                                       \
			fail_msg("never: %s", #condition);                                         \
	} while (0)

/* ---------------------------------------------------------- the two worlds */

/* Whether this is root that can become any user, and not root of a user namespace with few ids. */
__attribute__((unused)) static bool is_real_root(void)
{
	FILE *map = fopen("/proc/self/uid_map", "re");
	unsigned first = 1, above, count = 0;
	int n = map ? fscanf(map, "%u %u %u", &first, &above, &count) : 0;

	if (map)
		fclose(map);
	return geteuid() == 0 && n == 3 && first == 0 && count == UINT32_MAX;
}

static void copy_busybox(void)
{
	owned_fd int from = open("/bin/busybox", O_RDONLY | O_CLOEXEC);
	owned_fd int to = -1;
	static char part[1 << 16];
	ssize_t n = 0;

	snprintf(world.busybox, sizeof(world.busybox), "%s/busybox", world.path);
	to = from < 0 ? -1 : open(world.busybox, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	while (to >= 0 && (n = read(from, part, sizeof(part))) > 0 &&
		write(to, part, (size_t)n) == n)
		;
	if (to < 0 || n != 0)
		world.why_not = "no /bin/busybox (busybox-static)";
}

static int begin_world(uid_t uid)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(world.path, sizeof(world.path), "%s/strata-test-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(world.path))
		return -1;
	return geteuid() == 0 ? chown(world.path, uid, uid) : 0;
}

static int run_world(int (*tests)(void))
{
	static char why[SANDBOX_USER_WHY_MAX];
	struct err err = { 0 };

	world.why_not = NULL;
	copy_busybox();
	if (!is_userns_possible(why))
		world.why_not = why;
	world.user = geteuid() == 0 ? SANDBOX_USER_ROOT : SANDBOX_USER_SINGLE;
	if (!world.why_not && sandbox_user_enter(world.user, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	return tests();
}

static int run_as_user(int (*tests)(void))
{
	int status = -1;

	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		if (setgroups(0, NULL) < 0 || setresgid(ORDINARY, ORDINARY, ORDINARY) < 0 ||
			setresuid(ORDINARY, ORDINARY, ORDINARY) < 0 ||
			prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
			_exit(1);
		int failed = run_world(tests);
		fflush(stdout);
		_exit(failed ? 1 : 0);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

__attribute__((unused)) static int run_in_both_worlds(int (*tests)(void))
{
	int failed = 0;

	if (is_real_root()) {
		if (begin_world(ORDINARY) < 0)
			return 1;
		failed += run_as_user(tests);
		(void)tempdir_remove(world.path);
	}
	if (begin_world(geteuid()) < 0)
		return 1;
	failed += run_world(tests);
	(void)tempdir_remove(world.path);
	return failed;
}
