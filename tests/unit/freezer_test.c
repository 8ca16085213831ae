/* freezer: processes that are hard to stop. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/at.h"
#include "core/own.h"
#include "core/when.h"
#include "sandbox/freezer.h"
#include "sandbox/process.h"
#include "userns_fixture.h"

#define COUNTS_MS 50
#define PATIENCE_MS 30000
#define ROUNDS_MAX 200
#define ROUND_MS 100 /* the freezer continues the processes after this time, and tries again */

static volatile unsigned *counter; /* memory shared with the processes that are frozen */
static int fake_proc = -1;

static void sleep_ms(long ms)
{
	struct timespec pause = { .tv_nsec = ms * 1000000L };

	nanosleep(&pause, NULL);
}

static void count(void)
{
	for (;;) {
		++*counter;
		sleep_ms(1);
	}
}

static bool counts(void)
{
	unsigned before = *counter;

	sleep_ms(COUNTS_MS);
	return *counter != before;
}

/* Whether the counter goes on.  On a busy machine this may take a while. */
static bool goes_on(void)
{
	for (int ms = 0; ms < PATIENCE_MS; ms += COUNTS_MS)
		if (counts())
			return true;
	return false;
}

/* ------------------------------------------- a PID namespace, as its first process */

static pid_t child(void (*work)(void))
{
	pid_t pid = fork();

	if (pid == 0) {
		work();
		_exit(0);
	}
	return pid;
}

static void *count_in_thread(void *arg)
{
	count();
	return NULL;
}

/* Start threads that count.  The first thread does nothing. */
static void have_threads(void)
{
	pthread_t thread;

	for (int i = 0; i < 4; i++)
		(void)pthread_create(&thread, NULL, count_in_thread, NULL);
	pause();
}

static int freezes_threads(struct freezer *freezer)
{
	struct err err = { 0 };

	(void)child(have_threads);
	while (!*counter)
		sleep_ms(1);
	for (int round = 0; round < 20; round++) {
		if (freezer_stop(freezer, &err) < 0)
			return 1;
		if (counts())
			return 2;
		freezer_continue(freezer);
		if (!goes_on())
			return 3;
	}
	return 0;
}

static void vfork_for(long ms)
{
	pid_t pid = vfork();

	if (pid == 0) {
		++*counter;
		sleep_ms(ms);
		_exit(0);
	}
	count();
}

static void vfork_briefly(void)
{
	vfork_for(300);
}

static void vfork_for_ever(void)
{
	if (vfork() == 0)
		for (;;)
			++*counter;
}

static void *vfork_for_ever_there(void *arg)
{
	vfork_for_ever();
	return NULL;
}

static void vfork_in_thread(void)
{
	pthread_t thread;

	(void)pthread_create(&thread, NULL, vfork_for_ever_there, NULL);
	pause();
}

static int waits_for_vfork(struct freezer *freezer)
{
	struct err err = { 0 };

	(void)child(vfork_briefly);
	while (!*counter)
		sleep_ms(1);
	if (freezer_stop(freezer, &err) < 0)
		return 1;
	if (counts())
		return 2;
	freezer_continue(freezer);
	/* The parent goes on when the child has ended. */
	return goes_on() ? 0 : 3;
}

/* The child counts for ever, and its parent waits in vfork for ever. */
static int stops_a_long_vfork(struct freezer *freezer)
{
	struct err err = { 0 };

	(void)child(vfork_for_ever);
	(void)child(vfork_in_thread);
	while (!*counter)
		sleep_ms(1);
	/*
	 * The freezer must stop the processes without continuing them in between.  This is checked
	 * for the rounds in which the machine is not busy.
	 */
	int at_once = 0;
	for (int round = 0; at_once < 5 && round < ROUNDS_MAX; round++) {
		int64_t began = when_monotonic();

		if (freezer_stop(freezer, &err) < 0)
			return 1;
		at_once += when_monotonic() - began < ROUND_MS * WHEN_MS;
		if (counts())
			return 2;
		freezer_continue(freezer);
		if (!goes_on())
			return 3;
	}
	return at_once == 5 ? 0 : 4;
}

/*
 * The test uses a fake /proc with a process that does not stop, since such a process is hard to
 * make.  The fake /proc also has the counting process, which is the second one of the namespace.
 * So the freezer continues this process.
 */
static int names_who_does_not_stop(struct freezer *freezer)
{
	struct err err = { 0 };

	(void)child(count);
	while (!*counter)
		sleep_ms(1);
	freezer->proc = fake_proc;
	if (freezer_stop(freezer, &err) != -ERR_LIMIT || freezer->frozen)
		return 1;
	if (!strstr(err.text, "process 4242 (stuck) did not stop"))
		return 2;
	/* The freezer has left no process stopped. */
	return goes_on() ? 0 : 3;
}

static int kills_a_session(struct freezer *freezer)
{
	struct err err = { 0 };
	pid_t pid = fork();

	if (pid == 0) {
		(void)setsid();
		for (int i = 0; i < 5; i++) {
			if (fork() == 0) {
				(void)setpgid(0, 0);
				count();
			}
		}
		count();
	}
	(void)child(count);
	while (freezer_count(freezer, &err) < 7)
		sleep_ms(1);
	if (freezer_kill_session(freezer, pid, &err) < 0)
		return 1;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	return freezer_count(freezer, &err) == 1 ? 0 : 2;
}

/* ------------------------------------------------------------------------ outside */

/*
 * Run the test as the first process of new namespaces.  The status is 100 or more if they cannot be
 * made.
 */
static int in_namespace(int (*test)(struct freezer *))
{
	struct freezer freezer = { .cgroup = CGROUP_INIT };

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		mount("proc", "/proc", "proc", 0, NULL) < 0)
		return 100;
	freezer.proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return freezer.proc < 0 ? 101 : test(&freezer);
}

static void run_in_namespace(int (*test)(struct freezer *))
{
	struct clone_args args = {
		.flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID,
		.exit_signal = SIGCHLD,
	};
	char why[SANDBOX_USER_WHY_MAX];
	int status = -1;

	if (!is_userns_possible(why)) {
		printf("# skip: %s\n", why);
		skip();
	}
	*counter = 0;
	pid_t pid = process_clone(&args);
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(in_namespace(test));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 100) {
		printf("# skip: no new /proc can be mounted here\n");
		skip();
	}
	assert_int_equal(status, 0);
}

#define namespace_test(name)                                                                       \
	static void test_##name(void **state)                                                      \
	{                                                                                          \
		run_in_namespace(name);                                                            \
	}
namespace_test(freezes_threads) namespace_test(waits_for_vfork) namespace_test(stops_a_long_vfork)
	namespace_test(kills_a_session)

		static void make_fake_process(int proc, int pid, const char *name, char state)
{
	char path[32];

	snprintf(path, sizeof(path), "%d", pid);
	assert_int_equal(mkdirat(proc, path, 0755), 0);
	snprintf(path, sizeof(path), "%d/stat", pid);
	owned_fd int fd = openat(proc, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_true(dprintf(fd, "%d (%s) %c 1 1 1 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 7\n", pid, name,
			    state) > 0);
}

static void test_names_who_does_not_stop(void **state)
{
	char dir[] = "/tmp/strata-freezer.XXXXXX";
	struct err err = { 0 };
	owned_fd int tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_non_null(mkdtemp(dir));
	fake_proc = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	make_fake_process(fake_proc, 2, "counter", 'Z');
	make_fake_process(fake_proc, 4242, "stuck", 'D');
	run_in_namespace(names_who_does_not_stop);
	close_fd(&fake_proc);
	assert_int_equal(at_remove_tree(tmp, dir + strlen("/tmp/"), &err), 0);
}

static void needs_proc(void **state)
{
	struct freezer freezer = { .proc = -1, .cgroup = CGROUP_INIT };
	struct err err = { 0 };

	assert_int_equal(freezer_stop(&freezer, &err), -ERR_UNSUPPORTED);
	assert_int_equal(freezer_count(&freezer, &err), -ERR_UNSUPPORTED);
	freezer_continue(&freezer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		{ "freezes_threads", test_freezes_threads, NULL, NULL, NULL },
		{ "waits_for_vfork", test_waits_for_vfork, NULL, NULL, NULL },
		{ "stops_a_long_vfork", test_stops_a_long_vfork, NULL, NULL, NULL },
		{ "names_who_does_not_stop", test_names_who_does_not_stop, NULL, NULL, NULL },
		{ "kills_a_session", test_kills_a_session, NULL, NULL, NULL },
		cmocka_unit_test(needs_proc),
	};

	counter = mmap(
		NULL, sizeof(*counter), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (counter == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests_name("freezer", tests, NULL, NULL);
}
