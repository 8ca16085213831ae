/* searchmany: several threads report the same as one thread, in the same order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/mem.h"
#include "core/par.h"
#include "query/dirview.h"
#include "query/searchmany.h"
#include "query/walk.h"

#include "tempdir_fixture.h"

#define FILES 700

static char place[] = "/tmp/strata-searchmany.XXXXXX";

static void write_file(int dir, const char *name, const char *bytes, size_t len)
{
	owned_fd int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
}

/* A file of which every line matches.  It has more text than a thread collects. */
static void write_large(int dir, const char *name)
{
	owned(buf_release) struct buf text = BUF_INIT;

	for (int i = 0; i < 20000; i++)
		buf_addf(&text, "needle %d of many\n", i);
	write_file(dir, name, text.data, text.len);
}

static int make_files(void **state)
{
	assert_non_null(mkdtemp(place));
	owned_fd int root = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (int i = 0; i < FILES; i++) {
		owned_mem char *dir = mem_printf("d%03d", i / 10);
		owned_mem char *name = mem_printf("d%03d/f%d", i / 10, i);
		owned_mem char *text = mem_printf("one\nneedle %d\nthree\n%sneedle again\n", i,
			i % 7 ? "" : "\xff is no text\n");

		if (i % 10 == 0)
			assert_int_equal(mkdirat(root, dir, 0755), 0);
		write_file(root, name, text, strlen(text));
	}
	write_large(root, "d020/large");
	write_file(root, "d030/binary", "needle\0", 7);
	return 0;
}

static int remove_files(void **state)
{
	return tempdir_remove(place);
}

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
	buf_add(&heard->text, match->text.ptr, match->text.len);
	buf_addc(&heard->text, '\n');
	if (++heard->n != heard->stop_at)
		return 0;
	return heard->answer < 0 ? err_set(err, ERR_LIMIT, "enough") : heard->answer;
}

static void hear_missed(void *arg, struct str path, uint64_t line, const char *why)
{
	struct heard *heard = arg;

	buf_add(&heard->text, path.ptr, path.len);
	buf_addf(&heard->text, ":%d missed\n", (int)line);
}

static int search_entry(void *arg, struct str path, const struct entry *entry, struct err *err)
{
	return search_file(arg, path, entry, err);
}

/* Search with one thread, or with several. */
static int search_place(
	const char *pattern, bool text_only, bool many, struct heard *heard, struct err *err)
{
	owned(view_closep) struct view *view = dirview_new(
		open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC), &(struct dirview_options){ 0 });
	owned(linesearch_freep) struct linesearch *lines = linesearch_new(str_of(pattern), 0, err);
	struct search search = {
		.view = view,
		.lines = lines,
		.text_only = text_only,
		.visit = hear,
		.missed = hear_missed,
		.arg = heard,
	};

	assert_non_null(lines);
	return many ? searchmany_run(&search, STR(""), err)
		    : walk_tree(view, STR(""), search_entry, &search, err);
}

static void compare(const char *pattern, bool text_only, size_t stop_at, int answer)
{
	struct heard one = { .text = BUF_INIT, .stop_at = stop_at, .answer = answer };
	struct heard many = { .text = BUF_INIT, .stop_at = stop_at, .answer = answer };
	struct err err_one = { 0 }, err_many = { 0 };
	int r = search_place(pattern, text_only, false, &one, &err_one);

	assert_int_equal(search_place(pattern, text_only, true, &many, &err_many), r);
	assert_int_equal(err_many.code, err_one.code);
	assert_int_equal(many.n, one.n);
	assert_int_equal(many.text.len, one.text.len);
	if (one.text.len)
		assert_memory_equal(many.text.data, one.text.data, one.text.len);
	buf_release(&one.text);
	buf_release(&many.text);
}

static void reports_what_one_thread_reports(void **state)
{
	struct heard heard = { .text = BUF_INIT };
	struct err err = { 0 };

	compare("needle", false, 0, 0);
	compare("needle", true, 0, 0);
	compare("nothing like it", true, 0, 0);
	compare("^(one|three)$", true, 0, 0);
	compare("^(e+)+\\1[^d]*$", false, 0, 0);
	assert_int_equal(search_place("needle", false, true, &heard, &err), 0);
	assert_int_equal(heard.n, 2 * FILES + 20000);
	buf_release(&heard.text);
}

static void stops_where_one_thread_stops(void **state)
{
	static const size_t places[] = { 1, 63, 64, 65, 401, 5000, 20500, 21400 };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		compare("needle", false, places[i], 1);
		compare("needle", false, places[i], -ERR_LIMIT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reports_what_one_thread_reports),
		cmocka_unit_test(stops_where_one_thread_stops),
	};

	return cmocka_run_group_tests(tests, make_files, remove_files);
}
