/* sandbox_user: the ids that a caller gets. */
#include "sandbox_fixture.h"

#include <sched.h>
#include <sys/mount.h>

/*
 * Run a step in a child, since a process that has entered a user namespace cannot leave it.  The
 * exit status of the child shows which step has failed.
 */
static int in_child(int (*work)(void *), void *arg)
{
	int status = -1;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(work(arg));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void skip_because(const char *reason)
{
	printf("# skip: %s\n", reason);
	skip();
}

static int become_ordinary(void)
{
	if (geteuid() != 0)
		return 0;
	if (setgroups(0, NULL) < 0 || setresgid(ORDINARY, ORDINARY, ORDINARY) < 0 ||
		setresuid(ORDINARY, ORDINARY, ORDINARY) < 0)
		return -1;
	return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

static bool file_says(const char *path, const char *text)
{
	char content[256] = "", squeezed[256];
	owned_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0;

	if (fd < 0 || read(fd, content, sizeof(content) - 1) < 0)
		return false;
	for (char *p = content; *p; p++)
		if (*p != ' ' || (n && squeezed[n - 1] != ' ' && squeezed[n - 1] != '\n'))
			squeezed[n++] = *p;
	squeezed[n] = '\0';
	return !strcmp(squeezed, text);
}

/* ---------------------------------------------------------------------- one id */

static int single(void *arg)
{
	char why[SANDBOX_USER_WHY_MAX], map[64];
	struct err err = { 0 };

	if (become_ordinary() < 0)
		return 1;
	snprintf(map, sizeof(map), "0 %u 1\n", geteuid());
	if (sandbox_user_choose(why) == SANDBOX_USER_ROOT)
		return 2;
	if (sandbox_user_enter(SANDBOX_USER_SINGLE, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 3;
	}
	if (geteuid() != 0 || getegid() != 0)
		return 4;
	if (!file_says("/proc/self/uid_map", map) || !file_says("/proc/self/setgroups", "deny\n"))
		return 5;
	/* The process is a valid user there. */
	return unshare(CLONE_NEWNS) < 0 ? 6 : 0;
}

static void becomes_root_of_a_namespace(void **state)
{
	char why[SANDBOX_USER_WHY_MAX];

	if (!is_userns_possible(why))
		skip_because(why);
	if (geteuid() == 0 && !is_real_root())
		skip_because("not root");
	assert_int_equal(in_child(single, NULL), 0);
}

static int root_enters(void *arg)
{
	struct err err = { 0 };
	struct stat before, after;

	if (stat("/proc/self/ns/user", &before) < 0 ||
		sandbox_user_enter(SANDBOX_USER_ROOT, &err) < 0 ||
		stat("/proc/self/ns/user", &after) < 0)
		return 1;
	return before.st_ino != after.st_ino;
}

static void root_stays_where_it_is(void **state)
{
	char why[SANDBOX_USER_WHY_MAX];

	if (geteuid() != 0)
		skip_because("not root");
	assert_int_equal(sandbox_user_choose(why), SANDBOX_USER_ROOT);
	assert_string_equal(why, "");
	assert_int_equal(in_child(root_enters, NULL), 0);
}

/* ------------------------------------------------------------- subordinate ids */

/* Make a mount namespace in which /etc/subuid and /etc/subgid have this text. */
static int subids_say(const char *text)
{
	static const char *const tables[] = { "/etc/subuid", "/etc/subgid" };
	char path[] = "/tmp/strata-subids-XXXXXX";
	owned_fd int fd = mkstemp(path);

	if (fd < 0 || write(fd, text, strlen(text)) < 0 || fchmod(fd, 0644) < 0 ||
		unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -1;
	for (int i = 0; i < 2; i++)
		if (mount(path, tables[i], NULL, MS_BIND, NULL) < 0)
			return -1;
	return unlink(path);
}

static void skip_without_helpers(void)
{
	char why[SANDBOX_USER_WHY_MAX];

	if (!is_real_root())
		skip_because("not root");
	if (!is_userns_possible(why))
		skip_because(why);
	if (access("/usr/bin/newuidmap", X_OK) < 0 || access("/etc/subuid", F_OK) < 0 ||
		access("/etc/subgid", F_OK) < 0)
		skip_because("no newuidmap, /etc/subuid and /etc/subgid (uidmap)");
}

struct expectation {
	const char *table, *map, *why;
};

static int subids(void *arg)
{
	const struct expectation *expected = arg;
	char why[SANDBOX_USER_WHY_MAX];
	struct err err = { 0 };

	if (subids_say(expected->table) < 0 || become_ordinary() < 0)
		return 1;
	enum sandbox_user mode = sandbox_user_choose(why);
	if (!expected->map)
		return mode != SANDBOX_USER_SINGLE || !strstr(why, expected->why) ? 2 : 0;
	if (mode != SANDBOX_USER_SUBIDS || *why)
		return 3;
	if (sandbox_user_enter(mode, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 4;
	}
	if (!file_says("/proc/self/uid_map", expected->map) ||
		!file_says("/proc/self/gid_map", expected->map) || geteuid() != 0)
		return 5;
	gid_t group = 7;
	return setgroups(1, &group) < 0 ? 6 : 0;
}

static void finds_subordinate_ids(void **state)
{
	static const struct expectation cases[] = {
		{ .table = "65534:300000:65536\n", .map = "0 65534 1\n1 300000 65536\n" },
		/*
		 * The table lists the user by name.  The first of several lines is used, among
		 * lines of other users and malformed lines.
		 */
		{ .table = "root:1:1\nnobody:x:1\n\nnobody:400000:1000\nnobody:500000:65536\n",
			.map = "0 65534 1\n1 400000 1000\n" },
		{ .table = "root:100000:65536\n",
			.why = "/etc/subuid lists no range for user 65534" },
		{ .table = "nobody:1:0\nnobody:4294967296:1\n:1:1\n", .why = "lists no range" },
		{ .table = "", .why = "lists no range" },
	};

	skip_without_helpers();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int r = in_child(subids, (void *)&cases[i]);

		if (r)
			fail_msg("case %zu: step %d", i, r);
	}
}

/* The helper refuses, since this process has no_new_privs. */
static int refused_subids(void *arg)
{
	struct err err = { 0 };

	if (subids_say("65534:300000:65536\n") < 0 || become_ordinary() < 0 ||
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return 1;
	if (sandbox_user_enter(SANDBOX_USER_SUBIDS, &err) != -ERR_UNSUPPORTED)
		return 2;
	return strstr(err.text, "no_new_privs") ? 0 : 3;
}

static void says_why_ids_are_refused(void **state)
{
	skip_without_helpers();
	assert_int_equal(in_child(refused_subids, NULL), 0);
}

/* Run a command in a tree with owners of its own, as one of its users. */
static int run_with_subids(void *arg)
{
	struct place *place = arg;
	const char *const argv[] = { "sh", "-c",
		"test \"$(id -u):$(id -g):$(id -G)\" = '1000:1001:1001 2000' && "
		"test $(stat -c %u:%g /owned) = 33:44 && ! cat /closed && "
		"test \"$(cat /proc/self/uid_map)\" = '         0          0          1\n"
		"         1          1      65536' && echo x >/tmp/x",
		NULL };
	struct sandbox_command command = { .argv = argv, .env = plain_env, .user = "agent" };

	if (subids_say("65534:300000:65536\n") < 0)
		return 1;
	/*
	 * Open the directory in this mount namespace, since a directory of another one cannot be
	 * mounted.
	 */
	char path[300];
	snprintf(path, sizeof(path), "%s/root", place->path);
	place->root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (become_ordinary() < 0 || sandbox_user_enter(SANDBOX_USER_SUBIDS, &place->err) < 0)
		return 1;
	put(place->root, "owned", "", 0644);
	put(place->root, "closed", "", 0600);
	if (fchownat(place->root, "owned", 33, 44, 0) < 0 ||
		fchownat(place->root, "tmp", 1000, 1001, 0) < 0)
		return 2;
	struct sandbox_plan plan = plan_of(place);
	if (sandbox_start(&plan, &place->sandbox, &place->err) < 0 ||
		run_command(place, &command) < 0 || place->result.status) {
		fprintf(stderr, "%s\n%s\n", place->err.text, place->out);
		return 3;
	}
	struct stat st;
	if (sandbox_kill(&place->sandbox, "test", &place->err) < 0)
		return 4;
	return fstatat(place->root, "tmp/x", &st, 0) < 0 || st.st_uid != 1000;
}

static void runs_with_subordinate_ids(void **state)
{
	struct place *place = *state;

	skip_unless_possible();
	skip_without_helpers();
	make_tree(place->root);
	/* Give the tree to the user. */
	static const char *const theirs[] = { "", "bin", "dev", "etc", "proc", "root", "sys",
		"tmp" };
	for (size_t i = 0; i < sizeof(theirs) / sizeof(theirs[0]); i++)
		assert_int_equal(
			fchownat(place->root, theirs[i], ORDINARY, ORDINARY, AT_EMPTY_PATH), 0);
	assert_int_equal(fchown(place->run, ORDINARY, ORDINARY), 0);
	assert_int_equal(fchown(place->fd, ORDINARY, ORDINARY), 0);
	assert_int_equal(in_child(run_with_subids, place), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(becomes_root_of_a_namespace),
		cmocka_unit_test(root_stays_where_it_is),
		cmocka_unit_test(finds_subordinate_ids),
		cmocka_unit_test(says_why_ids_are_refused),
		place_test(runs_with_subordinate_ids),
	};

	if (begin_world(geteuid()) < 0)
		return 1;
	copy_busybox();
	world.user = SANDBOX_USER_SUBIDS;
	int failed = cmocka_run_group_tests_name("sandbox_user", tests, NULL, NULL);
	(void)tempdir_remove(world.path);
	return failed;
}
