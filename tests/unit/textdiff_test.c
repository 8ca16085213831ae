/* textdiff: minimal hunks, unified output in the form of diff -u, and the limit of the cost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/mem.h"
#include "core/own.h"
#include "core/textdiff.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct str view(const struct buf *buf)
{
	return (struct str){ buf->data, buf->len };
}

/* The expected texts are the output of GNU diff 3.8 without time stamps. */
static void prints_what_diff_prints(void **state)
{
	static const struct {
		const char *a, *b;
		size_t context;
		const char *diff;
	} cases[] = {
		{ "", "", 3, "" },
		{ "same\n", "same\n", 3, "" },
		{ "", "a\nb\n", 3, "--- a\n+++ b\n@@ -0,0 +1,2 @@\n+a\n+b\n" },
		{ "a\nb\n", "", 3, "--- a\n+++ b\n@@ -1,2 +0,0 @@\n-a\n-b\n" },
		{ "a\n", "b\n", 3, "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n" },
		{ "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n", 3,
			"--- a\n+++ b\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n" },
		{ "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n", 1,
			"--- a\n+++ b\n@@ -4,3 +4,3 @@\n 4\n-5\n+x\n 6\n" },
		{ "1\n2\n3\n", "1\n2\nx\n3\n", 0, "--- a\n+++ b\n@@ -2,0 +3 @@\n+x\n" },
		{ "1\n2\n3\n", "1\n3\n", 0, "--- a\n+++ b\n@@ -2 +1,0 @@\n-2\n" },
		/* six lines between two changes make one section, and seven lines make two */
		{ "a\n1\n2\n3\n4\n5\n6\nb\n", "A\n1\n2\n3\n4\n5\n6\nB\n", 3,
			"--- a\n+++ b\n@@ -1,8 +1,8 @@\n-a\n+A\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n+B\n" },
		{ "a\n1\n2\n3\n4\n5\n6\n7\nb\n", "A\n1\n2\n3\n4\n5\n6\n7\nB\n", 3,
			"--- a\n+++ b\n@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n"
			"@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-b\n+B\n" },
		{ "a\n1\n2\nb\n", "A\n1\n2\nB\n", SIZE_MAX,
			"--- a\n+++ b\n@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n-b\n+B\n" },
		{ "a\nb", "a\nb\n", 3,
			"--- a\n+++ b\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of "
			"file\n+b\n" },
		{ "a\nb\n", "a\nb", 3,
			"--- a\n+++ b\n@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of "
			"file\n" },
		{ "a\nb", "x\nb", 3,
			"--- a\n+++ b\n@@ -1,2 +1,2 @@\n-a\n+x\n b\n\\ No newline at end of "
			"file\n" },
		{ "a", "b", 3,
			"--- a\n+++ b\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n"
			"+b\n\\ No newline at end of file\n" },
		/* the example of Myers' paper */
		{ "a\nb\nc\na\nb\nb\na\n", "c\nb\na\nb\na\nc\n", 3,
			"--- a\n+++ b\n@@ -1,7 +1,6 @@\n-a\n-b\n c\n-a\n b\n+a\n b\n a\n+c\n" },
		/* an ambiguous insertion is placed as low as possible */
		{ "f {\n}\n\nh {\n}\n", "f {\n}\n\ng {\n}\n\nh {\n}\n", 3,
			"--- a\n+++ b\n@@ -1,5 +1,8 @@\n f {\n }\n \n+g {\n+}\n+\n h {\n }\n" },
		{ "x\ny\n", "x\nx\nx\ny\n", 3, "--- a\n+++ b\n@@ -1,2 +1,4 @@\n x\n+x\n+x\n y\n" },
		{ "x\r\n", "x\n", 3, "--- a\n+++ b\n@@ -1 +1 @@\n-x\r\n+x\n" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		owned(buf_release) struct buf out = BUF_INIT;

		textdiff_unified(
			&out, str_of(cases[i].a), str_of(cases[i].b), "a", "b", cases[i].context);
		assert_string_equal(out.data ?: "", cases[i].diff);
	}
}

static void gives_hunks_by_line(void **state)
{
	owned_mem struct textdiff_hunk *hunks = NULL;

	assert_int_equal(textdiff_hunks(STR("a\nb\nc\nd\n"), STR("b\nx\nc\nd\ne"), &hunks), 3);
	assert_memory_equal(&hunks[0], (&(struct textdiff_hunk){ 0, 1, 0, 0 }), sizeof(*hunks));
	assert_memory_equal(&hunks[1], (&(struct textdiff_hunk){ 2, 0, 1, 1 }), sizeof(*hunks));
	assert_memory_equal(&hunks[2], (&(struct textdiff_hunk){ 4, 0, 4, 1 }), sizeof(*hunks));
}

static void gives_no_hunks_for_equal_contents(void **state)
{
	owned_mem struct textdiff_hunk *hunks = NULL;

	assert_int_equal(textdiff_hunks(STR("a\nb"), STR("a\nb"), &hunks), 0);
}

/* ------------------------------------------------------- random properties */

static uint64_t next_random(uint64_t *random)
{
	*random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *random >> 33;
}

static void add_random_lines(struct buf *out, uint64_t *random, size_t count, size_t kinds)
{
	for (size_t i = 0; i < count; i++)
		buf_addf(out, "%zu\n", (size_t)next_random(random) % kinds);
}

/* Make b from a: drop, add and replace lines. */
static void add_edited(struct buf *out, struct str a, uint64_t *random, size_t kinds, size_t rate)
{
	for (size_t i = 0; i < a.len;) {
		size_t len =
			(size_t)((const char *)memchr(a.ptr + i, '\n', a.len - i) - a.ptr) + 1 - i;
		size_t dice = (size_t)next_random(random) % rate;

		if (dice <= 1)
			add_random_lines(out, random, 1, kinds);
		if (dice != 0 && dice != 2)
			buf_add(out, a.ptr + i, len);
		i += len;
	}
}

static size_t line_starts(struct str text, size_t **starts)
{
	size_t count = 0, cap = 0;

	*starts = NULL;
	for (size_t at = 0;; count++) {
		mem_grow(starts, &cap, count);
		(*starts)[count] = at;
		if (at == text.len)
			return count;
		const char *newline = memchr(text.ptr + at, '\n', text.len - at);
		at = newline ? (size_t)(newline - text.ptr) + 1 : text.len;
	}
}

struct edits {
	size_t lines; /* number of deleted and inserted lines */
	bool applies; /* the hunks are sorted, separate and within bounds, and turn a into b */
};

static struct edits check_hunks(struct str a, struct str b)
{
	owned_mem struct textdiff_hunk *hunks = NULL;
	owned_mem size_t *a_start = NULL;
	owned_mem size_t *b_start = NULL;
	owned(buf_release) struct buf made = BUF_INIT;
	size_t count = textdiff_hunks(a, b, &hunks);
	size_t a_count = line_starts(a, &a_start), b_count = line_starts(b, &b_start);
	struct edits edits = { .applies = true };
	size_t at = 0;

	for (size_t i = 0; i < count; i++) {
		const struct textdiff_hunk *hunk = &hunks[i];
		size_t a_end = hunk->a + hunk->a_len, b_end = hunk->b + hunk->b_len;

		if (hunk->a < at + (i > 0) || a_end > a_count || b_end > b_count ||
			!(hunk->a_len + hunk->b_len))
			return (struct edits){ .applies = false };
		buf_add(&made, a.ptr + a_start[at], a_start[hunk->a] - a_start[at]);
		buf_add(&made, b.ptr + b_start[hunk->b], b_start[b_end] - b_start[hunk->b]);
		at = a_end;
		edits.lines += hunk->a_len + hunk->b_len;
	}
	buf_add(&made, a.ptr + a_start[at], a.len - a_start[at]);
	edits.applies = str_eq(view(&made), b);
	return edits;
}

/* Returns the least number of lines to delete and insert, computed with the textbook table. */
static size_t least_edits(struct str a, struct str b)
{
	owned_mem size_t *a_start = NULL;
	owned_mem size_t *b_start = NULL;
	size_t a_count = line_starts(a, &a_start), b_count = line_starts(b, &b_start);
	owned_mem size_t *row = mem_alloc((b_count + 1) * sizeof(*row));

	for (size_t j = 0; j <= b_count; j++)
		row[j] = j;
	for (size_t i = 0; i < a_count; i++) {
		size_t corner = row[0];

		row[0] = i + 1;
		for (size_t j = 0; j < b_count; j++) {
			struct str x = { a.ptr + a_start[i], a_start[i + 1] - a_start[i] };
			struct str y = { b.ptr + b_start[j], b_start[j + 1] - b_start[j] };
			size_t above = row[j + 1];

			if (str_eq(x, y))
				row[j + 1] = corner;
			else
				row[j + 1] = 1 + (above < row[j] ? above : row[j]);
			corner = above;
		}
	}
	return row[b_count];
}

static void hunks_are_minimal_and_turn_a_into_b(void **state)
{
	for (uint64_t seed = 1; seed <= 3000; seed++) {
		uint64_t random = seed;
		owned(buf_release) struct buf a = BUF_INIT;
		owned(buf_release) struct buf b = BUF_INIT;
		size_t kinds = 1 + (size_t)next_random(&random) % 12;

		add_random_lines(&a, &random, next_random(&random) % 40, kinds);
		if (seed % 2)
			add_random_lines(&b, &random, next_random(&random) % 40, kinds);
		else
			add_edited(&b, view(&a), &random, kinds, 8);
		if (seed % 3 == 0 && a.len)
			buf_truncate(&a, a.len - 1);
		if (seed % 5 == 0 && b.len)
			buf_truncate(&b, b.len - 1);

		struct edits edits = check_hunks(view(&a), view(&b));

		if (!edits.applies)
			fail_msg("seed %lu: hunks do not turn a into b", (unsigned long)seed);
		if (edits.lines != least_edits(view(&a), view(&b)))
			fail_msg("seed %lu: %zu edits are not minimal", (unsigned long)seed,
				edits.lines);
	}
}

static void large_contents_with_few_edits_stay_minimal(void **state)
{
	for (uint64_t seed = 1; seed <= 5; seed++) {
		uint64_t random = seed;
		owned(buf_release) struct buf a = BUF_INIT;
		owned(buf_release) struct buf b = BUF_INIT;

		add_random_lines(&a, &random, 1500, 50);
		add_edited(&b, view(&a), &random, 50, 40);

		struct edits edits = check_hunks(view(&a), view(&b));

		if (!edits.applies || edits.lines != least_edits(view(&a), view(&b)))
			fail_msg("seed %lu", (unsigned long)seed);
	}
}

/*
 * There are far more edits than the limit, in lines that both sides have.  The result must be
 * correct, and must come soon.
 */
static void stays_correct_beyond_the_cost_cap(void **state)
{
	static const struct {
		size_t a, b;
		size_t kinds;
	} cases[] = {
		{ 20000, 20000, 1000 },
		{ 20000, 20000, 20000 },
		{ 30000, 30000, 2 },
		{ 30000, 40, 30 },
		{ 40, 30000, 30 },
		{ 30000, 3000, 30 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		uint64_t random = i + 1;
		owned(buf_release) struct buf a = BUF_INIT;
		owned(buf_release) struct buf b = BUF_INIT;

		add_random_lines(&a, &random, cases[i].a, cases[i].kinds);
		add_random_lines(&b, &random, cases[i].b, cases[i].kinds);
		if (!check_hunks(view(&a), view(&b)).applies)
			fail_msg("case %zu", i);
	}
}

/* The lines before and after the replaced block are still compared exactly. */
static void keeps_the_ends_exact_beyond_the_cost_cap(void **state)
{
	uint64_t random = 1;
	owned(buf_release) struct buf a = BUF_INIT;
	owned(buf_release) struct buf b = BUF_INIT;
	owned_mem struct textdiff_hunk *hunks = NULL;

	for (int i = 0; i < 5000; i++) {
		buf_addf(&a, "begin %d\n", i);
		buf_addf(&b, i == 10 ? "changed\n" : "begin %d\n", i);
	}
	add_random_lines(&a, &random, 20000, 5000);
	add_random_lines(&b, &random, 20000, 5000);
	for (int i = 0; i < 5000; i++) {
		buf_addf(&a, "end %d\n", i);
		buf_addf(&b, i == 4990 ? "changed\n" : "end %d\n", i);
	}
	size_t count = textdiff_hunks(view(&a), view(&b), &hunks);
	assert_true(count > 2);
	assert_memory_equal(&hunks[0], (&(struct textdiff_hunk){ 10, 1, 10, 1 }), sizeof(*hunks));
	assert_true(hunks[1].a >= 5000);
	assert_memory_equal(
		&hunks[count - 1], (&(struct textdiff_hunk){ 29990, 1, 29990, 1 }), sizeof(*hunks));
	assert_true(check_hunks(view(&a), view(&b)).applies);
}

static void tells_binary_by_a_nul_near_the_start(void **state)
{
	owned(buf_release) struct buf content = BUF_INIT;

	assert_false(textdiff_is_binary((struct str){ NULL, 0 }));
	assert_false(textdiff_is_binary(STR("text \xff\n")));
	assert_true(textdiff_is_binary(STR("a\0b")));
	for (int i = 0; i < 8191; i++)
		buf_addc(&content, 'x');
	buf_addc(&content, '\0');
	assert_true(textdiff_is_binary(view(&content)));
	content.data[8191] = 'x';
	buf_addc(&content, '\0');
	assert_false(textdiff_is_binary(view(&content)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prints_what_diff_prints),
		cmocka_unit_test(gives_hunks_by_line),
		cmocka_unit_test(gives_no_hunks_for_equal_contents),
		cmocka_unit_test(hunks_are_minimal_and_turn_a_into_b),
		cmocka_unit_test(large_contents_with_few_edits_stay_minimal),
		cmocka_unit_test(stays_correct_beyond_the_cost_cap),
		cmocka_unit_test(keeps_the_ends_exact_beyond_the_cost_cap),
		cmocka_unit_test(tells_binary_by_a_nul_near_the_start),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
