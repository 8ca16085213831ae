/* maskfs: the accesses that are refused, and their reports. */
#include "sandbox_fixture.h"

#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "sandbox/maskfs.h"
#include "sandbox/mountcall.h"

static const struct maskfs_node nodes[] = {
	{ "0", S_IFDIR, NULL },
	{ "1", S_IFREG, NULL },
	{ "2", S_IFDIR, NULL },
	{ "2/way", S_IFDIR, NULL },
	{ "2/way/hole", S_IFDIR, NULL },
	{ "2/link", S_IFLNK, "way/hole" },
};
#define N_NODES (sizeof(nodes) / sizeof(nodes[0]))

/* The last access that was reported. */
struct told {
	size_t node;
	char path[64];
	pid_t pid;
	int times;
};

static void note(void *arg, size_t node, const char *path, pid_t pid)
{
	struct told *told = arg;

	told->node = node;
	snprintf(told->path, sizeof(told->path), "%s", path);
	told->pid = pid;
	told->times++;
}

/*
 * The server of one test, in a mount namespace of its own.  The masks are mounted in the place of
 * the test.
 */
struct served {
	struct maskfs *fs;
	struct told told;
	char path[300];
};

/*
 * Ends the process on failure.  An assertion of cmocka would go on in a process that has to serve.
 */
#define must(condition)                                                                            \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%d: not %s (%s)\n", __LINE__, #condition,                 \
				strerror(errno));                                                  \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

static int enter_private(void)
{
	struct mount_attr private = { .propagation = MS_PRIVATE };

	return unshare(CLONE_NEWNS) < 0 || mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &private,
						   sizeof(private)) < 0
		       ? -1
		       : 0;
}

/* Call ask in a child while this process serves.  Returns the child's exit status. */
static int asked(struct served *served, int (*ask)(const char *dir))
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(ask(served->path));
	for (;;) {
		struct pollfd ready = { maskfs_fd(served->fs), POLLIN, 0 };

		(void)poll(&ready, 1, 5);
		must(maskfs_serve(served->fs) == 0);
		if (waitpid(pid, &status, WNOHANG) == pid)
			break;
	}
	if (served->told.times)
		must(served->told.pid == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static int begin(struct place *place, struct served *served)
{
	struct err *err = &place->err;
	int device = maskfs_open(err);

	*served = (struct served){ 0 };
	snprintf(served->path, sizeof(served->path), "%s/root", place->path);
	if (device < 0)
		return device;
	must(enter_private() == 0);
	served->fs = maskfs_new(device, nodes, N_NODES, note, &served->told, err);
	must(served->fs);
	must(mountcall_attach(maskfs_mount(served->fs), AT_FDCWD, served->path) == 0);
	return 0;
}

/* Run a test in a child, so that its namespaces end with it. */
static void in_child(void **state, void (*test)(struct place *place, struct served *served))
{
	struct place *place = *state;
	int status;

	skip_unless_possible();
	struct err why = { 0 };
	int device = maskfs_open(&why);

	if (device < 0) {
		/* On most machines every user may open the device. */
		printf("# skip: %s\n", why.errno_value == EACCES ? "not root" : why.text);
		skip();
	}
	close(device);
	pid_t pid = fork();
	if (pid == 0) {
		struct served served;

		must(begin(place, &served) == 0);
		test(place, &served);
		maskfs_free(served.fs);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static char *below(const char *dir, const char *name)
{
	return mem_printf("%s/%s", dir, name);
}

#define REQUIRE(condition)                                                                         \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%d: not %s (%s)\n", __LINE__, #condition,                 \
				strerror(errno));                                                  \
			return 1;                                                                  \
		}                                                                                  \
	} while (0)

static bool refused(int r)
{
	return r < 0 && errno == EACCES;
}

static int look_into_directory(const char *dir)
{
	struct stat st;

	REQUIRE(refused(stat(below(dir, "0/id_rsa"), &st)));
	return 0;
}

static int open_directory(const char *dir)
{
	REQUIRE(refused(open(below(dir, "0"), O_RDONLY | O_DIRECTORY)));
	return 0;
}

static int read_file(const char *dir)
{
	REQUIRE(refused(open(below(dir, "1"), O_RDONLY)));
	return 0;
}

static int execute_file(const char *dir)
{
	REQUIRE(refused(execl(below(dir, "1"), "x", NULL)));
	return 0;
}

static int look_at_masks(const char *dir)
{
	struct stat st;
	char list[64];

	REQUIRE(stat(below(dir, "0"), &st) == 0 && S_ISDIR(st.st_mode));
	REQUIRE(stat(below(dir, "1"), &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0);
	REQUIRE(listxattr(below(dir, "0"), list, sizeof(list)) <= 0);
	return 0;
}

static int check_access(const char *dir)
{
	REQUIRE(refused(access(below(dir, "0"), R_OK)));
	return 0;
}

static int go_into(const char *dir)
{
	REQUIRE(refused(chdir(below(dir, "0"))));
	return 0;
}

static int make_file(const char *dir)
{
	REQUIRE(refused(open(below(dir, "0/new"), O_WRONLY | O_CREAT, 0600)));
	return 0;
}

static int make_directory(const char *dir)
{
	REQUIRE(refused(mkdir(below(dir, "0/new"), 0700)));
	return 0;
}

static int miss_the_hole(const char *dir)
{
	REQUIRE(refused(access(below(dir, "2/way/other"), F_OK)));
	return 0;
}

static int find_the_hole(const char *dir)
{
	struct stat st;
	char target[64];

	REQUIRE(stat(below(dir, "2/way/hole"), &st) == 0);
	REQUIRE(chdir(below(dir, "2/way")) == 0);
	REQUIRE(readlink(below(dir, "2/link"), target, sizeof(target)) == 8);
	REQUIRE(stat(below(dir, "2/link"), &st) == 0 && S_ISDIR(st.st_mode));
	return 0;
}

static const struct {
	int (*ask)(const char *dir);
	size_t node;
	const char *path; /* NULL: nothing is reported */
} cases[] = {
	{ look_into_directory, 0, "id_rsa" },
	{ open_directory, 0, "" },
	{ read_file, 1, "" },
	{ execute_file, 1, "" },
	{ look_at_masks, 0, NULL },
	{ check_access, 0, "" },
	{ go_into, 0, "" },
	{ make_file, 0, "new" },
	{ make_directory, 0, "new" },
	{ miss_the_hole, 2, "way/other" },
	{ find_the_hole, 0, NULL },
};

static void try_cases(struct place *place, struct served *served)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		served->told = (struct told){ 0 };
		must(asked(served, cases[i].ask) == 0);
		if (!cases[i].path) {
			must(served->told.times == 0);
			continue;
		}
		must(served->told.times > 0);
		must(served->told.node == cases[i].node);
		must(!strcmp(served->told.path, cases[i].path));
	}
}

static void refuses_and_tells(void **state)
{
	in_child(state, try_cases);
}

static int look_from_below(const char *dir)
{
	/* Become a user with other ids, in a further user namespace below. */
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return 2;
	REQUIRE(refused(open(below(dir, "0/x"), O_RDONLY)));
	return 0;
}

static void try_from_below(struct place *place, struct served *served)
{
	must(asked(served, look_from_below) == 0);
	must(!strcmp(served->told.path, "x"));
}

static void refuses_in_nested_namespaces(void **state)
{
	in_child(state, try_from_below);
}

static int look_at_the_dead(const char *dir)
{
	struct stat st;
	int tries = 500;

	/* Wait until the server has ended. */
	while (stat(below(dir, "0/x"), &st) < 0 && errno != ENOTCONN && --tries)
		sleep_ms(10);
	REQUIRE(errno == ENOTCONN);
	REQUIRE(open(below(dir, "1"), O_RDONLY) < 0 && errno == ENOTCONN);
	return 0;
}

static void try_after_the_end(struct place *place, struct served *served)
{
	int status;
	int device = maskfs_fd(served->fs);
	pid_t pid = fork();

	if (pid == 0) {
		close(device);
		_exit(look_at_the_dead(served->path));
	}
	/* The child has made its access, and waits for an answer. */
	struct pollfd ready = { device, POLLIN, 0 };
	must(poll(&ready, 1, 5000) == 1);
	maskfs_free(served->fs);
	served->fs = NULL;
	must(waitpid(pid, &status, 0) == pid);
	must(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void leaves_nobody_waiting(void **state)
{
	in_child(state, try_after_the_end);
}

static void says_whether_it_works(void **state)
{
	struct place *place = *state;
	struct err why = { 0 };
	int device = maskfs_open(&why);

	skip_unless_possible();
	if (device < 0) {
		assert_false(maskfs_probe(&place->err));
		assert_non_null(strstr(place->err.text, "/dev/fuse"));
		return;
	}
	close(device);
	assert_true(maskfs_probe(&place->err));
}

static int all_tests(void)
{
	const struct CMUnitTest tests[] = {
		place_test(refuses_and_tells),
		place_test(refuses_in_nested_namespaces),
		place_test(leaves_nobody_waiting),
		place_test(says_whether_it_works),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

static void write_file(const char *path, const char *text)
{
	owned_fd int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
}

/* Run the tests as root of a user namespace below, who may open the device, too. */
static int namespace_tests(void)
{
	if (unshare(CLONE_NEWUSER) == 0) {
		write_file("/proc/self/setgroups", "deny");
		write_file("/proc/self/uid_map", "0 0 1");
		write_file("/proc/self/gid_map", "0 0 1");
	}
	return all_tests();
}

int main(void)
{
	int failed = run_in_both_worlds(all_tests), status = 0;

	if (!is_real_root())
		return failed;
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		int r = begin_world(geteuid()) < 0 ? 1 : run_world(namespace_tests);

		fflush(stdout);
		_exit(r ? 1 : 0);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return failed + (status != 0);
}
