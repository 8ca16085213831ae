/* account: reads lines and numbers of untrusted files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

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

#define PASSWD                                                                                     \
	"root:x:0:0:root:/root:/bin/bash\n"                                                        \
	"broken:x:one:0::/nowhere:/bin/sh\n"                                                       \
	"\n"                                                                                       \
	"short:x:7:8\n"                                                                            \
	"anna:x:1000:100:Anna,,,:/home/anna:/bin/zsh\n"                                            \
	"double:x:1000:5::/elsewhere:\n"
#define GROUP                                                                                      \
	"root:x:0:\n"                                                                              \
	"users:x:100:\n"                                                                           \
	"wheel:x:10:root,anna\n"                                                                   \
	"half:x:11:annalise,anna2\n"                                                               \
	"audio:x:29:anna\n"

static void finds_users(void **state)
{
	static const struct {
		const char *user;
		uint32_t uid, gid;
		size_t n_groups;
		const char *name, *home, *shell;
	} cases[] = {
		{ "anna", 1000, 100, 2, "anna", "/home/anna", "/bin/zsh" },
		{ "1000", 1000, 100, 2, "anna", "/home/anna", "/bin/zsh" },
		{ "root", 0, 0, 1, "root", "/root", "/bin/bash" },
		{ "short", 7, 8, 0, "short", "/", "/bin/sh" },
		{ "double", 1000, 5, 0, "double", "/elsewhere", "/bin/sh" },
		{ "4711", 4711, 4711, 0, "4711", "/", "/bin/sh" },
		{ "4711:12", 4711, 12, 0, "4711", "/", "/bin/sh" },
		{ "anna:wheel", 1000, 10, 0, "anna", "/home/anna", "/bin/zsh" },
		{ "anna:0", 1000, 0, 0, "anna", "/home/anna", "/bin/zsh" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct account account = { 0 };
		struct err err = { 0 };

		assert_int_equal(
			account_find_in(STR(PASSWD), STR(GROUP), cases[i].user, &account, &err), 0);
		assert_int_equal(account.uid, cases[i].uid);
		assert_int_equal(account.gid, cases[i].gid);
		assert_int_equal(account.n_groups, cases[i].n_groups);
		assert_string_equal(account.name, cases[i].name);
		assert_string_equal(account.home, cases[i].home);
		assert_string_equal(account.shell, cases[i].shell);
		if (account.n_groups == 2) {
			assert_int_equal(account.groups[0], 10);
			assert_int_equal(account.groups[1], 29);
		}
		account_release(&account);
	}
}

static void knows_who_is_unknown(void **state)
{
	static const struct {
		const char *user, *named;
	} cases[] = {
		{ "bert", "no user 'bert'" },
		{ "broken", "no user 'broken'" },
		{ "", "no user ''" },
		{ ":0", "no user ''" },
		{ "anna:", "no group ''" },
		{ "anna:none", "no group 'none'" },
		{ "anna:0:0", "no group '0:0'" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct account account = { 0 };
		struct err err = { 0 };

		assert_int_equal(
			account_find_in(STR(PASSWD), STR(GROUP), cases[i].user, &account, &err),
			-ERR_NOT_FOUND);
		assert_non_null(strstr(err.text, cases[i].named));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_lines_apart),
		cmocka_unit_test(takes_only_numbers),
		cmocka_unit_test(finds_users),
		cmocka_unit_test(knows_who_is_unknown),
	};

	return cmocka_run_group_tests_name("account", tests, NULL, NULL);
}
