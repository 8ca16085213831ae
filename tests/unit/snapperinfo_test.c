/* snapperinfo: reads the elements of an info.xml, and refuses malformed files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/own.h"
#include "core/when.h"
#include "query/snapperinfo.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void reads_what_snapper_writes(void **state)
{
	static const char text[] = "<?xml version=\"1.0\"?>\n<snapshot>\n  <type>post</type>\n"
				   "  <num>42</num>\n  <date>2025-01-31 12:00:00</date>\n"
				   "  <pre_num>41</pre_num>\n"
				   "  <description>a &lt;b&gt; &amp; &quot;c&quot; &#xe9;&#233;"
				   "&apos;\xc3\xa9</description>\n"
				   "  <cleanup>number</cleanup>\n"
				   "  <userdata>\n    <key>type</key>\n    <value>x</value>\n"
				   "  </userdata>\n</snapshot>\n";
	owned(arena_release) struct arena arena = { 0 };
	struct snapperinfo info;
	struct err err = { 0 };
	int64_t date;

	assert_true(snapperinfo_parse(STR(text), &arena, &info));
	assert_int_equal(when_parse("2025-01-31T12:00:00Z", 0, &date, &err), 0);
	assert_int_equal(info.number, 42);
	assert_int_equal(info.date, date);
	assert_string_equal(info.type, "post");
	assert_string_equal(info.description, "a <b> & \"c\" \xc3\xa9\xc3\xa9'\xc3\xa9");
	assert_string_equal(info.cleanup, "number");
}

static void what_is_missing_is_null(void **state)
{
	static const char *const texts[] = { "<snapshot/>", "<snapshot></snapshot>",
		"<!-- a > b --><snapshot >\n<type/>\n<date>never</date></snapshot>\n",
		"<snapshot><description>\xff</description></snapshot>",
		"<snapshot><userdata><description>x</description></userdata></snapshot>" };

	for (size_t i = 0; i < COUNT(texts); i++) {
		owned(arena_release) struct arena arena = { 0 };
		struct snapperinfo info;

		if (!snapperinfo_parse(str_of(texts[i]), &arena, &info) || info.type ||
			info.description || info.cleanup || info.number || info.date != INT64_MIN)
			fail_msg("%s", texts[i]);
	}
}

static void control_characters_become_spaces(void **state)
{
	static const char text[] =
		"<snapshot><description>a\x1b[31m\nb&#7;c</description></snapshot>";
	owned(arena_release) struct arena arena = { 0 };
	struct snapperinfo info;

	assert_true(snapperinfo_parse(STR(text), &arena, &info));
	assert_string_equal(info.description, "a [31m b c");
}

static void refuses_what_is_no_such_file(void **state)
{
	static const char *const texts[] = { "", " ", "x", "<", "<snapshot", "<snapshot>",
		"<other></other>", "<snapshot></other>", "<snapshot><a></snapshot></a>",
		"<snapshot></snapshot><snapshot></snapshot>", "<snapshot>&none;</snapshot>",
		"<snapshot>&amp</snapshot>", "<snapshot>&#0;</snapshot>",
		"<snapshot>&#xd800;</snapshot>", "<snapshot>&#x110000;</snapshot>",
		"<snapshot>&#-1;</snapshot>", "<snapshot>&#;</snapshot>",
		"<snapshot>&#x;</snapshot>", "<snapshot>&#xffffffffffffffff;</snapshot>",
		"<!DOCTYPE a [<!ENTITY b \"c\">]><snapshot></snapshot>",
		"<snapshot><a><a><a><a><a><a><a><a></a></a></a></a></a></a></a></a></snapshot>",
		"<!-- <snapshot></snapshot>" };
	owned(arena_release) struct arena arena = { 0 };
	struct snapperinfo info;

	for (size_t i = 0; i < COUNT(texts); i++)
		if (snapperinfo_parse(str_of(texts[i]), &arena, &info))
			fail_msg("%s", texts[i]);
	assert_false(snapperinfo_parse(STR("<snapshot>\0</snapshot>"), &arena, &info));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_snapper_writes),
		cmocka_unit_test(what_is_missing_is_null),
		cmocka_unit_test(control_characters_become_spaces),
		cmocka_unit_test(refuses_what_is_no_such_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
