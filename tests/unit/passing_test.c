/* Tests of passing: the eBPF programs report calls that are not stopped. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/engine/passing.h"

#define RING ((size_t)1 << 20)
#define EVENTS_MAX 64

struct seen {
	struct {
		uint32_t type;
		uint64_t ids, parent, task, closes, nr;
		int64_t result;
		char text[PATH_MAX];
	} events[EVENTS_MAX];
	size_t n;
};

static struct seen seen;

static void note(void *arg, const struct passing_event *event)
{
	assert_true(seen.n < EVENTS_MAX);
	size_t at = seen.n++;

	seen.events[at].type = event->type;
	seen.events[at].ids = event->ids;
	seen.events[at].result = event->result;
	seen.events[at].text[0] = '\0';
	if (event->type == PASSING_RESULT)
		return;
	seen.events[at].parent = event->parent;
	seen.events[at].task = event->task;
	seen.events[at].closes = event->closes;
	seen.events[at].nr = event->nr;
	assert_true(event->text_len <= PATH_MAX);
	memcpy(seen.events[at].text, event->text, event->text_len);
	assert_int_equal(strlen(seen.events[at].text), event->text_len - 1);
}

/*
 * A process that runs a function.  It belongs to the command if 'joins' was set, and ends when the
 * test closes 'tell'.
 */
struct child {
	pid_t pid;
	int tell, told;
};

static struct child start(struct passing *passing, bool joins, void (*act)(void))
{
	int to[2], from[2];

	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		char byte = joins ? (char)-passing_join(passing) : 0;

		(void)close(to[1]);
		act();
		(void)!write(from[1], &byte, 1);
		(void)!read(to[0], &byte, 1);
		_exit(byte);
	}
	(void)close(to[0]);
	(void)close(from[1]);
	return (struct child){ pid, to[1], from[0] };
}

static void wait_until_done(const struct child *child)
{
	char byte = 1;

	assert_int_equal(read(child->told, &byte, 1), 1);
	assert_int_equal(byte, 0);
}

static void end(struct child *child)
{
	(void)close(child->tell);
	(void)close(child->told);
	assert_int_equal(waitpid(child->pid, NULL, 0), child->pid);
}

/*
 * Skip the test without root.  Also skip it under valgrind, which makes calls of its own and
 * changes those of the program.
 */
static void need_root(void)
{
	const char *preloaded = getenv("LD_PRELOAD");
	bool valgrind = preloaded && strstr(preloaded, "vgpreload");

	if (geteuid() == 0 && !valgrind)
		return;
	printf("# skip: %s\n", valgrind ? "valgrind" : "not root");
	skip();
}

static struct passing *attached(size_t ring)
{
	struct err err = { 0 };

	need_root();
	struct passing *passing = passing_new(ring, &err);
	memset(&seen, 0, sizeof(seen));
	if (!passing && err.code == ERR_UNSUPPORTED) {
		printf("# skip: %s\n", err.text);
		skip();
	}
	if (!passing)
		print_error("%s\n", err.text);
	assert_non_null(passing);
	assert_int_equal(passing_attach(passing, &err), 0);
	return passing;
}

static void run(struct passing *passing, bool joins, void (*act)(void))
{
	struct child child = start(passing, joins, act);

	wait_until_done(&child);
	passing_drain(passing, note, NULL);
	end(&child);
}

static void assert_nothing_lost(const struct passing *passing)
{
	struct passing_lost lost;

	passing_count_lost(passing, &lost);
	assert_int_equal(lost.events, 0);
	assert_int_equal(lost.tasks, 0);
	assert_int_equal(lost.unread, 0);
}

static void look(void)
{
	struct stat st;
	char target[64];

	(void)access("/nowhere/a", F_OK);
	(void)!open("relative", O_RDONLY);
	(void)stat("/", &st);
	(void)!readlink("/proc/self/exe", target, sizeof(target));
}

static void calls_are_seen_in_order(void **state)
{
	struct passing *passing = attached(RING);

	run(passing, true, look);
	assert_int_equal(seen.n, 6);
	assert_string_equal(seen.events[0].text, "/nowhere/a");
	assert_string_equal(seen.events[1].text, "relative");
	assert_string_equal(seen.events[2].text, "/");
	assert_int_equal(seen.events[3].type, PASSING_RESULT);
	assert_int_equal(seen.events[3].result, 0);
	assert_int_equal(seen.events[3].ids, seen.events[2].ids);
	assert_string_equal(seen.events[4].text, "/proc/self/exe");
	assert_int_equal(seen.events[5].type, PASSING_RESULT);
	assert_nothing_lost(passing);
	passing_free(passing);
}

static void others_are_not_seen(void **state)
{
	struct passing *passing = attached(RING);

	run(passing, false, look);
	look();
	passing_drain(passing, note, NULL);
	assert_int_equal(seen.n, 0);
	passing_free(passing);
}

/* Make calls that change a file, or that name a file through a descriptor. */
static void change(void)
{
	char name[64];
	struct stat st;

	snprintf(name, sizeof(name), "/tmp/passing_test.%d", (int)getpid());
	int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	(void)fstat(fd, &st);
	(void)unlink(name);
	int dir = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	(void)fstatat(dir, "tmp", &st, 0);
	(void)!openat(dir, "nowhere", O_RDONLY);
}

static void calls_that_stop_are_not_seen(void **state)
{
	struct passing *passing = attached(RING);

	run(passing, true, change);
	assert_int_equal(seen.n, 0);
	passing_free(passing);
}

static char long_paths[3][PATH_MAX];

static void look_far(void)
{
	for (size_t i = 0; i < 3; i++)
		(void)access(long_paths[i], F_OK);
}

static void fill(char *path, size_t len)
{
	memset(path, 'x', len);
	path[0] = '/';
	path[len] = '\0';
}

static void long_paths_are_whole(void **state)
{
	struct passing *passing = attached(RING);

	fill(long_paths[0], 127);
	fill(long_paths[1], 128);
	fill(long_paths[2], PATH_MAX - 1);
	run(passing, true, look_far);
	assert_int_equal(seen.n, 3);
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(seen.events[i].text, long_paths[i]);
	assert_nothing_lost(passing);
	passing_free(passing);
}

static char *absent; /* a page of a file that is not mapped yet */

static void look_from_absent_page(void)
{
	(void)inotify_add_watch(-1, NULL, IN_CREATE);
	(void)access(absent, F_OK);
	(void)access((const char *)8, F_OK);
}

static void a_path_that_is_not_in_memory_is_read_when_the_call_ends(void **state)
{
	struct passing *passing = attached(RING);
	FILE *file = tmpfile();

	assert_non_null(file);
	assert_true(fputs("/nowhere/b", file) >= 0 && fflush(file) == 0);
	absent = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fileno(file), 0);
	assert_true(absent != MAP_FAILED);
	run(passing, true, look_from_absent_page);
	assert_int_equal(seen.n, 1);
	assert_int_equal(seen.events[0].type, PASSING_OVER);
	assert_int_equal(seen.events[0].result, -ENOENT);
	assert_string_equal(seen.events[0].text, "/nowhere/b");
	assert_nothing_lost(passing);
	(void)munmap(absent, 4096);
	(void)fclose(file);
	passing_free(passing);
}

/* Make a call that overwrites its own path. */
static void overwrite(void)
{
	char text[64] = "/proc/self/exe";

	(void)!syscall(SYS_readlinkat, AT_FDCWD, text, text, sizeof(text));
}

static void a_path_is_what_it_was_when_the_call_began(void **state)
{
	struct passing *passing = attached(RING);

	run(passing, true, overwrite);
	assert_string_equal(seen.events[0].text, "/proc/self/exe");
	passing_free(passing);
}

static void have_children(void)
{
	pid_t pid = fork();

	if (!pid) {
		if (!vfork()) {
			(void)access("/nowhere/c", F_OK);
			_exit(0);
		}
		(void)access("/nowhere/d", F_OK);
		_exit(0);
	}
	(void)waitpid(pid, NULL, 0);
}

static void children_are_of_the_command(void **state)
{
	struct passing *passing = attached(RING);

	run(passing, true, have_children);
	assert_int_equal(seen.n, 2);
	assert_string_equal(seen.events[0].text, "/nowhere/c");
	assert_string_equal(seen.events[1].text, "/nowhere/d");
	assert_true(seen.events[0].parent == seen.events[1].ids);
	passing_free(passing);
}

static void look_and_close(void)
{
	(void)access("/nowhere/e", F_OK);
	(void)close(1000);
	(void)access("/nowhere/f", F_OK);
	(void)dup2(1, 1001);
}

static bool has_open(const struct passing *passing, size_t event, unsigned fd)
{
	return passing_has_open(passing, seen.events[event].task, seen.events[event].closes, fd);
}

static void a_close_is_known(void **state)
{
	struct passing *passing = attached(RING);
	struct child child = start(passing, true, look_and_close);

	wait_until_done(&child);
	passing_drain(passing, note, NULL);
	assert_int_equal(seen.n, 2);
	assert_false(has_open(passing, 0, 1000));
	assert_true(has_open(passing, 0, 999));
	assert_true(has_open(passing, 1, 1000));
	assert_false(has_open(passing, 1, 1001));
	end(&child);
	assert_false(has_open(passing, 1, 1000));
	passing_free(passing);
}

static void a_ring_that_is_full_is_known(void **state)
{
	struct passing *passing = attached(PASSING_RING_LEAST);
	struct passing_lost lost;

	fill(long_paths[0], 100);
	fill(long_paths[1], PATH_MAX - 1);
	fill(long_paths[2], 101);
	run(passing, true, look_far);
	/* the ring has no room for the event of the second call */
	passing_count_lost(passing, &lost);
	assert_int_equal(lost.events, 1);
	assert_int_equal(seen.n, 2);
	assert_string_equal(seen.events[1].text, long_paths[2]);
	passing_free(passing);
}

/* The ring is filled and read many times, so that events cross its end. */
static void a_ring_is_read_for_ever(void **state)
{
	struct passing *passing = attached(PASSING_RING_LEAST);

	for (int i = 0; i < 100; i++) {
		memset(&seen, 0, sizeof(seen));
		run(passing, true, look);
		assert_int_equal(seen.n, 6);
		assert_string_equal(seen.events[4].text, "/proc/self/exe");
	}
	assert_nothing_lost(passing);
	passing_free(passing);
}

static void without_the_right_there_is_an_error(void **state)
{
	int status;

	need_root();
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		struct err err = { 0 };

		if (setresuid(65534, 65534, 65534) < 0 || passing_new(RING, &err))
			_exit(1);
		_exit(err.errno_value == EPERM || err.code == ERR_UNSUPPORTED ? 0 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_are_seen_in_order),
		cmocka_unit_test(others_are_not_seen),
		cmocka_unit_test(calls_that_stop_are_not_seen),
		cmocka_unit_test(long_paths_are_whole),
		cmocka_unit_test(a_path_that_is_not_in_memory_is_read_when_the_call_ends),
		cmocka_unit_test(a_path_is_what_it_was_when_the_call_began),
		cmocka_unit_test(children_are_of_the_command),
		cmocka_unit_test(a_close_is_known),
		cmocka_unit_test(a_ring_that_is_full_is_known),
		cmocka_unit_test(a_ring_is_read_for_ever),
		cmocka_unit_test(without_the_right_there_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
