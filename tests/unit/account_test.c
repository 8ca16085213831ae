/* account: lines and numbers of files nobody vouches for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "sandbox/account.h"

static void assert_field(struct str field, const char *text)
{
	if (!str_eq(field, str_of(text)))
		fail_msg("'%.*s' is not '%s'", (int)field.len, field.ptr, text);
}

static void takes_lines_apart(void **state)
{
	struct str text = STR("root:x:0\n\na::c:d:e\nlast:one");
	struct str field[3];

	assert_int_equal(account_line(&text, field, 3), 3);
	assert_field(field[0], "root");
	assert_field(field[2], "0");
	assert_int_equal(account_line(&text, field, 3), 0);
	assert_int_equal(account_line(&text, field, 3), 3);
	assert_field(field[0], "a");
	assert_field(field[1], "");
	assert_field(field[2], "c");
	assert_int_equal(account_line(&text, field, 3), 2);
	assert_field(field[1], "one");
	assert_int_equal(account_line(&text, field, 3), -1);
	text = (struct str){ 0 };
	assert_int_equal(account_line(&text, field, 3), -1);
}

static void takes_only_numbers(void **state)
{
	static const struct {
		const char *text;
		bool good;
		uint32_t number;
	} cases[] = {
		{ "0", true, 0 },
		{ "65534", true, 65534 },
		{ "4294967294", true, 4294967294 },
		{ "0000000001", true, 1 },
		{ "4294967295", false, 0 }, /* "no id" */
		{ "4294967296", false, 0 },
		{ "99999999999", false, 0 },
		{ "", false, 0 },
		{ "-1", false, 0 },
		{ "+1", false, 0 },
		{ " 1", false, 0 },
		{ "1 ", false, 0 },
		{ "0x1", false, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t number = 0;

		if (account_number(str_of(cases[i].text), &number) != cases[i].good ||
			number != cases[i].number)
			fail_msg("'%s': %u", cases[i].text, number);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_lines_apart),
		cmocka_unit_test(takes_only_numbers),
	};

	return cmocka_run_group_tests_name("account", tests, NULL, NULL);
}
