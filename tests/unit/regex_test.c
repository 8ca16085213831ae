/* regex: matches in UTF-8 and bytes, errors and limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "core/buf.h"
#include "core/own.h"
#include "core/regex.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void finds_the_first_match(void **state)
{
	static const struct {
		const char *pattern;
		unsigned flags;
		struct str text;
		int found;
		size_t start, end;
	} cases[] = {
		{ "b+", 0, STR("abbbc"), 1, 1, 4 },
		{ "x", 0, STR("abc"), 0, 0, 0 },
		{ "", 0, STR("abc"), 1, 0, 0 },
		{ "", 0, { NULL, 0 }, 1, 0, 0 },
		{ "^$", 0, { NULL, 0 }, 1, 0, 0 },
		{ "a.c", 0, STR("a\nc abc"), 1, 4, 7 },
		{ "B", 0, STR("abc"), 0, 0, 0 },
		{ "B", REGEX_IGNORE_CASE, STR("abc"), 1, 1, 2 },
		{ "\u00c4", REGEX_IGNORE_CASE, STR("x\u00e4"), 1, 1, 3 },
		{ "^.$", 0, STR("\u20ac"), 1, 0, 3 },
		{ "^\\w+$", 0, STR("na\u00efve"), 1, 0, 6 },
		{ "a.c", REGEX_LITERAL, STR("abc a.c"), 1, 4, 7 },
		{ "a.C", REGEX_LITERAL | REGEX_IGNORE_CASE, STR("abc A.c"), 1, 4, 7 },
		{ "(", REGEX_LITERAL, STR("f(x)"), 1, 1, 2 },
		{ "\\", REGEX_LITERAL, STR("a\\b"), 1, 1, 2 },
		{ "\\x00", 0, STR("a\0b"), 1, 1, 2 },
		{ "b", 0, STR("\xff\xfe b"), 1, 3, 4 },
		{ "^..$", 0, STR("a\xff"), 0, 0, 0 },
		{ "\xff", 0, STR("a\xff"), 1, 1, 2 },
		{ "\xe4.", 0, STR("\xe4\xf6"), 1, 0, 2 },
		{ "\xff", REGEX_LITERAL, STR("a\xff"), 1, 1, 2 },
		{ "(?<=a)b(?=c)", 0, STR("ab abc"), 1, 4, 5 },
		{ "(a)\\1", 0, STR("xaa"), 1, 1, 3 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct err err = { 0 };
		size_t start = 99, end = 99;
		owned(regex_freep) struct regex *regex =
			regex_new(str_of(cases[i].pattern), cases[i].flags, &err);

		assert_non_null(regex);
		/* Search twice, since a regex must keep no state from one search to the next. */
		for (int again = 0; again < 2; again++) {
			if (regex_find(regex, cases[i].text, &start, &end, &err) != cases[i].found)
				fail_msg("case %zu, '%s'", i, cases[i].pattern);
			assert_int_equal(start, cases[i].found ? cases[i].start : 99);
			assert_int_equal(end, cases[i].found ? cases[i].end : 99);
		}
	}
}

static void names_the_offset_of_a_bad_pattern(void **state)
{
	static const struct {
		const char *pattern;
		const char *offset;
	} cases[] = {
		{ "ab(c", "offset 4:" },
		{ "a[b", "offset 3:" },
		{ "*", "offset 0:" },
		{ "a\\C", "offset 3:" },
		{ "(*UTF)\xff", "offset" },
		{ "(?<n>a)(?<n>b)", "offset" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct err err = { 0 };

		assert_null(regex_new(str_of(cases[i].pattern), 0, &err));
		assert_int_equal(err.code, ERR_INVALID);
		if (!strstr(err.text, cases[i].offset))
			fail_msg("'%s': %s", cases[i].pattern, err.text);
	}
}

static void refuses_a_pattern_past_the_limit(void **state)
{
	struct err err = { 0 };
	owned(buf_release) struct buf pattern = BUF_INIT;

	for (int i = 0; i <= REGEX_PATTERN_MAX; i++)
		buf_addc(&pattern, 'a');
	assert_null(regex_new((struct str){ pattern.data, pattern.len }, 0, &err));
	assert_int_equal(err.code, ERR_LIMIT);
}

static void refuses_a_pattern_that_expands_too_far(void **state)
{
	struct err err = { 0 };

	assert_null(regex_new(STR("(((a{1,1000}){1,1000}){1,1000}){1,1000}"), 0, &err));
	assert_int_equal(err.code, ERR_INVALID);
}

/* Texts for which backtracking takes too long are matched without backtracking. */
static void finds_what_going_back_cannot(void **state)
{
	struct err err = { 0 };
	size_t start, end;
	owned(buf_release) struct buf text = BUF_INIT;
	owned(regex_freep) struct regex *regex = regex_new(STR("(x+x+)+y|needle$"), 0, &err);

	assert_non_null(regex);
	for (int i = 0; i < 60; i++)
		buf_addc(&text, 'x');
	buf_adds(&text, " needle");
	assert_int_equal(
		regex_find(regex, (struct str){ text.data, text.len }, &start, &end, &err), 1);
	assert_int_equal(start, 61);
	assert_int_equal(end, 67);
	buf_adds(&text, "s");
	assert_int_equal(
		regex_find(regex, (struct str){ text.data, text.len }, &start, &end, &err), 0);
}

static void stops_a_pattern_that_runs_away(void **state)
{
	static const char *const patterns[] = {
		"^(?:(a+)\\1?)+$",
		"^(a+)+$",
		"(a*)*b\\1$",
		"^(?:a?){40}(?:a){40}x$",
		"(*LIMIT_MATCH=4000000000)(*NO_JIT)^(a|aa)+$",
	};
	owned(buf_release) struct buf text = BUF_INIT;

	for (int i = 0; i < 5000; i++)
		buf_addc(&text, 'a');
	buf_addc(&text, '!');
	for (size_t i = 0; i < COUNT(patterns); i++) {
		struct err err = { 0 };
		size_t start, end;
		owned(regex_freep) struct regex *regex = regex_new(str_of(patterns[i]), 0, &err);
		int found;

		assert_non_null(regex);
		found = regex_find(regex, (struct str){ text.data, text.len }, &start, &end, &err);
		/* pcre2 may know without a search that some of these texts cannot match. */
		assert_true(found == 0 || found == -ERR_LIMIT);
		/*
		 * Matching without backtracking answers some of them.  It cannot answer a back
		 * reference.
		 */
		if (i == 0)
			assert_int_equal(found, -ERR_LIMIT);
	}
}

/* Search so often that the compiled code is used.  Its stack is too small for these lines. */
static void searches_long_lines(void **state)
{
	struct err err = { 0 };
	owned(regex_freep) struct regex *regex = regex_new(STR("(?:a|b)*c"), 0, &err);
	owned(buf_release) struct buf text = BUF_INIT;

	for (int i = 0; i < 50000; i++)
		buf_adds(&text, "ab");
	buf_addc(&text, 'c');
	for (int i = 0; i < 6; i++) {
		struct str line = { text.data, text.len };
		size_t start = 99, end = 99;

		assert_int_equal(regex_find(regex, line, &start, &end, &err), 1);
		assert_int_equal(start, 0);
		assert_int_equal(end, 100001);
	}
}

static void finds_the_same_on_a_volume_of_text(void **state)
{
	struct err err = { 0 };
	owned(regex_freep) struct regex *regex = regex_new(STR("([0-9]+)-\\1$"), 0, &err);
	size_t seen = 0;

	for (int i = 0; seen < 1 << 20; i++) {
		char line[64] =
			""; /* compiled code reads whole vectors, which valgrind would report */
		size_t start, end;
		int len = snprintf(line, sizeof(line), "line %d: %d-%d", i, i, i + i % 2);

		seen += (size_t)len;
		assert_int_equal(
			regex_find(regex, (struct str){ line, (size_t)len }, &start, &end, &err),
			i % 2 == 0);
	}
}

static void frees_nothing(void **state)
{
	struct regex *none = NULL;

	regex_free(NULL);
	regex_freep(&none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_the_first_match),
		cmocka_unit_test(names_the_offset_of_a_bad_pattern),
		cmocka_unit_test(refuses_a_pattern_past_the_limit),
		cmocka_unit_test(refuses_a_pattern_that_expands_too_far),
		cmocka_unit_test(finds_what_going_back_cannot),
		cmocka_unit_test(stops_a_pattern_that_runs_away),
		cmocka_unit_test(searches_long_lines),
		cmocka_unit_test(finds_the_same_on_a_volume_of_text),
		cmocka_unit_test(frees_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
