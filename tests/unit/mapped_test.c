/*
 * mapped: finds the files of a tree that this process has mapped for writing, by any of their
 * names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/at.h"
#include "core/own.h"
#include "tree/mapped.h"

#define PAGE 4096

static char top[64];
static int live = -1;

static int set_up(void **state)
{
	(void)state;
	strcpy(top, "/tmp/mapped_test.XXXXXX");
	assert_non_null(mkdtemp(top));
	live = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(live >= 0);
	assert_int_equal(mkdirat(live, "d", 0755), 0);
	assert_int_equal(mkdirat(live, "d/own", 0755), 0);
	return 0;
}

static int tear_down(void **state)
{
	static const char *const files[] = { "a", "b", "c", "x\ny", "d/a.log", "d/e", "d/own/db" };

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		(void)unlinkat(live, files[i], 0);
	(void)unlinkat(live, "d/own", AT_REMOVEDIR);
	(void)unlinkat(live, "d", AT_REMOVEDIR);
	close_fd(&live);
	return rmdir(top);
}

static char *map(const char *name, int protection, int flags)
{
	owned_fd int made = openat(live, name, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	owned_fd int fd = openat(live, name,
		(flags == MAP_SHARED && protection == PROT_READ ? O_RDONLY : O_RDWR) | O_CLOEXEC);

	assert_true(made >= 0 && fd >= 0);
	assert_int_equal(ftruncate(made, PAGE), 0);
	char *page = mmap(NULL, PAGE, protection, flags, fd, 0);
	assert_ptr_not_equal(page, MAP_FAILED);
	return page;
}

static uint64_t ino_of(const char *name)
{
	struct stat st;

	assert_int_equal(fstatat(live, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	return st.st_ino;
}

static struct mapped look(const struct mapped_tree *more)
{
	struct mapped_tree tree = more ? *more : (struct mapped_tree){ .own = -1 };
	struct mapped mapped;

	tree.live = live;
	tree.inside = -1;
	tree.open = true;
	mapped_look(&mapped, &tree);
	return mapped;
}

static const char *path_of(const struct mapped *mapped, const char *name)
{
	for (size_t i = 0; i < mapped->n; i++)
		if (mapped->files[i].ino == ino_of(name))
			return mapped->files[i].path;
	return NULL;
}

/* --- tests --- */

static void only_what_can_be_stored_to(void **state)
{
	char *shared = map("a", PROT_READ | PROT_WRITE, MAP_SHARED);
	char *again = map("a", PROT_READ | PROT_WRITE, MAP_SHARED);
	char *private = map("b", PROT_READ | PROT_WRITE, MAP_PRIVATE);
	char *read_only = map("c", PROT_READ, MAP_SHARED);

	(void)state;
	owned(mapped_release) struct mapped mapped = look(NULL);
	assert_true(mapped_may_have(&mapped, ino_of("a")));
	assert_string_equal(path_of(&mapped, "a"), "a");
	assert_false(mapped_may_have(&mapped, ino_of("b")));
	assert_false(mapped_may_have(&mapped, ino_of("c")));
	for (size_t i = 1; i < mapped.n; i++)
		assert_true(mapped.files[i - 1].ino < mapped.files[i].ino);
	munmap(shared, PAGE);
	munmap(again, PAGE);
	munmap(private, PAGE);
	munmap(read_only, PAGE);
	owned(mapped_release) struct mapped later = look(NULL);
	assert_false(mapped_may_have(&later, ino_of("a")));
}

/* mprotect(2) makes the mapping writable without a fault that would change the times. */
static void what_can_become_writable(void **state)
{
	char *page = map("a", PROT_READ | PROT_WRITE, MAP_SHARED);

	(void)state;
	page[0] = 'x';
	assert_int_equal(mprotect(page, PAGE, PROT_READ), 0);
	owned(mapped_release) struct mapped mapped = look(NULL);
	assert_string_equal(path_of(&mapped, "a"), "a");
	munmap(page, PAGE);
}

static void by_any_name(void **state)
{
	char *odd = map("x\ny", PROT_READ | PROT_WRITE, MAP_SHARED);
	char *linked = map("a", PROT_READ | PROT_WRITE, MAP_SHARED);

	(void)state;
	assert_int_equal(linkat(live, "a", live, "b", 0), 0);
	assert_int_equal(unlinkat(live, "a", 0), 0);
	owned(mapped_release) struct mapped mapped = look(NULL);
	assert_string_equal(path_of(&mapped, "x\ny"), "x\ny");
	/* The name by which the file was mapped is removed, but the file still exists. */
	assert_true(mapped_may_have(&mapped, ino_of("b")));
	munmap(odd, PAGE);
	munmap(linked, PAGE);
}

static void not_what_is_left_out(void **state)
{
	static const char *const names[] = { "*.log", "d/e" };
	owned_fd int own = openat(live, "d/own", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct mapped_tree tree = { .own = own, .exclude = names, .n_exclude = 2 };
	char *pages[] = {
		map("d/a.log", PROT_READ | PROT_WRITE, MAP_SHARED),
		map("d/e", PROT_READ | PROT_WRITE, MAP_SHARED),
		map("d/own/db", PROT_READ | PROT_WRITE, MAP_SHARED),
		map("a", PROT_READ | PROT_WRITE, MAP_SHARED),
	};

	(void)state;
	owned(mapped_release) struct mapped mapped = look(&tree);
	assert_true(mapped_may_have(&mapped, ino_of("a")));
	assert_false(mapped_may_have(&mapped, ino_of("d/a.log")));
	assert_false(mapped_may_have(&mapped, ino_of("d/e")));
	assert_false(mapped_may_have(&mapped, ino_of("d/own/db")));
	/* By its other name the file is not left out.  No program has stored to it by that name. */
	assert_int_equal(linkat(live, "d/a.log", live, "b", 0), 0);
	owned(mapped_release) struct mapped linked = look(&tree);
	assert_true(mapped_may_have(&linked, ino_of("b")));
	assert_null(path_of(&linked, "b"));
	for (size_t i = 0; i < sizeof(pages) / sizeof(*pages); i++)
		munmap(pages[i], PAGE);
}

/* After the pages of a file are protected, a further store to the same page is noticed. */
static void a_store_changes_the_state(void **state)
{
	char *page = map("a", PROT_READ | PROT_WRITE, MAP_SHARED);
	owned_fd int fd = openat(live, "a", O_RDONLY | O_CLOEXEC);
	uint64_t states[4];

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		at_protect_pages(fd);
		usleep(30000);
		if (i != 2)
			page[0]++;
		owned(mapped_release) struct mapped mapped = look(NULL);
		assert_true(mapped.untraced == mapped_is_untraced(live));
		states[i] = mapped_state(&mapped, live);
		assert_true(states[i] != 0);
	}
	assert_true(states[0] != states[1]);
	assert_true(states[2] != states[3]);
	if (!mapped_is_untraced(live))
		assert_true(states[1] == states[2]);
	munmap(page, PAGE);
	owned(mapped_release) struct mapped none = look(NULL);
	assert_int_equal(mapped_state(&none, live), 0);
}

/*
 * Start a child that maps a file of a directory.  It stores one byte for each byte that it reads
 * from input.
 */
static pid_t start_program(int dir, int input, int output)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	owned_fd int fd = openat(dir, "a", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	char *page = ftruncate(fd, PAGE) == 0
			     ? mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
			     : MAP_FAILED;
	while (page != MAP_FAILED && write(output, page, 1) == 1 && read(input, page, 1) == 1)
		;
	_exit(0);
}

static bool sleeps(pid_t pid)
{
	char name[32], text[64] = "";

	snprintf(name, sizeof(name), "/proc/%d/stat", pid);
	owned_fd int fd = open(name, O_RDONLY | O_CLOEXEC);
	return read(fd, text, sizeof(text) - 1) > 0 && strstr(text, ") S ");
}

static uint64_t state_of(int dir, pid_t pid)
{
	const struct mapped_tree tree = { .live = dir, .inside = -1, .own = -1, .open = true };
	owned(mapped_release) struct mapped mapped = { 0 };

	do
		usleep(30000);
	while (pid && !sleeps(pid));
	mapped_look(&mapped, &tree);
	return mapped_state(&mapped, dir);
}

/*
 * Where stores leave no trace, a file counts as unchanged while the program that maps it does not
 * run.
 */
static void a_program_that_sleeps_does_not(void **state)
{
	char memory[] = "/dev/shm/mapped_test.XXXXXX", byte;
	int to[2], from[2], status;

	(void)state;
	if (!mkdtemp(memory))
		skip();
	owned_fd int dir = open(memory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(mapped_is_untraced(dir));
	assert_true(pipe(to) == 0 && pipe(from) == 0);
	pid_t pid = start_program(dir, to[0], from[1]);
	assert_int_equal(read(from[0], &byte, 1), 1);
	uint64_t before = state_of(dir, pid);
	assert_true(before != 0);
	assert_true(state_of(dir, pid) == before);
	assert_true(state_of(dir, pid) == before);
	assert_true(write(to[1], "x", 1) == 1 && read(from[0], &byte, 1) == 1);
	uint64_t after = state_of(dir, pid);
	assert_true(after != before);
	assert_true(state_of(dir, pid) == after);
	/* The child has the other end of the pipe, too, so closing the pipe would not end it. */
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(state_of(dir, 0) == 0);
	for (int i = 0; i < 2; i++) {
		close_fd(&to[i]);
		close_fd(&from[i]);
	}
	assert_int_equal(unlinkat(dir, "a", 0), 0);
	assert_int_equal(rmdir(memory), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(only_what_can_be_stored_to, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_can_become_writable, set_up, tear_down),
		cmocka_unit_test_setup_teardown(by_any_name, set_up, tear_down),
		cmocka_unit_test_setup_teardown(not_what_is_left_out, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_store_changes_the_state, set_up, tear_down),
		cmocka_unit_test(a_program_that_sleeps_does_not),
	};

	return cmocka_run_group_tests_name("mapped", tests, NULL, NULL);
}
