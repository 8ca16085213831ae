/* fence: no new file system can be mounted, but existing mounts can still be moved. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sandbox/fence.h"

#define MAGIC 0xC0ED0000ul /* old versions of mount(8) set this; the kernel ignores it */
#define SKIPPED 99

static const struct attempt {
	const char *what;
	const char *type;
	unsigned long flags;
	bool refused;
} attempts[] = {
	{ "something new", "tmpfs", 0, true },
	{ "read-only", "tmpfs", MS_RDONLY | MS_NOSUID, true },
	{ "with the magic number", "tmpfs", MAGIC, true },
	{ "with it, and more", "tmpfs", MAGIC | MS_NODEV, true },
	{ "with flags of no meaning", "tmpfs", MS_PRIVATE | MS_RELATIME, true },
	{ "a bind", NULL, MS_BIND, false },
	{ "a bind with the magic number", NULL, MAGIC | MS_BIND, false },
	{ "a recursive bind", NULL, MS_BIND | MS_REC, false },
	{ "a change of propagation", NULL, MS_PRIVATE | MS_REC, false },
	{ "another", NULL, MS_SLAVE, false },
};

/*
 * Make the attempts in a child.  Returns the number of the first wrong one, from 1, or 0 if all are
 * right.
 */
static int try_all(const char *dir)
{
	struct err err = { 0 };

	if (unshare(geteuid() ? CLONE_NEWUSER | CLONE_NEWNS : CLONE_NEWNS) < 0 ||
		mount("", "/", "", MS_REC | MS_PRIVATE, NULL) < 0 ||
		mount(dir, dir, "", MS_BIND, NULL) < 0)
		return SKIPPED;
	if (fence_mounts(&err) < 0)
		return 90;
	for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
		const struct attempt *a = &attempts[i];
		int r = mount(dir, dir, a->type, a->flags, NULL);

		if (a->refused ? r == 0 || errno != EPERM : r < 0)
			return (int)i + 1;
	}
	errno = 0;
	if (syscall(SYS_fsopen, "tmpfs", 0) >= 0 || errno != EPERM)
		return 91;
	return 0;
}

static void refuses_what_is_new_only(void **state)
{
	const char *preloaded = getenv("LD_PRELOAD");
	/*
	 * Use a directory without mounts in it: an ordinary user may not bind a directory with
	 * mounts of another user in it.
	 */
	char dir[] = "/tmp/strata-fence.XXXXXX";
	int status;

	/* Valgrind makes system calls of its own, and does not support mounts without a type. */
	if (preloaded && strstr(preloaded, "vgpreload")) {
		printf("# skip: valgrind\n");
		skip();
	}
	assert_non_null(mkdtemp(dir));
	pid_t pid = fork();
	if (pid == 0)
		_exit(try_all(dir));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(rmdir(dir), 0);
	assert_true(WIFEXITED(status));
	int wrong = WEXITSTATUS(status);
	if (wrong == SKIPPED) {
		printf("# skip: no mount namespace can be made\n");
		skip();
	}
	if (wrong && wrong <= (int)(sizeof(attempts) / sizeof(attempts[0])))
		print_error("%s\n", attempts[wrong - 1].what);
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses_what_is_new_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
