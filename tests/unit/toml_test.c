/* toml: the items of well-formed texts, and the errors of other texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "core/buf.h"
#include "core/own.h"
#include "core/toml.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void add_value(struct buf *out, const struct toml_value *value)
{
	if (value->type == TOML_TEXT)
		buf_addf(out, "<%s>", value->text.ptr);
	else if (value->type == TOML_NUMBER)
		buf_addf(out, "#%s", value->text.ptr);
	else if (value->type == TOML_BOOL)
		buf_adds(out, value->truth ? "yes" : "no");
	else {
		buf_addc(out, '(');
		for (size_t i = 0; i < value->count; i++)
			add_value(out, &value->items[i]);
		buf_addc(out, ')');
	}
}

/* Write all items of a text to out, or the error. */
static void add_items(struct buf *out, struct str text)
{
	owned(arena_release) struct arena arena = { 0 };
	struct toml toml;
	struct toml_item item;
	struct err err = { 0 };
	int r = toml_init(&toml, text, &arena, &err);

	while (r >= 0 && (r = toml_next(&toml, &item, &err)) > 0) {
		buf_addf(out, "%s", item.is_header ? "[" : "");
		for (size_t i = 0; i < item.n_names; i++)
			buf_addf(out, "%s%s", i ? "|" : "", item.names[i].ptr);
		buf_adds(out, item.is_header ? "]" : "=");
		if (!item.is_header)
			add_value(out, &item.value);
		buf_addf(out, "@%zu:%zu ", item.place.line, item.place.column);
	}
	if (r < 0)
		buf_addf(out, "%s", err.text);
}

static void expect(const char *text, const char *expected)
{
	owned(buf_release) struct buf out = BUF_INIT;

	add_items(&out, str_of(text));
	buf_adds(&out, "");
	assert_string_equal(out.data ?: "", expected);
}

static void reads_items(void **state)
{
	expect("", "");
	expect("\n # only this\r\n\t\n", "");
	expect("a = \"b\"", "a=<b>@1:1 ");
	expect("[hosts.nas]\n\n  a-1 = true # yes\r\nb=false\n",
		"[hosts|nas]@1:1 a-1=yes@3:3 b=no@4:1 ");
	expect("[ hosts . \"a.b\" ]", "[hosts|a.b]@1:1 ");
	expect("a.b = 1\n\"\" = 'c'", "a|b=#1@1:1 =<c>@2:1 ");
	expect("a = -1.5e3\nb = 2024-01-31T00:00:00Z",
		"a=#-1.5e3@1:1 b=#2024-01-31T00:00:00Z@2:1 ");
	expect("a = []\nb = [ [1, 'x'], # c\n\n true,\n]", "a=()@1:1 b=((#1<x>)yes)@2:1 ");
	expect("a = \"\\\"\\\\\\t\\u00e9\\U0001F600é\"\nb = 'c\\d'",
		"a=<\"\\\té😀é>@1:1 b=<c\\d>@2:1 ");
}

static void says_where_it_is_wrong(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ "a", "a '=' is missing after the key (line 1, column 2)" },
		{ "a =", "a value is missing (line 1, column 4)" },
		{ "a = b", "a text needs quotes (line 1, column 5)" },
		{ "\n a = 1 b", "a line break is missing (line 2, column 8)" },
		{ "= 1", "a name is missing; only letters, digits, '_' and '-' need no quotes "
			 "(line 1, column 1)" },
		{ "[a", "the ']' of the header is missing (line 1, column 3)" },
		{ "[[a]]", "a list of tables, which cannot be used here (line 1, column 2)" },
		{ "a = {}", "an inline table, which cannot be used here; write a [table] "
			    "(line 1, column 5)" },
		{ "a = \"\"\"b\"\"\"", "a string on several lines, which cannot be used here "
				       "(line 1, column 6)" },
		{ "a = \"b\nc\"", "the string does not end on its line (line 1, column 7)" },
		{ "a = 'b", "the string does not end on its line (line 1, column 7)" },
		{ "a = \"\\q\"", "an unknown escape; a backslash itself is written '\\\\' "
				 "(line 1, column 7)" },
		{ "a = \"\\u12\"", "hexadecimal digits are missing after the '\\' "
				   "(line 1, column 8)" },
		{ "a = \"\\ud800\"", "no character has this number (line 1, column 8)" },
		{ "a = \"\\u0000\"", "no character has this number (line 1, column 8)" },
		{ "a = \"\x01\"", "a control character or bytes that are not UTF-8 "
				  "(line 1, column 6)" },
		{ "# \xff", "a control character or bytes that are not UTF-8 (line 1, column 3)" },
		{ "a = [1 2]", "a ',' or the ']' of the list is missing (line 1, column 8)" },
		{ "a = [[[[[[[[[1]]]]]]]]]",
			"too many lists inside each other (line 1, column 13)" },
		{ "a.b.c.d.e.f.g.h.i = 1", "too many names with dots between them "
					   "(line 1, column 17)" },
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		expect(cases[i].text, cases[i].error);
}

static void refuses_a_nul_and_a_long_text(void **state)
{
	owned(buf_release) struct buf out = BUF_INIT;
	owned_mem char *blanks = malloc(TOML_SIZE_MAX + 1);

	add_items(&out, STR("a = \"b\0c\""));
	assert_string_equal(
		out.data, "a control character or bytes that are not UTF-8 (line 1, column 7)");
	buf_clear(&out);
	memset(blanks, ' ', TOML_SIZE_MAX + 1);
	add_items(&out, (struct str){ blanks, TOML_SIZE_MAX + 1 });
	assert_string_equal(out.data, "longer than 1048576 bytes");
	buf_clear(&out);
	add_items(&out, (struct str){ blanks, TOML_SIZE_MAX });
	assert_int_equal(out.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_items),
		cmocka_unit_test(says_where_it_is_wrong),
		cmocka_unit_test(refuses_a_nul_and_a_long_text),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
