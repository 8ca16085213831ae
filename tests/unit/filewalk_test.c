/*
 * filewalk, globwalk, grepfiles: the files that are found, their order, and the files that are left
 * out.
 */
#include <errno.h>

#include "worker/globwalk.h"
#include "worker/grepfiles.h"
#include "worker_fixture.h"

/* Returns the paths below "in" that a pattern finds, each with a space after it. */
static const char *glob(struct fixture *fixture, const char *pattern, bool no_ignore)
{
	struct wire_request request = { .kind = WIRE_GLOB,
		.pattern = str_of(pattern),
		.root = str_of(fixture->in),
		.no_ignore = no_ignore };
	owned(buf_release) struct buf out = BUF_INIT;

	if (globwalk_run(&fixture->ops, &request, &fixture->reply, &fixture->err) < 0)
		return fixture->err.text;
	buf_adds(&out, "");
	for (size_t i = 0; i < fixture->reply.n_paths; i++) {
		struct str path = fixture->reply.paths[i];

		assert_true(str_starts(path, str_of(fixture->in)));
		buf_addf(&out, "%s ", path.ptr + strlen(fixture->in) + 1);
	}
	return arena_strdup(&fixture->arena, out.data);
}

/* Returns "FILE:LINE:TEXT" and a space for each match. */
static const char *grep(
	struct fixture *fixture, const char *pattern, const char *include, int64_t most)
{
	struct wire_request request = { .kind = WIRE_GREP,
		.pattern = str_of(pattern),
		.root = str_of(fixture->in),
		.max_matches = most };
	owned(buf_release) struct buf out = BUF_INIT;

	if (include)
		request.include = str_of(include);
	if (grepfiles_run(&fixture->ops, &request, &fixture->reply, &fixture->err) < 0)
		return fixture->err.text;
	buf_adds(&out, "");
	for (size_t i = 0; i < fixture->reply.n_matches; i++) {
		const struct wire_match *match = &fixture->reply.matches[i];

		buf_addf(&out, "%s:%d:%s ", match->path.ptr + strlen(fixture->in) + 1,
			(int)match->line, match->text.ptr);
	}
	return arena_strdup(&fixture->arena, out.data);
}

static void make_tree(struct fixture *fixture)
{
	static const char *const directories[] = { "in/a", "in/a/b", "in/a/b/c", "in/a.d", "in/z" };
	static const char *const files[] = { "in/a/x.c", "in/a/b/y.c", "in/a/b/c/z.h", "in/a.c",
		"in/a.d/q.c", "in/z/\xff.c", "in/.hidden.c", "in/a-c" };

	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++)
		fixture_mkdir(fixture, directories[i]);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		fixture_put(fixture, files[i], "one\ntwo\n");
}

static void finds_by_pattern_in_the_order_of_paths(void **state)
{
	struct fixture *fixture = *state;

	make_tree(fixture);
	assert_string_equal(
		glob(fixture, "**/*.c", false), ".hidden.c a.c a.d/q.c a/b/y.c a/x.c z/\xff.c ");
	assert_string_equal(glob(fixture, "*", false), ".hidden.c a a-c a.c a.d secret z ");
	assert_string_equal(glob(fixture, "a/**", false), "a/b a/b/c a/b/c/z.h a/b/y.c a/x.c ");
	assert_string_equal(glob(fixture, "a/*/y.[a-c]", false), "a/b/y.c ");
	assert_string_equal(glob(fixture, "{a,a.d}/*.c", false), "a.d/q.c a/x.c ");
	assert_string_equal(glob(fixture, "a/x.c", false), "a/x.c ");
	assert_string_equal(glob(fixture, "none/*.c", false), "");
	assert_string_equal(glob(fixture, "a.c/*", false), "");
	owned_mem char *absolute = mem_printf("%s/a/*.c", fixture->in);
	assert_string_equal(glob(fixture, absolute, false), "a/x.c ");
}

static void follows_no_link_and_enters_nothing_denied(void **state)
{
	struct fixture *fixture = *state;

	fixture_link(fixture, "../out", "in/link");
	fixture_link(fixture, "secret", "in/inner");
	fixture_link(fixture, ".", "in/self");
	fixture_put(fixture, "in/f", "outside secret");
	assert_string_equal(glob(fixture, "**", true), "f inner link secret self ");
	assert_string_equal(grep(fixture, "outside|secret", NULL, -1), "f:1:outside secret ");
	assert_non_null(strstr(glob(fixture, "link/*", true), "policy denies"));
	assert_non_null(strstr(glob(fixture, "secret/*", true), "policy denies"));
	assert_non_null(strstr(glob(fixture, "../out/*", true), "'..'"));
}

static void leaves_out_what_is_ignored(void **state)
{
	struct fixture *fixture = *state;

	make_tree(fixture);
	fixture_put(fixture, "in/.gitignore", "*.h\n/a.d/\n!z.h\n*.c\n!x.c\n");
	fixture_put(fixture, "in/a/.gitignore", "!y.c\nb/c\n");
	fixture_mkdir(fixture, "in/.git");
	fixture_mkdir(fixture, "in/.git/info");
	fixture_put(fixture, "in/.git/info/exclude", "a-c\n");
	assert_string_equal(glob(fixture, "**", false),
		".gitignore a a/.gitignore a/b a/b/y.c a/x.c secret z ");
	assert_non_null(
		strstr(glob(fixture, "**", true), ".git/info/exclude .gitignore .hidden.c"));
	assert_string_equal(grep(fixture, "one", NULL, -1), "a/b/y.c:1:one a/x.c:1:one ");
	/* A repository below the start has only its own rules. */
	fixture_mkdir(fixture, "in/z/.git");
	assert_string_equal(glob(fixture, "z/*", false), "z/\xff.c ");
}

static void rules_above_the_root_count(void **state)
{
	struct fixture *fixture = *state;
	struct wire_request request = { .kind = WIRE_GLOB, .pattern = STR("*") };

	make_tree(fixture);
	fixture_mkdir(fixture, "in/.git");
	fixture_put(fixture, "in/.gitignore", "y.c\n");
	request.root = fixture_str(fixture, "in/a/b");
	assert_int_equal(globwalk_run(&fixture->ops, &request, &fixture->reply, &fixture->err), 0);
	assert_int_equal(fixture->reply.n_paths, 1);
	assert_string_equal(fixture->reply.paths[0].ptr, fixture_path(fixture, "in/a/b/c"));
}

static void greps_as_ripgrep_does(void **state)
{
	struct fixture *fixture = *state;
	owned_fd int fd = -1;

	fixture_put(fixture, "in/a.txt", "hello\r\nworld\nhello again");
	fixture_put(fixture, "in/b.rs", "x\n\nhello\n");
	fd = open(fixture_path(fixture, "in/c.bin"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(write(fd, "hello\n\0hello\n", 13), 13);
	assert_string_equal(grep(fixture, "hello", NULL, -1),
		"a.txt:1:hello a.txt:3:hello again b.rs:3:hello ");
	assert_string_equal(grep(fixture, "hello$", "*.txt", -1), "a.txt:1:hello ");
	assert_string_equal(grep(fixture, "^$", NULL, -1), "b.rs:2: ");
	assert_string_equal(
		grep(fixture, "l{2}o", "{a,b}.*", 2), "a.txt:1:hello a.txt:3:hello again ");
	assert_true(fixture->reply.truncated);
	assert_string_equal(grep(fixture, "x", NULL, 1), "b.rs:1:x ");
	assert_false(fixture->reply.truncated);
	assert_non_null(strstr(grep(fixture, "[unclosed", NULL, -1), "bad pattern"));
}

static void one_file_can_be_searched(void **state)
{
	struct fixture *fixture = *state;
	struct wire_request request = { .kind = WIRE_GREP, .pattern = STR("b"), .max_matches = -1 };

	fixture_put(fixture, "in/f", "a\nb\n");
	request.root = fixture_str(fixture, "in/f");
	assert_int_equal(grepfiles_run(&fixture->ops, &request, &fixture->reply, &fixture->err), 0);
	assert_int_equal(fixture->reply.n_matches, 1);
	assert_int_equal(fixture->reply.matches[0].line, 2);
}

static void counts_lines_over_blocks(void **state)
{
	struct fixture *fixture = *state;
	owned(buf_release) struct buf text = BUF_INIT;

	for (unsigned i = 1; i <= 60000; i++)
		buf_addf(&text, i == 59999 ? "needle\n" : "line %u\n", i);
	fixture_put(fixture, "in/f", text.data);
	assert_string_equal(grep(fixture, "needle", NULL, -1), "f:59999:needle ");
	assert_string_equal(grep(fixture, "ne+dle|[0-9]{6}", NULL, -1), "f:59999:needle ");
	assert_string_equal(grep(fixture, "^line 60000$", NULL, -1), "f:60000:line 60000 ");
}

static void a_long_line_is_cut(void **state)
{
	struct fixture *fixture = *state;
	owned(buf_release) struct buf text = BUF_INIT;

	for (unsigned i = 0; i < GREPFILES_TEXT_MAX; i++)
		buf_adds(&text, "\u00e4");
	buf_adds(&text, "needle\nneedle\n");
	fixture_put(fixture, "in/f", text.data);
	(void)grep(fixture, "needle", NULL, -1);
	assert_int_equal(fixture->reply.n_matches, 2);
	assert_true(fixture->reply.matches[0].cut);
	assert_int_equal(fixture->reply.matches[0].text.len, GREPFILES_TEXT_MAX);
	assert_false(fixture->reply.matches[1].cut);
}

static void a_reply_holds_what_fits(void **state)
{
	struct fixture *fixture = *state;

	make_tree(fixture);
	fixture->ops.room = 100;
	(void)glob(fixture, "**", true);
	assert_true(fixture->reply.truncated);
	assert_true(fixture->reply.n_paths > 0);
	(void)grep(fixture, "o", NULL, -1);
	assert_true(fixture->reply.truncated);
}

static void stops_when_it_is_cancelled(void **state)
{
	struct fixture *fixture = *state;

	make_tree(fixture);
	fixture->ticket.cancelled = true;
	assert_string_equal(glob(fixture, "**", true), "the request was cancelled");
	assert_int_equal(fixture->err.errno_value, ECANCELED);
	assert_string_equal(grep(fixture, "o", NULL, -1), "the request was cancelled");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(finds_by_pattern_in_the_order_of_paths),
		TEST(follows_no_link_and_enters_nothing_denied),
		TEST(leaves_out_what_is_ignored),
		TEST(rules_above_the_root_count),
		TEST(greps_as_ripgrep_does),
		TEST(one_file_can_be_searched),
		TEST(counts_lines_over_blocks),
		TEST(a_long_line_is_cut),
		TEST(a_reply_holds_what_fits),
		TEST(stops_when_it_is_cancelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
