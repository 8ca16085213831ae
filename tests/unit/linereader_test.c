/*
 * linereader: finds lines in pieces of any size.  A line that is too long does not affect other
 * lines.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/mem.h"
#include "core/own.h"
#include "rpc/linereader.h"

#define MAX 16

/* Append to log each line that can be taken out now, or "LONG" for a line that is too long. */
static void take_all(struct linereader *reader, struct buf *log)
{
	enum linereader_found found;
	struct str line;

	while ((found = linereader_next(reader, &line)) == LINEREADER_LINE ||
		found == LINEREADER_LONG) {
		if (found == LINEREADER_LONG)
			buf_adds(log, "LONG");
		else
			buf_add(log, line.ptr, line.len);
		buf_addc(log, '|');
	}
	assert_int_equal(found, reader->ended ? LINEREADER_END : LINEREADER_MORE);
}

/* Feed text in pieces of the given size, and compare the lines that come out. */
static void assert_lines(const char *text, size_t piece, const char *expected)
{
	owned(linereader_release) struct linereader reader;
	owned(buf_release) struct buf log = BUF_INIT;
	struct str rest = str_of(text);

	linereader_init(&reader, MAX);
	while (rest.len) {
		size_t n = rest.len < piece ? rest.len : piece;

		linereader_add(&reader, (struct str){ rest.ptr, n });
		rest = (struct str){ rest.ptr + n, rest.len - n };
		take_all(&reader, &log);
	}
	linereader_end(&reader);
	take_all(&reader, &log);
	assert_string_equal(log.data ?: "", expected);
}

static void lines_come_out_of_pieces(void **state)
{
	static const struct {
		const char *text, *lines;
	} cases[] = {
		{ "", "" },
		{ "a\n", "a|" },
		{ "a\nbc\n\nd", "a|bc|d|" },
		{ "a\r\nb\r\n", "a|b|" },
		{ "\n \r\n\t\n\r\na\n \n", "a|" },
		{ " a \n", " a |" },
		{ "a\rb\n", "a\rb|" },
		{ "0123456789abcdef\nx\n", "0123456789abcdef|x|" },
		{ "0123456789abcdef\r\nx", "0123456789abcdef|x|" },
		{ "0123456789abcdefg\nx\n", "LONG|x|" },
		{ "0123456789abcdefg", "LONG|" },
		{ "0123456789abcdefghijklmnopqrstuvwxyz\nx\r\n", "LONG|x|" },
		{ "0123456789abcdefghijklmnopqrstuvwxyz", "LONG|" },
		{ "0123456789abcdefghijklmnopqrstuvwxyz\n0123456789abcdefghijk\nx",
			"LONG|LONG|x|" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (size_t piece = 1; piece < 40; piece++)
			assert_lines(cases[i].text, piece, cases[i].lines);
}

static void a_long_line_is_reported_before_it_ends(void **state)
{
	owned(linereader_release) struct linereader reader;
	struct str line;

	linereader_init(&reader, MAX);
	linereader_add(&reader, STR("0123456789abcdefgh"));
	assert_int_equal(linereader_next(&reader, &line), LINEREADER_LONG);
	assert_int_equal(linereader_next(&reader, &line), LINEREADER_MORE);
}

static void a_long_line_needs_little_memory(void **state)
{
	owned(linereader_release) struct linereader reader;
	owned_mem char *piece = mem_alloc(65536);
	struct str line;
	size_t reports = 0;

	memset(piece, 'x', 65536);
	linereader_init(&reader, 100000);
	for (int i = 0; i < 1600; i++) {
		linereader_add(&reader, (struct str){ piece, 65536 });
		reports += linereader_next(&reader, &line) == LINEREADER_LONG;
		assert_true(reader.in.cap <= 400000);
	}
	assert_int_equal(reports, 1);
	linereader_add(&reader, STR("\nnext\n"));
	assert_int_equal(linereader_next(&reader, &line), LINEREADER_LINE);
	assert_true(str_eq(line, STR("next")));
}

static void a_descriptor_is_read_to_its_end(void **state)
{
	owned(linereader_release) struct linereader reader;
	struct err err = { 0 };
	struct str line;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "one\ntwo", 7), 7);
	close(ends[1]);
	linereader_init(&reader, MAX);
	assert_int_equal(linereader_fill(&reader, ends[0], &err), 1);
	assert_int_equal(linereader_next(&reader, &line), LINEREADER_LINE);
	assert_true(str_eq(line, STR("one")));
	assert_int_equal(linereader_next(&reader, &line), LINEREADER_MORE);
	assert_int_equal(linereader_fill(&reader, ends[0], &err), 0);
	assert_int_equal(linereader_next(&reader, &line), LINEREADER_LINE);
	assert_true(str_eq(line, STR("two")));
	assert_int_equal(linereader_next(&reader, &line), LINEREADER_END);
	close(ends[0]);
	assert_int_equal(linereader_fill(&reader, -1, &err), -ERR_SYSTEM);
}

static void the_byte_behind_a_line_shows_its_end(void **state)
{
	owned(linereader_release) struct linereader reader;
	struct err err = { 0 };
	struct str line;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	linereader_init(&reader, MAX);
	assert_int_equal(write(ends[1], "a\nbcdefg\nh", 10), 10);
	assert_int_equal(linereader_fill(&reader, ends[0], &err), 1);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(linereader_next(&reader, &line), LINEREADER_LINE);
		assert_int_equal(line.ptr[line.len], '\n');
	}
	/* The line ends where the buffer had a line feed before. */
	assert_int_equal(write(ends[1], "1234567", 7), 7);
	close(ends[1]);
	assert_int_equal(linereader_fill(&reader, ends[0], &err), 1);
	assert_int_equal(linereader_fill(&reader, ends[0], &err), 0);
	assert_int_equal(linereader_next(&reader, &line), LINEREADER_LINE);
	assert_true(str_eq(line, STR("h1234567")));
	assert_int_equal(line.ptr[line.len], '\0');
	close(ends[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_come_out_of_pieces),
		cmocka_unit_test(a_long_line_is_reported_before_it_ends),
		cmocka_unit_test(a_long_line_needs_little_memory),
		cmocka_unit_test(a_descriptor_is_read_to_its_end),
		cmocka_unit_test(the_byte_behind_a_line_shows_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
