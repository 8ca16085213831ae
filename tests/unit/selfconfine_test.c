/*
 * selfconfine: a process that has confined itself tries, by raw system calls, actions that its
 * policy does not allow.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "confine/selfconfine.h"
#include "sandbox/landlock.h"
#include "tempdir_fixture.h"

static char top[] = "/tmp/strata-selfconfine.XXXXXX";

static const char *in(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", top, name);
	return path;
}

static int refused(long r)
{
	return r < 0 ? errno : 0;
}

static int open_error(const char *name, int flags)
{
	return refused(open(in(name), flags | O_CLOEXEC, 0644));
}

#define TRY(what, expected)                                                                        \
	do {                                                                                       \
		int error = (what);                                                                \
		if (error != (expected)) {                                                         \
			fprintf(stderr, "%s: %d\n", #what, error);                                 \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

static _Noreturn void be_confined(const struct policy *policy)
{
	const struct selfconfine_options options = { 0 };
	owned(buf_release) struct buf lacks = BUF_INIT;
	struct err err = { 0 };

	if (selfconfine_enter(policy, &options, &lacks, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		_exit(1);
	}
	TRY(open_error("inside/file", O_RDONLY), 0);
	TRY(open_error("inside/new", O_WRONLY | O_CREAT), 0);
	TRY(refused(rename(in("inside/new"), in("inside/new"))), 0);
	TRY(open_error("outside/file", O_RDONLY), EACCES);
	TRY(open_error("outside/file", O_WRONLY), EACCES);
	TRY(open_error("outside/new", O_WRONLY | O_CREAT), EACCES);
	TRY(refused(unlink(in("outside/file"))), EACCES);
	TRY(refused(mkdir(in("outside/dir"), 0755)), EACCES);
	TRY(refused(open("/etc/passwd", O_RDONLY | O_CLOEXEC)), EACCES);
	TRY(refused(unshare(CLONE_NEWUSER)), EPERM);
	_exit(0);
}

static void read_and_resolve(struct arena *arena, struct policy *out)
{
	const struct policy_place place = { .home = "/", .workspace = in("inside") };
	struct policy policy = { 0 };
	struct err err = { 0 };

	assert_int_equal(policy_read(STR("{\"fs\":{\"allow_read\":[\"$WORKSPACE\"],\"allow_write\":"
					 "[\"$WORKSPACE\"]}}"),
				 "test", arena, &policy, &err),
		0);
	assert_int_equal(policy_resolve(&policy, &place, arena, out, &err), 0);
}

/*
 * Valgrind does not support the system calls.  It also reports memory as a leak that a process
 * keeps on purpose.
 */
static void skip_under_valgrind(void)
{
	const char *preloaded = getenv("LD_PRELOAD");

	if (!preloaded || !strstr(preloaded, "vgpreload"))
		return;
	printf("# skip: valgrind\n");
	skip();
}

static void is_held_by_the_kernel(void **state)
{
	owned(arena_release) struct arena arena = { 0 };
	owned(buf_release) struct buf lacks = BUF_INIT;
	const struct landlock_rules files = { .files = true };
	struct policy policy;
	int status;

	skip_under_valgrind();
	landlock_lacks(&files, &lacks);
	if (lacks.len) {
		printf("# skip: %s", lacks.data);
		buf_release(&lacks);
		skip();
	}
	read_and_resolve(&arena, &policy);
	pid_t pid = fork();
	if (pid == 0)
		be_confined(&policy);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void says_what_it_lacks(void **state)
{
	owned(arena_release) struct arena arena = { 0 };
	owned(buf_release) struct buf lacks = BUF_INIT;
	const struct selfconfine_options options = { 0 };
	struct err err = { 0 };
	struct policy policy;
	int status;

	skip_under_valgrind();
	read_and_resolve(&arena, &policy);
	policy.trust = POLICY_TRUST_REQUIRE;
	pid_t pid = fork();
	if (pid == 0) {
		int r = selfconfine_enter(&policy, &options, &lacks, &err);

		_exit(r == -ERR_UNSUPPORTED && strstr(err.text, "mounts") ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_held_by_the_kernel),
		cmocka_unit_test(says_what_it_lacks),
	};
	const char *const files[] = { "inside/file", "outside/file" };

	if (!mkdtemp(top) || mkdir(in("inside"), 0755) < 0 || mkdir(in("outside"), 0755) < 0)
		return 1;
	for (int i = 0; i < 2; i++)
		close(open(in(files[i]), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	int failed = cmocka_run_group_tests_name("selfconfine", tests, NULL, NULL);
	return tempdir_remove(top) < 0 ? 1 : failed;
}
