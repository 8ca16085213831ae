/* lineage: the versions of a path over the snapshots, and the author of each line of a file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "query/lineage.h"
#include "query/strata.h"

#include "history_fixture.h"
#include "tree_fixture.h"

#define START (1000 * WHEN_SECOND)
#define MINUTE (60 * WHEN_SECOND)

/* Make nodes in one line of descent, one for each tree.  The workspace main is at the last node. */
static void tell_history(struct past *past, const char *const *trees, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct hash tree = tree_of(past->fixture, trees[i]);

		past_add(past, i ? past->id[i - 1] : "", &tree, START + (int64_t)i * MINUTE,
			i ? "main" : NULL, past->id[i]);
		if (!i)
			past_workspace(past, "main", past->id[0]);
	}
}

static int number_of(struct past *past, const char *id)
{
	for (int i = 0; i < 64; i++)
		if (!strcmp(past->id[i], id))
			return i;
	return -1;
}

/* --- versions --- */

struct heard {
	struct past *past;
	struct buf text;
	int stop_at;
	int answer;
};

/*
 * Append a version to the text, in the form "0+ 2* 3-": the path was added, changed and removed.
 * "=" means that all is the same.
 */
static int hear(void *arg, const struct lineage_version *version, struct err *err)
{
	struct heard *heard = arg;
	int n = number_of(heard->past, version->snapshot->name);
	char sign = !version->changed    ? '='
		    : !version->present  ? '-'
		    : !version->previous ? '+'
					 : '*';

	assert_int_equal(version->snapshot->creation, START + n * MINUTE);
	assert_int_equal(version->entry != NULL, version->present);
	buf_addf(&heard->text, "%s%d%c", heard->text.len ? " " : "", n, sign);
	if (heard->stop_at != n)
		return 0;
	return heard->answer < 0 ? err_set(err, ERR_LIMIT, "enough") : heard->answer;
}

static void assert_versions(
	struct past *past, const char *from, const char *path, const char *versions)
{
	struct heard heard = { .past = past, .text = BUF_INIT, .stop_at = -1 };
	struct strata_provider provider;

	buf_adds(&heard.text, "");
	strata_provider_init(&provider, &past->history, from);
	past_ok(past, lineage_run(&provider.provider, str_of(path), hear, &heard, past_err(past)));
	assert_string_equal(heard.text.data, versions);
	buf_release(&heard.text);
}

static const char *const story[] = {
	/* 0 */ "b=1",
	/* 1 */ "a=one b=1",
	/* 2 */ "a=one b=2",
	/* 3 */ "a=two b=2 d/e/x=1",
	/* 4 */ "a=two,m0600 b=2 d/e/x=1",
	/* 5 */ "b=2 d/e/x=1",
	/* 6 */ "b=2 d/e/x=1,t5",
	/* 7 */ "a=two,m0600 b=2 d/e/y=2",
	/* 8 */ "a/ a/x=1 b=2 d/e/y=2",
	/* 9 */ "a/ a/x=2 b=2 d/e/y=2",
	/* 10 */ "a@b b=2 d/e/x=1",
};

static void tells_when_a_path_came_changed_and_went(void **state)
{
	struct past *past = *state;
	static const struct {
		const char *path, *versions;
	} cases[] = {
		{ "a", "1+ 3* 4* 5- 7+ 8* 9* 10*" },
		{ "b", "0+ 2*" },
		{ "d/e/x", "3+ 6* 7- 10+" },
		{ "d/e/y", "7+ 10-" },
		{ "d/e", "3+ 6* 7* 10*" },
		{ "a/x", "8+ 9* 10-" },
		{ "nothing", "" },
		{ "b/x", "" },
		{ "", "0+ 1* 2* 3* 4* 5* 6* 7* 8* 9* 10*" },
	};

	tell_history(past, story, COUNT(story));
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_versions(past, NULL, cases[i].path, cases[i].versions);
		assert_versions(past, past->id[COUNT(story) - 1], cases[i].path, cases[i].versions);
	}
	/* Only the ancestors of a node are searched. */
	assert_versions(past, past->id[4], "a", "1+ 3* 4*");
	assert_versions(past, past->id[0], "a", "");
}

static void only_one_branch_counts_when_asked_for_it(void **state)
{
	struct past *past = *state;
	static const char *const trees[] = { "a=1", "a=2" };

	tell_history(past, trees, 2);
	struct hash other = tree_of(past->fixture, "a=3");
	past_add(past, past->id[0], &other, START + 2 * MINUTE, NULL, past->id[2]);
	assert_versions(past, past->id[1], "a", "0+ 1*");
	assert_versions(past, past->id[2], "a", "0+ 2*");
	assert_versions(past, NULL, "a", "0+ 1* 2*");
}

static void tells_of_every_snapshot_when_asked(void **state)
{
	struct past *past = *state;
	struct heard heard = { .past = past, .text = BUF_INIT, .stop_at = -1 };
	struct strata_provider provider;

	tell_history(past, story, 7);
	strata_provider_init(&provider, &past->history, NULL);
	past_ok(past,
		lineage_each(&provider.provider, STR("a"), NULL, hear, &heard, past_err(past)));
	assert_string_equal(heard.text.data, "0= 1+ 2= 3* 4* 5- 6=");
	buf_release(&heard.text);
}

static void stops_when_told_to(void **state)
{
	struct past *past = *state;
	struct strata_provider provider;

	tell_history(past, story, COUNT(story));
	strata_provider_init(&provider, &past->history, NULL);
	for (int answer = -1; answer <= 1; answer += 2) {
		struct heard heard = {
			.past = past, .text = BUF_INIT, .stop_at = 4, .answer = answer
		};

		assert_int_equal(
			lineage_run(&provider.provider, STR("a"), hear, &heard, past_err(past)),
			answer < 0 ? -ERR_LIMIT : 0);
		assert_string_equal(heard.text.data, "1+ 3* 4*");
		buf_release(&heard.text);
	}
}

static void paths_that_lead_out_are_refused(void **state)
{
	struct past *past = *state;
	struct heard heard = { .past = past, .text = BUF_INIT, .stop_at = -1 };
	struct strata_provider provider;

	tell_history(past, story, 2);
	strata_provider_init(&provider, &past->history, NULL);
	assert_int_equal(lineage_run(&provider.provider, STR("../a"), hear, &heard, past_err(past)),
		-ERR_INVALID);
	buf_release(&heard.text);
}

/* --- blame --- */

static int blamed(void *arg, const struct lineage_line *line, struct err *err)
{
	struct heard *heard = arg;
	int n = number_of(heard->past, line->snapshot);

	assert_int_equal(line->creation, START + n * MINUTE);
	buf_addf(&heard->text, "%d:%d:", (int)line->line, n);
	buf_add(&heard->text, line->text.ptr, line->text.len);
	buf_addc(&heard->text, '\n');
	if (heard->stop_at != (int)line->line)
		return 0;
	return heard->answer < 0 ? err_set(err, ERR_LIMIT, "enough") : heard->answer;
}

static void assert_blame(struct past *past, const char *from, const char *path, const char *lines)
{
	struct heard heard = { .past = past, .text = BUF_INIT, .stop_at = -1 };
	struct strata_provider provider;

	buf_adds(&heard.text, "");
	strata_provider_init(&provider, &past->history, from);
	past_ok(past,
		lineage_blame(&provider.provider, str_of(path), blamed, &heard, past_err(past)));
	assert_string_equal(heard.text.data, lines);
	buf_release(&heard.text);
}

static void every_line_is_of_who_wrote_it(void **state)
{
	struct past *past = *state;
	static const char *const trees[] = {
		/* 0 */ "f=a\nb\nc\n",
		/* 1 */ "f=a\nB\nc\n",
		/* 2 */ "f=a\nB\nc\n,m0600,t9",
		/* 3 */ "f=first\na\nB\nc\nlast",
		/* 4 */ "f=first\na\nB\nlast",
		/* 5 */ "f=last\nfirst\na\nB\nc\n",
	};

	tell_history(past, trees, COUNT(trees));
	assert_blame(past, past->id[0], "f", "1:0:a\n2:0:b\n3:0:c\n");
	assert_blame(past, past->id[1], "f", "1:0:a\n2:1:B\n3:0:c\n");
	assert_blame(past, past->id[2], "f", "1:0:a\n2:1:B\n3:0:c\n");
	assert_blame(past, past->id[3], "f", "1:3:first\n2:0:a\n3:1:B\n4:0:c\n5:3:last\n");
	assert_blame(past, past->id[4], "f", "1:3:first\n2:0:a\n3:1:B\n4:3:last\n");
	assert_blame(past, NULL, "f", "1:5:last\n2:3:first\n3:0:a\n4:1:B\n5:5:c\n");
}

static void a_file_that_came_back_is_of_who_brought_it(void **state)
{
	struct past *past = *state;
	static const char *const trees[] = {
		/* 0 */ "f=a\nb\n g=1",
		/* 1 */ "g=1",
		/* 2 */ "f=a\nb\n g=1",
		/* 3 */ "f=a\nb\nc\n g=1",
		/* 4 */ "f@a g=1",
		/* 5 */ "f=a\nb\nc\n g=1",
		/* 6 */ "f= g=1",
		/* 7 */ "f=a\n g=1",
	};

	tell_history(past, trees, COUNT(trees));
	assert_blame(past, past->id[0], "f", "1:0:a\n2:0:b\n");
	assert_blame(past, past->id[1], "f", "");
	assert_blame(past, past->id[2], "f", "1:2:a\n2:2:b\n");
	assert_blame(past, past->id[3], "f", "1:2:a\n2:2:b\n3:3:c\n");
	assert_blame(past, past->id[4], "f", "");
	assert_blame(past, past->id[5], "f", "1:5:a\n2:5:b\n3:5:c\n");
	assert_blame(past, past->id[6], "f", "");
	assert_blame(past, past->id[7], "f", "1:7:a\n");
}

static void there_are_lines_only_in_text(void **state)
{
	struct past *past = *state;
	struct entry binary = built_file(past->fixture, "binary", "");
	static const char *const trees[] = { "d/x=1 e= l@x u!" };

	tell_history(past, trees, 1);
	static const char *const paths[] = { "d", "e", "l", "u", "nothing", "" };
	for (size_t i = 0; i < COUNT(paths); i++)
		assert_blame(past, NULL, paths[i], "");
	binary.size = 4;
	binary.content = ENTRY_BLOB;
	binary.hash = fixture_put(past->fixture, "a\0\nb", 4);
	struct hash tree = built_tree(past->fixture, &binary, 1);
	past_add(past, past->id[0], &tree, START + MINUTE, "main", past->id[1]);
	assert_blame(past, NULL, "binary", "");
	assert_blame(past, NULL, "d/x", "");
	assert_blame(past, past->id[0], "d/x", "1:0:1\n");
}

/*
 * Lines are added and removed at random, and the results are compared with a record that is kept
 * here.
 */
static void agrees_with_a_plain_account(void **state)
{
	enum { VERSIONS = 40, LINES_MAX = 60 };
	struct past *past = *state;
	struct line {
		int text, origin;
	} lines[LINES_MAX + 1];
	size_t n = 0;
	int next = 0;
	uint64_t x = 99;
	owned(buf_release) struct buf want = BUF_INIT;

	for (int v = 0; v < VERSIONS; v++) {
		owned(buf_release) struct buf words = BUF_INIT;

		for (int edits = 0; edits < 3; edits++) {
			x = x * 6364136223846793005u + 1442695040888963407u;
			size_t at = n ? (size_t)(x >> 40) % n : 0;

			if (x >> 63 && n > 5) {
				memmove(&lines[at], &lines[at + 1], (n - at - 1) * sizeof(*lines));
				n--;
			} else if (n < LINES_MAX) {
				memmove(&lines[at + 1], &lines[at], (n - at) * sizeof(*lines));
				lines[at] = (struct line){ next++, v };
				n++;
			}
		}
		buf_adds(&words, "f=");
		for (size_t i = 0; i < n; i++)
			buf_addf(&words, "line-%d\n", lines[i].text);
		struct hash tree = tree_of(past->fixture, words.data);
		past_add(past, v ? past->id[v - 1] : "", &tree, START + v * MINUTE,
			v ? "main" : NULL, past->id[v]);
		if (!v)
			past_workspace(past, "main", past->id[0]);
	}
	/* All lines are different, so there is only one right answer. */
	for (size_t i = 0; i < n; i++)
		buf_addf(&want, "%zu:%d:line-%d\n", i + 1, lines[i].origin, lines[i].text);
	assert_blame(past, NULL, "f", want.data);
}

static void telling_lines_stops_when_told_to(void **state)
{
	struct past *past = *state;
	static const char *const trees[] = { "f=a\nb\nc\n" };
	struct strata_provider provider;

	tell_history(past, trees, 1);
	strata_provider_init(&provider, &past->history, NULL);
	for (int answer = -1; answer <= 1; answer += 2) {
		struct heard heard = {
			.past = past, .text = BUF_INIT, .stop_at = 2, .answer = answer
		};

		assert_int_equal(
			lineage_blame(&provider.provider, STR("f"), blamed, &heard, past_err(past)),
			answer < 0 ? -ERR_LIMIT : 0);
		assert_string_equal(heard.text.data, "1:0:a\n2:0:b\n");
		buf_release(&heard.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		past_test(tells_when_a_path_came_changed_and_went),
		past_test(only_one_branch_counts_when_asked_for_it),
		past_test(tells_of_every_snapshot_when_asked),
		past_test(stops_when_told_to),
		past_test(paths_that_lead_out_are_refused),
		past_test(every_line_is_of_who_wrote_it),
		past_test(a_file_that_came_back_is_of_who_brought_it),
		past_test(there_are_lines_only_in_text),
		past_test(agrees_with_a_plain_account),
		past_test(telling_lines_stops_when_told_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
