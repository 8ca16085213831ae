/* str: comparing views, and taking words, lines and names off them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/str.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void expect(struct str actual, struct str expected)
{
	if (!str_eq(actual, expected))
		fail_msg("'%.*s' instead of '%.*s'", (int)actual.len, actual.ptr, (int)expected.len,
			expected.ptr);
}

static void compares_unsigned_bytes(void **state)
{
	assert_true(str_cmp(STR("a"), STR("b")) < 0);
	assert_true(str_cmp(STR("a"), STR("a\0")) < 0);
	assert_true(str_cmp(STR("\xff"), STR("a")) > 0);
	assert_int_equal(str_cmp((struct str){ NULL, 0 }, STR("")), 0);
}

static void trims_both_ends(void **state)
{
	static const struct {
		struct str text, trimmed;
	} cases[] = {
		{ { NULL, 0 }, STR("") },
		{ STR(" \t "), STR("") },
		{ STR("a"), STR("a") },
		{ STR(" \ta b\t"), STR("a b") },
		{ STR("a\r"), STR("a\r") },
		/* A NUL is a byte as any other. */
		{ STR("\0a\0"), STR("\0a\0") },
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		expect(str_trim(cases[i].text, STR(" \t")), cases[i].trimmed);
}

static void takes_lines_with_and_without_an_end(void **state)
{
	struct str text = STR("one\n\ntwo");

	expect(str_take_until(&text, '\n'), STR("one"));
	expect(str_take_until(&text, '\n'), STR(""));
	expect(str_take_until(&text, '\n'), STR("two"));
	assert_int_equal(text.len, 0);
	expect(str_take_until(&text, '\n'), STR(""));
}

static void takes_words(void **state)
{
	struct str line = STR("  one\t two\0x three  ");

	expect(str_take_word(&line), STR("one"));
	expect(str_take_word(&line), STR("two\0x"));
	expect(str_take_word(&line), STR("three"));
	expect(str_take_word(&line), STR(""));
	assert_int_equal(line.len, 0);
	line = (struct str){ NULL, 0 };
	expect(str_take_word(&line), STR(""));
}

static void takes_names_off_a_path(void **state)
{
	struct str path = STR("//a/b c/");

	expect(str_take_name(&path), STR("a"));
	expect(str_take_name(&path), STR("b c"));
	expect(str_take_name(&path), STR(""));
	assert_true(str_within(STR("a/b"), STR("a")));
	assert_false(str_within(STR("ab"), STR("a")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(compares_unsigned_bytes),
		cmocka_unit_test(trims_both_ends),
		cmocka_unit_test(takes_lines_with_and_without_an_end),
		cmocka_unit_test(takes_words),
		cmocka_unit_test(takes_names_off_a_path),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
