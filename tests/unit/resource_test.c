/* resource: finds the processes of a command, measures them, and kills them. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/own.h"
#include "core/procfile.h"
#include "core/when.h"
#include "sandbox/cgroup.h"
#include "sandbox/resource.h"
#include "userns_fixture.h"

#define MIB ((int64_t)1 << 20)
#define BOMB_MAX 500 /* a limit, so that a failing test does not overload the machine */

static int proc = -1;

/* A command in a mount namespace of its own.  It runs a function and then waits. */
struct command {
	pid_t pid;
	int go; /* the command begins when this descriptor is closed */
	unsigned long long mnt;
	struct resource_watch *watch;
};

static _Atomic int *shared; /* memory shared by the processes of a test */

static void wait_for_signal(void)
{
	for (;;)
		pause();
}

static void skip_unless_possible(void)
{
	char why[SANDBOX_USER_WHY_MAX];

	if (is_userns_possible(why))
		return;
	printf("# skip: %s\n", why);
	skip();
}

static struct command start(void (*body)(void), const struct resource_limits *limits,
	const struct resource_group *group)
{
	struct command command = { 0 };
	int ready[2], go[2];
	char path[64], c;
	struct stat st;

	assert_int_equal(pipe2(ready, O_CLOEXEC) | pipe2(go, O_CLOEXEC), 0);
	command.pid = fork();
	if (command.pid == 0) {
		if (unshare(CLONE_NEWNS | (geteuid() ? CLONE_NEWUSER : 0)) < 0)
			_exit(1);
		close(go[1]);
		close(ready[1]);
		(void)!read(go[0], &c, 1);
		body();
		wait_for_signal();
	}
	close(ready[1]);
	close(go[0]);
	assert_int_equal(read(ready[0], &c, 1), 0);
	close(ready[0]);
	command.go = go[1];
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)command.pid);
	assert_int_equal(stat(path, &st), 0);
	command.mnt = st.st_ino;
	command.watch = resource_watch_new(limits, proc, group, command.mnt);
	return command;
}

static void begin(struct command *command)
{
	close_fd(&command->go);
}

static void finish(struct command *command)
{
	struct resource_usage usage;
	struct err err = { 0 };
	int status;

	if (resource_kill(command->watch, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(waitpid(command->pid, &status, 0), command->pid);
	(void)resource_check(command->watch, &usage);
	assert_int_equal(usage.tasks, 0);
	resource_watch_free(command->watch);
}

/* Watch the command until a limit is exceeded or the time is over. */
static enum resource_kind watch_for(struct command *command, int ms, struct resource_usage *usage)
{
	const int64_t end = when_monotonic() + ms * WHEN_MS;

	for (;;) {
		enum resource_kind kind = resource_check(command->watch, usage);

		if (kind != RESOURCE_NONE || when_monotonic() >= end)
			return kind;
		when_pause(10 * WHEN_MS);
	}
}

/* ------------------------------------------------------------------------ tests */

static void leave_orphans(void)
{
	for (int i = 0; i < 3; i++)
		if (fork() == 0) {
			(void)setsid();
			if (fork() == 0)
				wait_for_signal();
			_exit(0);
		}
	for (int i = 0; i < 3; i++)
		(void)wait(NULL);
	*shared = 1;
}

static void finds_processes_without_a_parent(void **state)
{
	const struct resource_limits limits = { .tasks = 4 };
	struct resource_usage usage;

	skip_unless_possible();
	struct command command = start(leave_orphans, &limits, NULL);
	begin(&command);
	while (!*shared)
		when_pause(WHEN_MS);
	assert_int_equal(resource_check(command.watch, &usage), RESOURCE_NONE);
	assert_int_equal(usage.tasks, 4);
	finish(&command);
}

/* Each process makes as many processes as possible. */
static void explode(void)
{
	while ((*shared)++ < BOMB_MAX)
		(void)fork();
}

static void stops_a_fork_bomb(void **state)
{
	const struct resource_limits limits = { .tasks = 50 };
	owned(buf_release) struct buf text = BUF_INIT;
	struct resource_usage usage;

	skip_unless_possible();
	struct command command = start(explode, &limits, NULL);
	begin(&command);
	assert_int_equal(watch_for(&command, 10000, &usage), RESOURCE_TASKS);
	resource_describe(&limits, RESOURCE_TASKS, &usage, &text);
	assert_non_null(strstr(text.data, "processes and threads, and 50 is the limit"));
	finish(&command);
}

static void eat_memory(void)
{
	char *memory = mmap(NULL, (size_t)(64 * MIB), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(memory, 1, (size_t)(64 * MIB));
}

static void stops_a_memory_hog(void **state)
{
	const struct resource_limits limits = { .memory_bytes = 32 * MIB };
	struct resource_usage usage;

	skip_unless_possible();
	struct command command = start(eat_memory, &limits, NULL);
	begin(&command);
	assert_int_equal(watch_for(&command, 10000, &usage), RESOURCE_MEMORY);
	assert_true(usage.memory_bytes > 32 * MIB);
	finish(&command);
}

static void share_memory(void)
{
	eat_memory();
	for (int i = 0; i < 3; i++)
		if (fork() == 0)
			wait_for_signal();
	*shared = 1;
}

static void counts_shared_memory_once(void **state)
{
	const struct resource_limits limits = { .memory_bytes = 100 * MIB };
	struct resource_usage usage;

	skip_unless_possible();
	struct command command = start(share_memory, &limits, NULL);
	begin(&command);
	while (!*shared)
		when_pause(WHEN_MS);
	assert_int_equal(resource_check(command.watch, &usage), RESOURCE_NONE);
	assert_true(usage.memory_bytes > 60 * MIB);
	finish(&command);
}

static void spin(void)
{
	/* Make two processes, each of which uses half of the limit. */
	(void)fork();
	for (;;)
		++*shared;
}

static void stops_what_computes_for_ever(void **state)
{
	const struct resource_limits limits = { .cpu_secs = 1 };
	struct resource_usage usage;

	skip_unless_possible();
	struct command command = start(spin, &limits, NULL);
	begin(&command);
	assert_int_equal(watch_for(&command, 20000, &usage), RESOURCE_CPU);
	assert_true(usage.cpu_ns >= WHEN_SECOND);
	finish(&command);
}

static int count_limits(void)
{
	const struct resource_limits limits = { .cpu_secs = 5, .open_fds = 17, .tasks = 40 };
	struct rlimit limit;
	struct err err = { 0 };

	if (resource_apply(&limits, proc, &err) < 0)
		return 1;
	(void)getrlimit(RLIMIT_CPU, &limit);
	if (limit.rlim_cur <= 5 || limit.rlim_max == RLIM_INFINITY)
		return 2;
	(void)getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur != 17 || limit.rlim_max != 17 || open("/dev/null", O_RDONLY) >= 17)
		return 3;
	(void)getrlimit(RLIMIT_NPROC, &limit);
	return limit.rlim_cur > 40 && limit.rlim_cur != RLIM_INFINITY ? 0 : 4;
}

/* Valgrind has a limit of open files of its own. */
static void skip_under_valgrind(void)
{
	const char *preloaded = getenv("LD_PRELOAD");

	if (!preloaded || !strstr(preloaded, "vgpreload"))
		return;
	printf("# skip: valgrind\n");
	skip();
}

static void sets_limits_of_a_process(void **state)
{
	int status;

	skip_under_valgrind();
	pid_t pid = fork();

	if (pid == 0)
		_exit(count_limits());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(resource_is_cpu_signal(SIGXCPU));
	assert_false(resource_is_cpu_signal(SIGKILL));
}

/* With a cgroup, all processes are found, wherever they are. */
static void uses_a_cgroup(void **state)
{
	const struct resource_limits limits = { .tasks = 50 };
	struct resource_group group = RESOURCE_GROUP_INIT;
	struct resource_usage usage;
	struct cgroup jobs;
	struct err err = { 0 };
	char name[32], pid[16];

	skip_unless_possible();
	snprintf(name, sizeof(name), "test-%d", (int)getpid());
	if (cgroup_make(name, &jobs, &err) < 0) {
		printf("# skip: %s\n", geteuid() ? "not root" : err.text);
		skip();
	}
	if (resource_group_make(jobs.dir, &limits, &group, &err) < 0)
		fail_msg("%s", err.text);
	struct command command = start(explode, &limits, &group);
	snprintf(pid, sizeof(pid), "%d", (int)command.pid);
	if (procfile_write_at(group.dir, "cgroup.procs", pid, &err) < 0)
		fail_msg("%s", err.text);
	begin(&command);
	assert_int_equal(watch_for(&command, 10000, &usage), RESOURCE_TASKS);
	finish(&command);
	/* The cgroup that a killed warden leaves is removed with the sandbox's cgroup. */
	assert_true(cgroup_remove(&jobs));
	assert_int_equal(faccessat(jobs.parent, jobs.name, F_OK, 0), -1);
	resource_group_release(&group);
	close(jobs.dir);
	close(jobs.parent);
}

static int setup(void **state)
{
	*shared = 0;
	return 0;
}

#define watch_test(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		watch_test(finds_processes_without_a_parent),
		watch_test(stops_a_fork_bomb),
		watch_test(stops_a_memory_hog),
		watch_test(counts_shared_memory_once),
		watch_test(stops_what_computes_for_ever),
		watch_test(sets_limits_of_a_process),
		watch_test(uses_a_cgroup),
	};

	proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (proc < 0 || shared == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
