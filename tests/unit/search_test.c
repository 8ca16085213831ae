/*
 * search: finds matching lines with path and number, skips binary files, and searches no content
 * twice.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "query/dirview.h"
#include "query/search.h"
#include "query/strata.h"
#include "store/chunk.h"
#include "tree/cutter.h"

#include "tree_fixture.h"

/* The matches so far, each as a line "path:line:start-end:text". */
struct heard {
	struct buf text;
	size_t n;
	size_t stop_at;
	int answer;
};

static int hear(void *arg, const struct search_match *match, struct err *err)
{
	struct heard *heard = arg;

	buf_add(&heard->text, match->path.ptr, match->path.len);
	buf_addf(&heard->text, ":%d:%zu-%zu:", (int)match->line, match->start, match->end);
	buf_add(&heard->text, match->text.ptr, match->text.len < 40 ? match->text.len : 40);
	buf_addc(&heard->text, '\n');
	if (++heard->n != heard->stop_at)
		return 0;
	return heard->answer < 0 ? err_set(err, ERR_LIMIT, "enough") : heard->answer;
}

static int search_tree(struct fixture *fixture, const struct hash *tree, const char *pattern,
	const char *base, struct keytable *seen, struct heard *heard)
{
	owned(view_closep) struct view *view = strata_view(fixture->store, tree, -1);
	owned(linesearch_freep) struct linesearch *lines =
		linesearch_new(str_of(pattern), 0, &fixture->err);
	struct search search = {
		.view = view,
		.lines = lines,
		.seen = seen,
		.visit = hear,
		.arg = heard,
	};

	assert_non_null(lines);
	buf_clear(&heard->text);
	buf_adds(&heard->text, "");
	heard->n = 0;
	return search_run(&search, str_of(base), &fixture->err);
}

static void assert_matches(struct fixture *fixture, const struct hash *tree, const char *pattern,
	const char *base, const char *matches)
{
	struct heard heard = { .text = BUF_INIT };

	assert_ok(fixture, search_tree(fixture, tree, pattern, base, NULL, &heard));
	assert_string_equal(heard.text.data, matches);
	buf_release(&heard.text);
}

static void finds_lines_in_the_order_of_paths(void **state)
{
	struct fixture *fixture = *state;
	struct hash tree = tree_of(fixture,
		"a=one\nfoo\nfoofoo d/e/f=xfoox\n d/g=nothing\n e=\n\n\nfoo\n l@foo p| u! z=foo");
	static const struct {
		const char *pattern, *base, *matches;
	} cases[] = {
		{ "foo", "",
			"a:2:0-3:foo\na:3:0-3:foofoo\nd/e/f:1:1-4:xfoox\ne:4:0-3:foo\n"
			"z:1:0-3:foo\n" },
		{ "foo", "d", "d/e/f:1:1-4:xfoox\n" },
		{ "foo", "a", "a:2:0-3:foo\na:3:0-3:foofoo\n" },
		{ "foo$", "", "a:2:0-3:foo\na:3:3-6:foofoo\ne:4:0-3:foo\nz:1:0-3:foo\n" },
		{ "^$", "e", "e:1:0-0:\ne:2:0-0:\ne:3:0-0:\n" },
		{ "^n.*g$", "", "d/g:1:0-7:nothing\n" },
		{ "absent", "", "" },
		{ "foo", "l", "" },
		{ "foo", "u", "" },
		/* A match never extends over the end of a line. */
		{ "one\\nfoo", "", "" },
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		assert_matches(fixture, &tree, cases[i].pattern, cases[i].base, cases[i].matches);
	struct heard heard = { .text = BUF_INIT };
	assert_int_equal(
		search_tree(fixture, &tree, "foo", "nowhere", NULL, &heard), -ERR_NOT_FOUND);
	buf_release(&heard.text);
}

/* --- files of other kinds --- */

/* Store a tree with one file "f" that has these bytes, as a capture would. */
static struct hash tree_with(struct fixture *fixture, const void *bytes, size_t len)
{
	owned_mem char *window = mem_alloc(CUTTER_WINDOW);
	struct entry entry = built_file(fixture, "f", "");
	struct cutter cutter;

	cutter_init(&cutter, fixture->store, window);
	assert_ok(fixture, cutter_add(&cutter, bytes, len, &fixture->err));
	assert_ok(fixture, cutter_finish(&cutter, &entry, &fixture->err));
	cutter_release(&cutter);
	return built_tree(fixture, &entry, 1);
}

static void binary_files_are_skipped(void **state)
{
	struct fixture *fixture = *state;
	static const struct {
		size_t nul;
		bool found;
	} cases[] = { { 0, false }, { 100, false }, { SEARCH_BINARY_PREFIX - 1, false },
		{ SEARCH_BINARY_PREFIX, true }, { 15000, true } };

	for (size_t i = 0; i < COUNT(cases); i++) {
		char bytes[20000];

		memset(bytes, '\n', sizeof(bytes));
		memcpy(bytes + 16000, "foo", 3);
		bytes[cases[i].nul] = '\0';
		struct hash tree = tree_with(fixture, bytes, sizeof(bytes));
		struct heard heard = { .text = BUF_INIT };

		assert_ok(fixture, search_tree(fixture, &tree, "foo", "", NULL, &heard));
		assert_int_equal(heard.n, cases[i].found);
		buf_release(&heard.text);
	}
}

static void a_file_is_left_at_a_line_too_long(void **state)
{
	struct fixture *fixture = *state;
	static const struct {
		size_t length;
		size_t found;
	} cases[] = { { 1000, 3 }, { SEARCH_LINE_MAX - 1, 3 }, { SEARCH_LINE_MAX, 1 },
		{ 3 * SEARCH_LINE_MAX, 1 } };

	for (size_t i = 0; i < COUNT(cases); i++) {
		owned(buf_release) struct buf text = BUF_INIT;
		struct heard heard = { .text = BUF_INIT };

		buf_adds(&text, "foo\n");
		owned_mem char *line = mem_alloc(cases[i].length);
		memset(line, 'x', cases[i].length);
		memcpy(line + cases[i].length - 3, "foo", 3);
		buf_add(&text, line, cases[i].length);
		buf_adds(&text, "\nfoo\n");
		struct hash tree = tree_with(fixture, text.data, text.len);
		assert_ok(fixture, search_tree(fixture, &tree, "foo", "", NULL, &heard));
		assert_int_equal(heard.n, cases[i].found);
		buf_release(&heard.text);
	}
}

/* Lines extend over the pieces into which a large file is cut. */
static void lines_of_a_large_file_are_whole(void **state)
{
	struct fixture *fixture = *state;
	owned(buf_release) struct buf text = BUF_INIT, want = BUF_INIT;
	struct heard heard = { .text = BUF_INIT };
	uint64_t noise = 1;

	for (unsigned i = 1; text.len < 6 * CHUNK_WHOLE; i++) {
		noise = noise * 6364136223846793005u + 1442695040888963407u;
		if (i % 50 == 0)
			buf_addf(&want, "f:%u:0-6:needle %u of many\n", i, i);
		if (i % 50 == 0)
			buf_addf(&text, "needle %u of many\n", i);
		else
			buf_addf(&text, "%u %llx %llx\n", i, (unsigned long long)noise,
				(unsigned long long)(noise * noise));
	}
	struct hash tree = tree_with(fixture, text.data, text.len);
	assert_int_equal(tree_entry(fixture, &tree, "f").content, ENTRY_CHUNKS);
	assert_ok(fixture, search_tree(fixture, &tree, "^needle", "", NULL, &heard));
	assert_string_equal(heard.text.data, want.data);
	buf_release(&heard.text);
}

/* A sparse file: lines, an unfinished line, a hole, the end of the line, and one more line. */
struct sparse {
	const char *name;
	size_t data; /* bytes before the hole: "foo", empty lines, and the unfinished line */
	size_t unfinished;
	size_t hole;
	size_t end; /* bytes of the line behind the hole; the last ones are "foo" */
	size_t found;
};

static void write_sparse(int dir, const struct sparse *sparse)
{
	owned_fd int fd = openat(dir, sparse->name, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	owned_mem char *data = mem_alloc(sparse->data);
	owned(buf_release) struct buf end = BUF_INIT;

	memset(data, '\n', sparse->data);
	memcpy(data, "foo", 3);
	memset(data + sparse->data - sparse->unfinished, 'x', sparse->unfinished);
	assert_int_equal(at_pwrite_all(fd, data, sparse->data, 0), 0);
	for (size_t i = 3; i < sparse->end; i++)
		buf_addc(&end, 'x');
	buf_adds(&end, "foo\nfoo\n");
	off_t behind = (off_t)(sparse->data + sparse->hole);
	if (sparse->end)
		assert_int_equal(at_pwrite_all(fd, end.data, end.len, behind), 0);
	else
		assert_int_equal(ftruncate(fd, behind), 0);
}

static void search_sparse(struct fixture *fixture, struct view *view, const struct sparse *sparse,
	struct heard *heard)
{
	owned(linesearch_freep) struct linesearch *lines =
		linesearch_new(STR("foo"), 0, &fixture->err);
	struct search search = { .view = view, .lines = lines, .visit = hear, .arg = heard };

	assert_ok(fixture, search_run(&search, str_of(sparse->name), &fixture->err));
	assert_int_equal(heard->n, sparse->found);
}

static void a_hole_is_searched_as_zeros(void **state)
{
	struct fixture *fixture = *state;
	owned(live_close) struct live live;
	static const struct sparse files[] = {
		{ "hole in the head", 4096, 0, 4096, 3, 0 },
		{ "hole behind the head", 8192, 0, 4096, 3, 3 },
		{ "hole in a line", 65536, 100, 65536, 50, 3 },
		{ "longest line", 65536, 100, SEARCH_LINE_MAX - 4096, 4096 - 101, 3 },
		{ "line too long", 65536, 100, SEARCH_LINE_MAX - 4096, 4096 - 100, 1 },
		{ "hole too long", 65536, 0, SEARCH_LINE_MAX, 3, 1 },
		{ "long hole", 65536, 0, 5 * SEARCH_LINE_MAX, 3, 1 },
		{ "hole at the end", 65536, 100, 65536, 0, 1 },
		{ "long hole at the end", 65536, 0, 5 * SEARCH_LINE_MAX, 0, 1 },
	};

	live_open(&live, fixture, "tree");
	for (size_t i = 0; i < COUNT(files); i++)
		write_sparse(live.fd, &files[i]);
	struct hash tree = live_read(&live);
	owned(view_closep) struct view *stored = strata_view(fixture->store, &tree, -1);
	owned(view_closep) struct view *plain =
		dirview_new(fcntl(live.fd, F_DUPFD_CLOEXEC, 0), &(struct dirview_options){ 0 });
	for (size_t i = 0; i < COUNT(files); i++) {
		struct heard a = { .text = BUF_INIT }, b = { .text = BUF_INIT };

		/* A small file without holes would be stored as a whole. */
		assert_int_equal(tree_entry(fixture, &tree, files[i].name).content, ENTRY_CHUNKS);
		buf_adds(&a.text, "");
		buf_adds(&b.text, "");
		search_sparse(fixture, stored, &files[i], &a);
		search_sparse(fixture, plain, &files[i], &b);
		assert_int_equal(a.text.len, b.text.len);
		assert_memory_equal(a.text.data, b.text.data, a.text.len);
		buf_release(&a.text);
		buf_release(&b.text);
	}
}

static void lines_that_are_not_text_end_a_search_for_text_only(void **state)
{
	struct fixture *fixture = *state;
	struct hash tree = tree_of(fixture, "f=foo\n\xff\nfoo\n");
	owned(view_closep) struct view *view = strata_view(fixture->store, &tree, -1);
	owned(linesearch_freep) struct linesearch *lines =
		linesearch_new(STR("foo"), 0, &fixture->err);

	for (int text_only = 0; text_only < 2; text_only++) {
		struct heard heard = { .text = BUF_INIT };
		struct search search = {
			.view = view,
			.lines = lines,
			.text_only = text_only,
			.visit = hear,
			.arg = &heard,
		};

		assert_ok(fixture, search_run(&search, STR(""), &fixture->err));
		assert_int_equal(heard.n, text_only ? 1 : 2);
		buf_release(&heard.text);
	}
}

/* --- no content is searched twice --- */

static void each_content_of_a_path_is_searched_once(void **state)
{
	struct fixture *fixture = *state;
	static const struct {
		const char *words, *matches;
	} views[] = {
		{ "a=foo\n b=foo\n", "a:1:0-3:foo\nb:1:0-3:foo\n" },
		{ "a=foo\n b=foo\n", "" },
		{ "a=foo\n,m0600,t5 b=bar\n", "" },
		{ "a=foo2\n b=foo\n", "a:1:0-3:foo2\n" },
		{ "a=foo\n c=foo\n", "c:1:0-3:foo\n" },
		{ "d/a=foo\n", "d/a:1:0-3:foo\n" },
	};
	owned(keytable_release) struct keytable seen = { 0 };

	for (size_t i = 0; i < COUNT(views); i++) {
		struct hash tree = tree_of(fixture, views[i].words);
		struct heard heard = { .text = BUF_INIT };

		assert_ok(fixture, search_tree(fixture, &tree, "foo", "", &seen, &heard));
		assert_string_equal(heard.text.data, views[i].matches);
		buf_release(&heard.text);
	}
}

static void many_contents_are_remembered(void **state)
{
	struct fixture *fixture = *state;
	owned(keytable_release) struct keytable seen = { 0 };
	owned(buf_release) struct buf spec = BUF_INIT;

	for (int i = 0; i < 3000; i++)
		buf_addf(&spec, "%s%05d=foo%d", i ? " " : "", i, i % 7);
	struct hash tree = tree_of(fixture, spec.data);
	for (int i = 0; i < 3; i++) {
		struct heard heard = { .text = BUF_INIT };

		assert_ok(fixture, search_tree(fixture, &tree, "foo", "", &seen, &heard));
		assert_int_equal(heard.n, i ? 0 : 3000);
		buf_release(&heard.text);
	}
}

static void stops_when_told_to(void **state)
{
	struct fixture *fixture = *state;
	struct hash tree = tree_of(fixture, "a=foo\nfoo\nfoo b=foo");

	for (size_t at = 1; at <= 4; at++) {
		struct heard heard = { .text = BUF_INIT, .stop_at = at, .answer = 1 };

		assert_int_equal(search_tree(fixture, &tree, "foo", "", NULL, &heard), 0);
		assert_int_equal(heard.n, at);
		heard.answer = -1;
		assert_int_equal(search_tree(fixture, &tree, "foo", "", NULL, &heard), -ERR_LIMIT);
		assert_int_equal(heard.n, at);
		buf_release(&heard.text);
	}
	struct heard heard = { .text = BUF_INIT, .stop_at = 2, .answer = 1 };
	assert_int_equal(search_tree(fixture, &tree, "foo", "a", NULL, &heard), 0);
	assert_int_equal(heard.n, 2);
	buf_release(&heard.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		tree_test(finds_lines_in_the_order_of_paths),
		tree_test(binary_files_are_skipped),
		tree_test(a_file_is_left_at_a_line_too_long),
		tree_test(lines_of_a_large_file_are_whole),
		tree_test(a_hole_is_searched_as_zeros),
		tree_test(lines_that_are_not_text_end_a_search_for_text_only),
		tree_test(each_content_of_a_path_is_searched_once),
		tree_test(many_contents_are_remembered),
		tree_test(stops_when_told_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
