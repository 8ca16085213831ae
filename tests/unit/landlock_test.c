/* landlock: the actions that a domain refuses, and the actions that it allows. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/at.h"
#include "core/own.h"
#include "core/uapi.h"
#include "sandbox/landlock.h"
#include "sandbox/scope.h"
#include "tempdir_fixture.h"

static char top[] = "/tmp/strata-landlock.XXXXXX";
static int top_fd;

/* Returns the path of a file in the directory of the test. */
static const char *in_top(const char *name)
{
	static char paths[8][128];
	static unsigned next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", top, name);
	return path;
}

static void put(const char *name, const char *text, mode_t mode)
{
	owned_fd int fd = openat(top_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static int setup(void **state)
{
	if (!mkdtemp(strcpy(top, "/tmp/strata-landlock.XXXXXX")))
		return -1;
	top_fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (top_fd < 0 || mkdirat(top_fd, "open", 0755) < 0 || mkdirat(top_fd, "other", 0755) < 0 ||
		mkdirat(top_fd, "seen", 0755) < 0 || mkdirat(top_fd, "hidden", 0755) < 0)
		return -1;
	put("open/file", "text", 0644);
	put("seen/file", "text", 0644);
	put("seen/script", "#!/bin/sh\n", 0755);
	put("hidden/file", "text", 0644);
	return 0;
}

static int teardown(void **state)
{
	close(top_fd);
	return tempdir_remove(top);
}

/* Returns the error of a system call, or 0. */
static int refused(long r)
{
	return r < 0 ? errno : 0;
}

static int refused_open(const char *path, int flags)
{
	owned_fd int fd = open(path, flags | O_CLOEXEC, 0644);

	return refused(fd);
}

/*
 * Check an action in a child that has entered the domain.  Each CHECK prints a line for a wrong
 * result.
 */
#define CHECK(what, expected)                                                                      \
	do {                                                                                       \
		int got_ = (what);                                                                 \
		if (got_ != (expected)) {                                                          \
			fprintf(stderr, "%s: %s\n", #what, got_ ? strerror(got_) : "done");        \
			failed = 1;                                                                \
		}                                                                                  \
	} while (0)

static bool enter(const struct landlock_rules *rules)
{
	struct err err = { 0 };
	owned_fd int ruleset = -1;

	if (landlock_make(rules, &ruleset, &err) < 0 ||
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || landlock_enter(ruleset, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return false;
	}
	return true;
}

static void in_domain(const struct landlock_rules *rules, int (*checks)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(enter(rules) ? checks() : 2);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void skip_below(int abi)
{
	if (landlock_abi() >= abi)
		return;
	/* Valgrind does not support these system calls. */
	const char *preloaded = getenv("LD_PRELOAD");
	if (preloaded && strstr(preloaded, "vgpreload"))
		printf("# skip: valgrind\n");
	else
		printf("# skip: the kernel has Landlock of version %d, not %d\n", landlock_abi(),
			abi);
	skip();
}

/* ---------------------------------------------------------------------- files */

static int check_files(void)
{
	const int abi = landlock_abi();
	int failed = 0;

	CHECK(refused_open(in_top("open/file"), O_RDWR | O_TRUNC), 0);
	CHECK(refused_open(in_top("open/new"), O_WRONLY | O_CREAT), 0);
	CHECK(refused(mkdir(in_top("open/dir"), 0755)), 0);
	CHECK(refused(rmdir(in_top("open/dir"))), 0);
	CHECK(refused(unlink(in_top("open/new"))), 0);
	CHECK(refused_open(in_top("seen/file"), O_RDONLY), 0);
	CHECK(refused_open(in_top("seen/file"), O_WRONLY), EACCES);
	CHECK(refused_open(in_top("seen/new"), O_WRONLY | O_CREAT), EACCES);
	CHECK(refused(unlink(in_top("seen/file"))), EACCES);
	CHECK(refused(symlink("x", in_top("seen/link"))), EACCES);
	CHECK(refused(mkdir(in_top("seen/dir"), 0755)), EACCES);
	if (abi >= UAPI_LANDLOCK_ABI_TRUNCATE)
		CHECK(refused(truncate(in_top("seen/file"), 0)), EACCES);
	CHECK(refused(execl(in_top("seen/script"), "script", NULL)), EACCES);
	CHECK(refused_open(in_top("hidden/file"), O_RDONLY), EACCES);
	CHECK(refused_open(in_top("hidden"), O_RDONLY | O_DIRECTORY), EACCES);
	return failed;
}

static void allows_files_by_class(void **state)
{
	const struct landlock_rule list[] = {
		{ .path = in_top("open"), .access = LANDLOCK_ALL },
		{ .path = in_top("seen"), .access = LANDLOCK_READ },
		{ .path = in_top("missing"), .access = LANDLOCK_ALL },
	};
	const struct landlock_rules rules = { .files = true, .rules = list, .n = 3 };

	skip_below(1);
	in_domain(&rules, check_files);
}

static int check_one_file(void)
{
	int failed = 0;

	CHECK(refused_open(in_top("hidden/file"), O_RDWR), 0);
	CHECK(refused_open(in_top("hidden"), O_RDONLY | O_DIRECTORY), EACCES);
	CHECK(refused_open(in_top("seen/file"), O_RDONLY), EACCES);
	return failed;
}

static void takes_a_descriptor_of_a_file(void **state)
{
	owned_fd int fd = open(in_top("hidden/file"), O_PATH | O_CLOEXEC);
	const struct landlock_rule list[] = { { .fd = fd, .access = LANDLOCK_ALL } };
	const struct landlock_rules rules = { .files = true, .rules = list, .n = 1 };

	skip_below(1);
	in_domain(&rules, check_one_file);
}

static int check_moves(void)
{
	int failed = 0;

	CHECK(refused(link(in_top("open/file"), in_top("other/link"))), 0);
	CHECK(refused(rename(in_top("open/file"), in_top("other/file"))), 0);
	CHECK(refused(rename(in_top("other/file"), in_top("seen/file2"))), EACCES);
	return failed;
}

static int check_no_moves(void)
{
	int failed = 0;

	CHECK(refused(rename(in_top("other/file"), in_top("open/file"))), EXDEV);
	CHECK(refused(rename(in_top("other/file"), in_top("other/name"))), 0);
	return failed;
}

static int check_no_moves_below_another(void)
{
	const struct landlock_rules more = { .scopes = LANDLOCK_SCOPE_ABSTRACT };

	return enter(&more) ? check_no_moves() : 2;
}

/*
 * One domain has the rules about files and the scopes, since a second domain without files forbids
 * moves.
 */
static void moves_between_directories(void **state)
{
	const struct landlock_rule list[] = {
		{ .path = in_top("open"), .access = LANDLOCK_ALL },
		{ .path = in_top("other"), .access = LANDLOCK_ALL },
		{ .path = in_top("seen"), .access = LANDLOCK_READ },
	};
	const struct landlock_rules rules = {
		.files = true,
		.rules = list,
		.n = 3,
		.bind = { .limited = true },
		.scopes = LANDLOCK_SCOPE_ABSTRACT | LANDLOCK_SCOPE_SIGNALS,
	};

	skip_below(UAPI_LANDLOCK_ABI_SCOPES);
	in_domain(&rules, check_moves);
	in_domain(&rules, check_no_moves_below_another);
}

static int check_devices(void)
{
	owned_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int failed = 0, n;

	CHECK(refused(ioctl(null, _IOR('T', 0x7f, int), &n)), EACCES);
	return failed;
}

static void keeps_ioctls_from_devices(void **state)
{
	const struct landlock_rule list[] = {
		{ .path = "/dev", .access = LANDLOCK_READ | LANDLOCK_WRITE },
	};
	const struct landlock_rules rules = { .files = true, .rules = list, .n = 1 };

	skip_below(UAPI_LANDLOCK_ABI_IOCTL);
	in_domain(&rules, check_devices);
}

static int check_mount(void)
{
	int failed = 0;

	if (unshare(geteuid() ? CLONE_NEWUSER | CLONE_NEWNS : CLONE_NEWNS) == 0)
		CHECK(refused(mount("none", in_top("open"), "tmpfs", 0, NULL)), EPERM);
	return failed;
}

static void forbids_mounts(void **state)
{
	const struct landlock_rule list[] = { { .path = "/", .access = LANDLOCK_ALL } };
	const struct landlock_rules rules = { .files = true, .rules = list, .n = 1 };

	skip_below(1);
	in_domain(&rules, check_mount);
}

/* --------------------------------------------------------- ports, sockets, signals */

/* Open a socket that listens on a port that the kernel chooses. */
static int listen_anywhere(uint16_t *port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
	assert_int_equal(listen(fd, 5), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	*port = ntohs(address.sin_port);
	return fd;
}

static uint16_t ports[2];

static int refused_connect(uint16_t port)
{
	const struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons(port),
	};
	owned_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return refused(connect(fd, (const struct sockaddr *)&address, sizeof(address)));
}

static int refused_bind(uint16_t port)
{
	const struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port) };
	owned_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return refused(bind(fd, (const struct sockaddr *)&address, sizeof(address)));
}

static int check_ports(void)
{
	int failed = 0;

	CHECK(refused_connect(ports[0]), 0);
	CHECK(refused_connect(ports[1]), EACCES);
	CHECK(refused_bind(0), EACCES);
	return failed;
}

static void allows_ports(void **state)
{
	owned_fd int first = listen_anywhere(&ports[0]), second = listen_anywhere(&ports[1]);
	const struct landlock_rules rules = {
		.bind = { .limited = true },
		.connect = { .limited = true, .list = ports, .n = 1 },
	};

	assert_true(first >= 0 && second >= 0);
	skip_below(UAPI_LANDLOCK_ABI_NET);
	in_domain(&rules, check_ports);
}

static struct sockaddr_un abstract;

static int check_scopes(void)
{
	owned_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int failed = 0;

	CHECK(refused(connect(fd, (const struct sockaddr *)&abstract, sizeof(abstract))), EPERM);
	CHECK(refused(kill(getppid(), 0)), EPERM);
	CHECK(refused(kill(getpid(), 0)), 0);
	/* Without rules about files, all files can be used, and mounts are possible. */
	CHECK(refused_open(in_top("hidden/file"), O_RDWR), 0);
	return failed;
}

static void keeps_sockets_and_signals_inside(void **state)
{
	const struct landlock_rules rules = {
		.scopes = LANDLOCK_SCOPE_ABSTRACT | LANDLOCK_SCOPE_SIGNALS,
	};
	owned_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	skip_below(UAPI_LANDLOCK_ABI_SCOPES);
	abstract.sun_family = AF_UNIX;
	snprintf(abstract.sun_path + 1, sizeof(abstract.sun_path) - 1, "strata-test-%d", getpid());
	assert_int_equal(bind(fd, (struct sockaddr *)&abstract, sizeof(abstract)), 0);
	assert_int_equal(listen(fd, 1), 0);
	in_domain(&rules, check_scopes);
}

static void says_what_it_lacks(void **state)
{
	const struct landlock_rules all = {
		.files = true,
		.connect = { .limited = true },
		.scopes = LANDLOCK_SCOPE_ABSTRACT | LANDLOCK_SCOPE_SIGNALS,
	};
	const struct landlock_rules nothing = { .files = false };
	owned(buf_release) struct buf lacks = BUF_INIT;
	struct err err = { 0 };
	int ruleset = 0;

	landlock_lacks(&nothing, &lacks);
	assert_int_equal(lacks.len, 0);
	assert_int_equal(landlock_make(&nothing, &ruleset, &err), 0);
	assert_int_equal(ruleset, -1);
	assert_int_equal(landlock_enter(ruleset, &err), 0);
	landlock_lacks(&all, &lacks);
	assert_int_equal(lacks.len == 0, landlock_abi() >= UAPI_LANDLOCK_ABI_SCOPES);
}

#define domain_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		domain_test(allows_files_by_class),
		domain_test(takes_a_descriptor_of_a_file),
		domain_test(moves_between_directories),
		domain_test(keeps_ioctls_from_devices),
		domain_test(forbids_mounts),
		domain_test(allows_ports),
		domain_test(keeps_sockets_and_signals_inside),
		domain_test(says_what_it_lacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
