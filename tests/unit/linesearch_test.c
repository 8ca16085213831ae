/* linesearch: finds the same lines as regex_find does one at a time, whichever method it uses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/linesearch.h"
#include "core/own.h"

#define ROUNDS 12000

static uint64_t seed = 16;

static unsigned chance(unsigned n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % n;
}

static void add_some(struct buf *out, const char *const *words, size_t n, unsigned most)
{
	for (unsigned left = 1 + chance(most); left; left--)
		buf_adds(out, words[chance((unsigned)n)]);
}

static void random_pattern(struct buf *out)
{
	static const char *const parts[] = { "a", "b", "ab", "foo", "\u00e9", ".", "*", "+", "?",
		"{2}", "{1,}", "*?", "*+", "[ab]", "[^a]", "[]x]", "[[:alpha:]]", "^", "$", "\\b",
		"\\B", "\\w", "\\s", "\\S", "\\.", "\\n", "\\r", "|", "(a)", "(?:ab|b)", "(foo)?",
		"(?=b)", "(?!b)", "(?<=a)", "(?<!a)", "(?i)", "\\x61", "\\A", "\\z", "\\Z", "\\K",
		"(a)\\1", "\\Qa.b\\E", "(?>a+)", "[^\\n]", "\\R", "{", "}", "]", "x{,2}" };

	add_some(out, parts, sizeof(parts) / sizeof(parts[0]), 5);
}

static void random_text(struct buf *out, unsigned most)
{
	static const char *const parts[] = { "a", "b", "ab", "foo", "\n", "\n", "\r\n", " ", "x",
		".", "a.b", "\u00e9", "\xe9", "A", "\r", "_", "1", "aa" };

	add_some(out, parts, sizeof(parts) / sizeof(parts[0]), most);
}

static unsigned random_flags(void)
{
	/* Most patterns are compiled without flags, since this is the common case. */
	static const unsigned flags[] = { 0, 0, LINESEARCH_DROP_CR, LINESEARCH_DROP_CR,
		LINESEARCH_IGNORE_CASE, LINESEARCH_LITERAL,
		LINESEARCH_LITERAL | LINESEARCH_IGNORE_CASE,
		LINESEARCH_LITERAL | LINESEARCH_DROP_CR };

	return flags[chance(sizeof(flags) / sizeof(flags[0]))];
}

/* Write the offset of each matching line and of its match, found one at a time. */
static void find_singly(const char *pattern, unsigned flags, struct str text, struct buf *out)
{
	struct err err = { 0 };
	owned(regex_freep) struct regex *regex = regex_new(str_of(pattern),
		(flags & LINESEARCH_IGNORE_CASE ? REGEX_IGNORE_CASE : 0) |
			(flags & LINESEARCH_LITERAL ? REGEX_LITERAL : 0),
		&err);
	size_t start, end;

	for (size_t at = 0; at < text.len;) {
		const char *newline = memchr(text.ptr + at, '\n', text.len - at);
		size_t next = newline ? (size_t)(newline + 1 - text.ptr) : text.len;
		struct str line = { text.ptr + at, next - at - (newline != NULL) };

		if (flags & LINESEARCH_DROP_CR && line.len && line.ptr[line.len - 1] == '\r')
			line.len--;
		if (regex_find(regex, line, &start, &end, &err) > 0)
			buf_addf(out, "%zu+%zu:%zu-%zu ", at, line.len, start, end);
		at = next;
	}
}

static void find_together(struct linesearch *search, struct str text, struct buf *out)
{
	struct err err = { 0 };
	struct linesearch_hit hit;
	size_t at = 0;

	while (linesearch_next(search, text, &at, &hit, &err) > 0)
		buf_addf(out, "%zu+%zu:%zu-%zu ", (size_t)(hit.line.ptr - text.ptr), hit.line.len,
			hit.start, hit.end);
}

static void finds_what_single_lines_find(void **state)
{
	unsigned compiled = 0, found = 0;

	for (unsigned i = 0; i < ROUNDS; i++) {
		owned(buf_release) struct buf pattern = BUF_INIT, text = BUF_INIT;
		owned(buf_release) struct buf single = BUF_INIT, together = BUF_INIT;
		unsigned flags = random_flags();
		struct err err = { 0 };

		if (flags & LINESEARCH_LITERAL) {
			random_text(&pattern, 2);
		} else {
			random_pattern(&pattern);
		}
		owned(linesearch_freep) struct linesearch *search =
			linesearch_new(str_of(pattern.data), flags, &err);
		if (!search)
			continue;
		compiled++;
		buf_adds(&single, "");
		buf_adds(&together, "");
		random_text(&text, 40);
		find_singly(pattern.data, flags, (struct str){ text.data, text.len }, &single);
		find_together(search, (struct str){ text.data, text.len }, &together);
		if (strcmp(single.data, together.data) != 0)
			fail_msg("pattern '%s', flags %u, text '%s': %s, not %s", pattern.data,
				flags, text.data, single.data, together.data);
		found += single.len > 0;
	}
	assert_true(compiled > ROUNDS / 2);
	assert_true(found > ROUNDS / 8);
}

static void counts_newlines(void **state)
{
	for (unsigned i = 0; i < 500; i++) {
		owned(buf_release) struct buf text = BUF_INIT;
		uint64_t n = 0;

		random_text(&text, 40);
		for (size_t k = 0; k < text.len; k++)
			n += text.data[k] == '\n';
		assert_int_equal(linesearch_count(text.data, text.data + text.len), n);
	}
}

static void knows_what_a_match_contains(void **state)
{
	static const struct {
		const char *pattern, *required;
		bool all;
	} cases[] = {
		{ "foo", "foo", true },
		{ "a\\.b", "a.b", true },
		{ "fo+", "fo", false },
		{ "fo*bar", "bar", false },
		{ "foo?", "fo", false },
		{ "fo{0,2}x", "f", false },
		{ "caf\u00e9?s", "caf", false },
		{ "\\bstruct\\s+foo\\b", "struct", false },
		{ "a|b", "", false },
		{ "(a|b)cd", "cd", false },
		{ "(?:a|[)]b)cd", "cd", false },
		{ "(?i)foo", "", false },
		{ "\\x41bcd", "", false },
		{ "[abc]de", "de", false },
		{ "[]abc]de", "de", false },
		{ "", "", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		owned(buf_release) struct buf required = BUF_INIT;
		bool all;

		buf_adds(&required, "");
		linesearch_required(str_of(cases[i].pattern), &required, &all);
		assert_string_equal(required.data ?: "", cases[i].required);
		assert_int_equal(all, cases[i].all);
	}
}

static void goes_on_behind_a_line_that_takes_too_long(void **state)
{
	struct err err = { 0 };
	owned(linesearch_freep) struct linesearch *search =
		linesearch_new(STR("^(a+)+\\1b"), 0, &err);
	struct str text = STR("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac b\naab\n");
	struct linesearch_hit hit;
	size_t at = 0;

	assert_non_null(search);
	assert_int_equal(linesearch_next(search, text, &at, &hit, &err), -ERR_LIMIT);
	assert_int_equal(hit.line.len, 40);
	assert_int_equal(linesearch_next(search, text, &at, &hit, &err), 1);
	assert_int_equal(hit.line.len, 3);
	assert_int_equal(linesearch_next(search, text, &at, &hit, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_what_single_lines_find),
		cmocka_unit_test(counts_newlines),
		cmocka_unit_test(knows_what_a_match_contains),
		cmocka_unit_test(goes_on_behind_a_line_that_takes_too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
