/* text: UTF-8, quoting of names, sizes, globs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/own.h"
#include "core/text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void measures_utf8_sequences(void **state)
{
	static const struct {
		struct str bytes;
		size_t len;
	} cases[] = {
		{ { NULL, 0 }, 0 },
		{ STR("a"), 1 },
		{ STR("\0"), 1 },
		{ STR("\x7f"), 1 },
		{ STR("\x80"), 0 },
		{ STR("\xbf"), 0 },
		{ STR("\xc0\x80"), 0 },
		{ STR("\xc1\xbf"), 0 },
		{ STR("\xc2\x80"), 2 },
		{ STR("\xdf\xbf"), 2 },
		{ STR("\xc2"), 0 },
		{ STR("\xc2\x41"), 0 },
		{ STR("\xe0\x9f\xbf"), 0 },
		{ STR("\xe0\xa0\x80"), 3 },
		{ STR("\xe0\xa0"), 0 },
		{ STR("\xed\x9f\xbf"), 3 },
		{ STR("\xed\xa0\x80"), 0 },
		{ STR("\xed\xbf\xbf"), 0 },
		{ STR("\xee\x80\x80"), 3 },
		{ STR("\xef\xbf\xbf"), 3 },
		{ STR("\xf0\x8f\xbf\xbf"), 0 },
		{ STR("\xf0\x90\x80\x80"), 4 },
		{ STR("\xf0\x90\x80"), 0 },
		{ STR("\xf4\x8f\xbf\xbf"), 4 },
		{ STR("\xf4\x90\x80\x80"), 0 },
		{ STR("\xf5\x80\x80\x80"), 0 },
		{ STR("\xff"), 0 },
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		assert_int_equal(text_utf8_length(cases[i].bytes), cases[i].len);
}

static void tells_utf8_from_other_bytes(void **state)
{
	assert_true(text_is_utf8((struct str){ NULL, 0 }));
	assert_true(text_is_utf8(STR("na\u00efve \u20ac \U0001f600")));
	assert_false(text_is_utf8(STR("na\xefve")));
	assert_false(text_is_utf8(STR("cut \xe2\x82")));
}

static void finds_the_first_byte_that_is_not_utf8(void **state)
{
	char text[40];

	for (size_t bad = 0; bad < sizeof(text); bad++) {
		memset(text, 'x', sizeof(text));
		text[bad] = '\xff';
		assert_int_equal(text_utf8_prefix((struct str){ text, sizeof(text) }), bad);
	}
	assert_int_equal(text_utf8_prefix(STR("eight by\u20ac \xe2\x82")), 12);
}

static void encodes_characters_as_utf8(void **state)
{
	static const struct {
		uint32_t code;
		struct str bytes;
	} cases[] = {
		{ 0, STR("\0") },
		{ 'a', STR("a") },
		{ 0x7f, STR("\x7f") },
		{ 0x80, STR("\xc2\x80") },
		{ 0xe9, STR("\u00e9") },
		{ 0x7ff, STR("\xdf\xbf") },
		{ 0x800, STR("\xe0\xa0\x80") },
		{ 0x20ac, STR("\u20ac") },
		{ 0xffff, STR("\xef\xbf\xbf") },
		{ 0x10000, STR("\xf0\x90\x80\x80") },
		{ 0x1f600, STR("\U0001f600") },
		{ 0x10ffff, STR("\xf4\x8f\xbf\xbf") },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		owned(buf_release) struct buf out = BUF_INIT;

		text_utf8_add(&out, cases[i].code);
		assert_int_equal(out.len, cases[i].bytes.len);
		assert_memory_equal(out.data, cases[i].bytes.ptr, out.len);
	}
}

/* Bytes behind the sequence stay as they are, since a caller may have room for no more. */
static void encodes_each_character_as_one_valid_sequence(void **state)
{
	for (uint32_t code = 0; code <= 0x10ffff; code++) {
		char out[] = "####";
		size_t len = text_utf8_encode(out, code);
		bool surrogate = code >= 0xd800 && code <= 0xdfff;

		assert_in_range(len, 1, 4);
		assert_int_equal(text_utf8_length((struct str){ out, len }), surrogate ? 0 : len);
		for (size_t i = len; i < 4; i++)
			assert_int_equal(out[i], '#');
	}
}

static void quotes_only_odd_names(void **state)
{
	static const struct {
		struct str name;
		const char *shown;
	} cases[] = {
		{ STR("plain name-1.txt"), "plain name-1.txt" },
		{ STR("\u00fc\u20ac\U0001f600"), "\u00fc\u20ac\U0001f600" },
		{ STR("it's"), "it's" },
		{ STR("a\nb\tc"), "\"a\\nb\\tc\"" },
		{ STR("a\"b\\c"), "\"a\\\"b\\\\c\"" },
		{ STR("\x1b[31m"), "\"\\033[31m\"" },
		{ STR("a\rb\x7f"), "\"a\\015b\\177\"" },
		{ STR("\xff\u00fc"), "\"\\377\u00fc\"" },
		{ STR("\xc2\x9b"
		      "31m"),
			"\"\\302\\23331m\"" },
		{ STR("\u202egpj"), "\"\\342\\200\\256gpj\"" },
		{ STR("\u2028"), "\"\\342\\200\\250\"" },
		{ STR("a\0b"), "\"a\\000b\"" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		owned(buf_release) struct buf out = BUF_INIT;

		text_quote(&out, cases[i].name);
		assert_string_equal(out.data, cases[i].shown);
	}
}

static void shows_sizes_in_the_unit_that_fits(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *shown;
	} cases[] = {
		{ 0, "0 B" },
		{ 1023, "1023 B" },
		{ 1024, "1.0 KiB" },
		{ 4300, "4.2 KiB" },
		{ (1 << 20) - 1, "1.0 MiB" },
		{ 1 << 20, "1.0 MiB" },
		{ UINT64_C(3) << 30, "3.0 GiB" },
		{ UINT64_C(1023) << 40, "1023.0 TiB" },
		{ UINT64_C(5) << 50, "5.0 PiB" },
		{ UINT64_MAX, "16.0 EiB" },
	};
	char out[16];

	for (size_t i = 0; i < COUNT(cases); i++)
		assert_string_equal(text_size(cases[i].bytes, out), cases[i].shown);
}

static void reads_sizes_as_typed(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} cases[] = {
		{ "0", 0 },
		{ "4096", 4096 },
		{ "4096B", 4096 },
		{ "64K", 64 << 10 },
		{ "64k", 64 << 10 },
		{ "64KB", 64 << 10 },
		{ "64KiB", 64 << 10 },
		{ "10M", 10 << 20 },
		{ "2G", UINT64_C(2) << 30 },
		{ "1TiB", UINT64_C(1) << 40 },
		{ "18446744073709551615", UINT64_MAX },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		uint64_t bytes = 1;

		assert_true(text_parse_size(cases[i].text, &bytes));
		assert_int_equal(bytes, cases[i].bytes);
	}
}

static void refuses_what_is_no_size(void **state)
{
	static const char *const cases[] = { "", "K", "-1", "+1", " 1", "1 ", "1 K", "1.5G", "1X",
		"1Ki", "1iB", "1KBB", "1BB", "0x10", "18446744073709551616", "16777216T",
		"99999999999999999999999" };

	for (size_t i = 0; i < COUNT(cases); i++) {
		uint64_t bytes = 7;

		assert_false(text_parse_size(cases[i], &bytes));
		assert_int_equal(bytes, 7);
	}
}

struct pattern_case {
	const char *pattern;
	const char *text;
	bool matches;
};

static void check_patterns(bool (*matcher)(struct str pattern, struct str text),
	const struct pattern_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (matcher(str_of(cases[i].pattern), str_of(cases[i].text)) != cases[i].matches)
			fail_msg("'%s' on '%s'", cases[i].pattern, cases[i].text);
	}
}

static void globs_match_whole_paths(void **state)
{
	static const struct pattern_case cases[] = {
		{ "", "", true },
		{ "", "a", false },
		{ "a", "", false },
		{ "abc", "abc", true },
		{ "abc", "abcd", false },
		{ "a?c", "abc", true },
		{ "a?c", "a/c", false },
		{ "a?c", "ac", false },
		{ "*", "", true },
		{ "*", "abc", true },
		{ "*", "a/b", false },
		{ "*.c", "x.c", true },
		{ "*.c", ".c", true },
		{ "*.c", "d/x.c", false },
		{ "*/x.c", "d/x.c", true },
		{ "d/*", "d/", true },
		{ "*a*b*", "xxaxxbxx", true },
		{ "*a*b*", "xxbxxaxx", false },
		{ "a*/b", "aaa/b", true },
		{ "a*b/c", "axb/b/c", false },
		{ "**", "a/b/c", true },
		{ "**.c", "a/b/x.c", true },
		{ "a**c", "a/b/c", true },
		{ "a**c", "a/b/d", false },
		{ "***", "a/b", true },
		{ "**/x", "x", true },
		{ "**/x", "a/x", true },
		{ "**/x", "a/b/x", true },
		{ "**/x", "ax", false },
		{ "**/x", "a/bx", false },
		{ "a/**/x", "a/x", true },
		{ "a/**/x", "a/b/c/x", true },
		{ "a/**/x", "ab/x", false },
		{ "a/**", "a/b/c", true },
		{ "a/**", "a", false },
		{ "**/a*b/*.c", "q/a/aXb/b.c", true },
		{ "**/a*b/*.c", "q/aX/b/b.c", false },
		{ "**/*a*/b", "xa/c/ya/b", true },
		{ "**/**/x", "x", true },
		{ "a**/x", "a/x", true },
		{ "a**/x", "ax", false },
	};

	check_patterns(text_glob, cases, COUNT(cases));
}

static void globs_know_classes_and_quoting(void **state)
{
	static const struct pattern_case cases[] = {
		{ "[abc]", "b", true },
		{ "[abc]", "d", false },
		{ "[a-c]x", "bx", true },
		{ "[!a-c]", "b", false },
		{ "[!a-c]", "d", true },
		{ "[^a-c]", "d", true },
		{ "[!a]", "/", false },
		{ "a[.-0]b", "a/b", false },
		{ "[]]", "]", true },
		{ "[!]]", "]", false },
		{ "[]-a]", "^", true },
		{ "[a-]", "-", true },
		{ "[-a]", "-", true },
		{ "[\\]]", "]", true },
		{ "[a\\-c]", "b", false },
		{ "[a\\-c]", "-", true },
		{ "[c-a]", "b", false },
		{ "[abc", "[abc", true },
		{ "[abc", "a", false },
		{ "[", "[", true },
		{ "[\x80-\xff]", "\xe4", true },
		{ "\\*", "*", true },
		{ "\\*", "a", false },
		{ "\\\\", "\\", true },
		{ "\\", "\\", true },
		{ "a\\?", "a?", true },
		{ "\\{a}", "{a}", true },
	};

	check_patterns(text_glob, cases, COUNT(cases));
}

static void globs_know_alternatives(void **state)
{
	static const struct pattern_case cases[] = {
		{ "{a,b}", "a", true },
		{ "{a,b}", "b", true },
		{ "{a,b}", "c", false },
		{ "{a,b}", "{a,b}", false },
		{ "*.{c,h}", "x.h", true },
		{ "*.{c,h}", "x.o", false },
		{ "{a,ab}c", "abc", true },
		{ "{a*,b}c", "axxc", true },
		{ "{a*,b}c", "bc", true },
		{ "*{x*y,z}", "abz", true },
		{ "x{,y}z", "xz", true },
		{ "x{,y}z", "xyz", true },
		{ "{a,{b,c}d}e", "cde", true },
		{ "{a,{b,c}d}e", "ce", false },
		{ "{src,lib}/**/*.{c,h}", "lib/a/b/x.h", true },
		{ "{src,lib}/**/*.{c,h}", "src/x.c", true },
		{ "{src,lib}/**/*.{c,h}", "doc/x.c", false },
		{ "{a\\,b,c}", "a,b", true },
		{ "{a,b", "{a,b", true },
		{ "{a,b", "a", false },
		{ "a}", "a}", true },
		{ "a,b", "a,b", true },
		{ "{}", "", true },
	};

	check_patterns(text_glob, cases, COUNT(cases));
}

static void fnmatch_matches_names(void **state)
{
	static const struct pattern_case cases[] = {
		{ "*", "", true },
		{ "*.txt", "a.txt", true },
		{ "*.txt", "a.txt~", false },
		{ "*", "a/b", true },
		{ "a?c", "a/c", true },
		{ "?", "\u00e4", true },
		{ "??", "\u00e4", false },
		{ "?", "\xe4", true },
		{ "[\u00e0-\u00ff]", "\u00e4", true },
		{ "[!\u00e4]", "\u00e4", false },
		{ "[!x]", "\u20ac", true },
		{ "*\u00e4*", "x\u00e4y", true },
		{ "[^a]", "^", true },
		{ "[^a]", "a", true },
		{ "[^a]", "b", false },
		{ "[!a]", "b", true },
		{ "a\\*", "a\\b", true },
		{ "a\\*", "a*", false },
		{ "[\\]", "\\", true },
		{ "{a,b}", "a", false },
		{ "{a,b}", "{a,b}", true },
		{ "[a", "[a", true },
		{ "[!]", "[!]", true },
		{ "[]]", "]", true },
		{ "**/x", "x", false },
	};

	check_patterns(text_fnmatch, cases, COUNT(cases));
}

/*
 * For these patterns a naive matcher takes very long.  text_glob must end soon, and must not need
 * its limit of steps for most of them.
 */
static void hostile_patterns_end_soon(void **state)
{
	owned(buf_release) struct buf pattern = BUF_INIT;
	owned(buf_release) struct buf text = BUF_INIT;

	for (int i = 0; i < 4000; i++)
		buf_addc(&text, 'a');
	for (int i = 0; i < 20; i++)
		buf_adds(&pattern, "*a");
	assert_true(text_glob(
		(struct str){ pattern.data, pattern.len }, (struct str){ text.data, text.len }));
	buf_addc(&pattern, 'b');
	assert_false(text_glob(
		(struct str){ pattern.data, pattern.len }, (struct str){ text.data, text.len }));

	static const char *const units[] = { "**a", "{a,*}", "{,a}", "{", "[", "{*,", "**/", "?*" };

	for (size_t i = 0; i < COUNT(units); i++) {
		buf_clear(&pattern);
		for (int n = 0; n < 20000; n++)
			buf_adds(&pattern, units[i]);
		buf_addc(&pattern, 'b');
		assert_false(text_glob((struct str){ pattern.data, pattern.len },
			(struct str){ text.data, text.len }));
		assert_false(text_fnmatch((struct str){ pattern.data, pattern.len },
			(struct str){ text.data, text.len }));
	}
}

/* A simple matcher without shortcuts.  text_glob must give the same results. */
static bool naive(const char *pattern, const char *text)
{
	if (!*pattern)
		return !*text;
	if (pattern[0] == '*' && pattern[1] == '*')
		return naive(pattern + (pattern[2] == '*' ? 1 : 2), text) ||
		       (*text && naive(pattern, text + 1));
	if (*pattern == '*')
		return naive(pattern + 1, text) ||
		       (*text && *text != '/' && naive(pattern, text + 1));
	return *text && (*pattern == '?' ? *text != '/' : *pattern == *text) &&
	       naive(pattern + 1, text + 1);
}

static void agrees_with_a_naive_matcher(void **state)
{
	static const char pattern_bytes[] = "ab?**", text_bytes[] = "aab/";
	uint32_t random = 1;

	for (int round = 0; round < 100000; round++) {
		char pattern[9] = "", text[9] = "";

		for (int i = 0; i < 8; i++) {
			random = random * 1664525 + 1013904223;
			if (random >> 30)
				pattern[strlen(pattern)] = pattern_bytes[(random >> 16) % 5];
			if (random >> 29 & 1)
				text[strlen(text)] = text_bytes[(random >> 8) % 4];
		}
		/* The patterns have no '/', since naive() does not support components of stars. */
		if (text_glob(str_of(pattern), str_of(text)) != naive(pattern, text))
			fail_msg("'%s' on '%s'", pattern, text);
	}
}

static void base64_goes_there_and_back(void **state)
{
	for (size_t len = 0; len < 300; len++) {
		owned(buf_release) struct buf bytes = BUF_INIT, coded = BUF_INIT, back = BUF_INIT;

		for (size_t i = 0; i < len; i++)
			buf_addc(&bytes, (char)(i * 37 + len));
		text_base64(&coded, (struct str){ bytes.data, bytes.len });
		assert_true(text_unbase64(&back, (struct str){ coded.data, coded.len }));
		assert_int_equal(back.len, len);
		if (len)
			assert_memory_equal(back.data, bytes.data, len);
	}
}

static void refuses_what_is_no_base64(void **state)
{
	static const char *const texts[] = { "A", "AA", "AAA", "A===", "====", "AA=A",
		"AAAA=", "AB==", "AAB=", "A AA", "AAA\n", "AA==AAAA", "AA-_", "\377AAA" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		owned(buf_release) struct buf out = BUF_INIT;

		buf_adds(&out, "kept");
		if (text_unbase64(&out, str_of(texts[i])))
			fail_msg("'%s' is taken", texts[i]);
		assert_string_equal(out.data, "kept");
	}
	struct buf none = BUF_INIT;
	assert_false(text_unbase64(&none, (struct str){ "AA\0A", 4 }));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(measures_utf8_sequences),
		cmocka_unit_test(tells_utf8_from_other_bytes),
		cmocka_unit_test(finds_the_first_byte_that_is_not_utf8),
		cmocka_unit_test(encodes_characters_as_utf8),
		cmocka_unit_test(encodes_each_character_as_one_valid_sequence),
		cmocka_unit_test(quotes_only_odd_names),
		cmocka_unit_test(shows_sizes_in_the_unit_that_fits),
		cmocka_unit_test(reads_sizes_as_typed),
		cmocka_unit_test(refuses_what_is_no_size),
		cmocka_unit_test(globs_match_whole_paths),
		cmocka_unit_test(globs_know_classes_and_quoting),
		cmocka_unit_test(globs_know_alternatives),
		cmocka_unit_test(fnmatch_matches_names),
		cmocka_unit_test(hostile_patterns_end_soon),
		cmocka_unit_test(agrees_with_a_naive_matcher),
		cmocka_unit_test(base64_goes_there_and_back),
		cmocka_unit_test(refuses_what_is_no_base64),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
