/*
 * worker_race: a program exchanges directories and links as fast as it can.  No request may reach a
 * file outside.
 */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "core/when.h"
#include "worker_fixture.h"

#define RACE_NS (2 * WHEN_SECOND)

static void exchange(int dir, const char *a, const char *b)
{
	(void)renameat2(dir, a, dir, b, RENAME_EXCHANGE);
}

/*
 * Change the tree without end.  "d" is a directory, or a link to a directory outside.  "d/f" is a
 * file or a link.  "sub" is moved out of "d" and back.
 */
static void race(const struct fixture *fixture)
{
	int dir = open(fixture->in, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int out = open(fixture_path(fixture, "out"), O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (;;) {
		exchange(dir, "d", "link");
		exchange(dir, "d", "link");
		exchange(dir, "d/f", "d/link");
		exchange(dir, "d/f", "d/link");
		/* Move the directory out of the allowed directory and back. */
		(void)renameat2(dir, "d/sub", out, "sub", 0);
		(void)renameat2(out, "sub", dir, "d/sub", 0);
		exchange(dir, "d/sub", "d/up");
		exchange(dir, "d/sub", "d/up");
	}
}

struct tally {
	unsigned reads, writes, edits, stats, refused;
};

static void count(struct tally *tally, unsigned *done, int r)
{
	if (r < 0)
		tally->refused++;
	else
		++*done;
}

static void assert_inside(const struct fixture *fixture)
{
	struct str content = fixture->reply.content;

	assert_true(content.len == 0 || *content.ptr == 'i');
}

static void ask_once(struct fixture *fixture, const char *name, struct tally *tally)
{
	struct wire_request request = { .path = fixture_str(fixture, name),
		.offset = -1,
		.max_bytes = -1,
		.content = STR("inside again"),
		.old_string = STR("in"),
		.new_string = STR("in") };
	struct fileops *ops = &fixture->ops;
	int r = fileops_read(ops, &request, &fixture->reply, &fixture->err);

	if (r >= 0)
		assert_inside(fixture);
	count(tally, &tally->reads, r);
	r = fileops_stat(ops, &request, &fixture->reply, &fixture->err);
	/* A file outside has another size, 99 bytes. */
	assert_true(r < 0 || fixture->reply.is_symlink || fixture->reply.size != 99);
	count(tally, &tally->stats, r);
	count(tally, &tally->writes, fileops_write(ops, &request, &fixture->reply, &fixture->err));
	count(tally, &tally->edits, fileops_edit(ops, &request, &fixture->reply, &fixture->err));
	arena_release(&fixture->arena);
}

static void no_request_escapes(void **state)
{
	struct fixture *fixture = *state;
	struct tally tally = { 0 };
	char outside[100];

	memset(outside, 'o', sizeof(outside) - 1);
	outside[sizeof(outside) - 1] = '\0';
	fixture_put(fixture, "out/file", outside);
	fixture_put(fixture, "out/f", outside);
	fixture_mkdir(fixture, "in/d");
	fixture_mkdir(fixture, "in/d/sub");
	fixture_put(fixture, "in/d/f", "inside");
	fixture_put(fixture, "in/d/sub/f", "inside");
	fixture_link(fixture, "../out", "in/link");
	fixture_link(fixture, "../../out/f", "in/d/link");
	fixture_link(fixture, "../../out", "in/d/up");
	pid_t racer = fork();
	if (racer == 0)
		race(fixture);
	for (int64_t end = when_monotonic() + RACE_NS; when_monotonic() < end;) {
		ask_once(fixture, "in/d/f", &tally);
		ask_once(fixture, "in/d/sub/f", &tally);
		ask_once(fixture, "in/d/sub/new/f", &tally);
	}
	kill(racer, SIGKILL);
	assert_int_equal(waitpid(racer, NULL, 0), racer);
	assert_string_equal(fixture_get(fixture, "out/file"), outside);
	assert_string_equal(fixture_get(fixture, "out/f"), outside);
	printf("# %u reads, %u writes, %u edits, %u stats, %u refused\n", tally.reads, tally.writes,
		tally.edits, tally.stats, tally.refused);
	assert_true(tally.reads && tally.writes && tally.edits && tally.stats && tally.refused);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			no_request_escapes, fixture_setup, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
