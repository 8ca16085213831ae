/* Tests of ref: the node that a user means by a reference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "history/ref.h"
#include "history_fixture.h"

#define START (INT64_C(1700000000) * WHEN_SECOND) /* 2023-11-14T22:13:20Z */
#define MINUTES(n) ((n)*60 * WHEN_SECOND)

struct reference {
	const char *text;
	int node; /* number of the node in past->id */
};

static void resolves(struct past *past, const char *text, const char *id)
{
	struct ref ref = { .work = true };
	struct err err = { 0 };

	if (ref_resolve(&past->history, "main", text, &ref, &err) < 0)
		fail_msg("'%s': %s", text, err.text);
	if (strcmp(ref.id, id))
		fail_msg("'%s' gives %s, not %s", text, ref.id, id);
	assert_false(ref.work);
}

static void fails(struct past *past, const char *text, enum err_code code, const char *says)
{
	struct ref ref = { .id = "untouched" };
	struct err err = { 0 };
	int r = ref_resolve(&past->history, "main", text, &ref, &err);

	if (r != -(int)code || err.code != code)
		fail_msg("'%s' gives %d (%s), not %d", text, r, r < 0 ? err.text : ref.id,
			-(int)code);
	if (!strstr(err.text, says))
		fail_msg("'%s' says \"%s\", not \"%s\"", text, err.text, says);
	assert_string_equal(ref.id, "untouched");
}

/*
 * Make the nodes 0 to 4, each made from the previous one, and node 5, made from node 2.  HEAD of
 * main is node 4.  The tag start is on node 0, and the tag rel/2.0 on node 2.
 */
static void some_history(struct past *past)
{
	past_line(past, 5, START);
	struct hash tree = past_tree(past, "side=1");
	past_add(past, past->id[2], &tree, START, NULL, past->id[5]);
	past_ok(past, history_tag_set(&past->history, "start", past->id[0], past_err(past)));
	past_ok(past, history_tag_set(&past->history, "rel/2.0", past->id[2], past_err(past)));
	past_clock(START + MINUTES(10));
}

static void names_tags_and_suffixes_lead_to_nodes(void **state)
{
	static const struct reference cases[] = {
		{ "HEAD", 4 },
		{ "@", 4 },
		{ "HEAD~0", 4 },
		{ "HEAD~", 3 },
		{ "HEAD^", 3 },
		{ "@~1", 3 },
		{ "@^^", 2 },
		{ "HEAD~2^", 1 },
		{ "HEAD^~2", 1 },
		{ "HEAD~1~1~1", 1 },
		{ "HEAD~4", 0 },
		{ "HEAD~00004", 0 },
		{ "start", 0 },
		{ "start~0", 0 },
		{ "rel/2.0", 2 },
		{ "rel/2.0^", 1 },
		{ "rel/2.0~2", 0 },
		{ "@{now}", 4 },
		{ "HEAD@{now}", 4 },
		{ "@{8 minutes ago}", 2 },
		{ "@{8 minutes ago}^", 1 },
		{ "@{8 minutes ago}~1^", 0 },
		{ "@{8m}", 2 },
		{ "@{2023-11-14T22:14:19.999Z}", 0 },
		{ "@{2023-11-14 22:14:20}", 1 },
		{ "@{@1700000180}", 3 },
		{ "@{2040-01-01}", 4 },
		{ "@{-0}", 4 },
		{ "@{-1}", 3 },
		{ "@{-4}", 0 },
		{ "@{-1}^", 2 },
		{ "HEAD@{-2}", 2 },
	};
	struct past *past = *state;

	some_history(past);
	for (size_t i = 0; i < COUNT(cases); i++)
		resolves(past, cases[i].text, past->id[cases[i].node]);
}

static void ids_and_their_prefixes_lead_to_nodes(void **state)
{
	struct past *past = *state;
	char text[40];

	some_history(past);
	for (int i = 0; i < 6; i++) {
		resolves(past, past->id[i], past->id[i]);
		snprintf(text, sizeof(text), "%.8s", past->id[i]);
		resolves(past, text, past->id[i]);
		for (char *p = text; *p; p++)
			*p = (char)(*p >= 'a' && *p <= 'f' ? *p - 'a' + 'A' : *p);
		resolves(past, text, past->id[i]);
	}
	snprintf(text, sizeof(text), "%s^", past->id[5]);
	resolves(past, text, past->id[2]);
}

/* Give a node another id.  References to the node are not changed. */
static void rename_node(struct past *past, const char *from, const char *to)
{
	past_sql(past, "UPDATE node SET id = '%s' WHERE id = '%s'", to, from);
}

static void an_ambiguous_prefix_lists_the_candidates(void **state)
{
	struct past *past = *state;
	char id[NODE_ID];

	past_line(past, 12, START);
	rename_node(past, past->id[1], "cafe00000001");
	rename_node(past, past->id[2], "cafe00000002");
	fails(past, "cafe", ERR_INVALID, "'cafe' is ambiguous: cafe00000001, cafe00000002");
	fails(past, "cafe0000000", ERR_INVALID, "cafe00000001, cafe00000002");
	fails(past, "CAFE~1", ERR_INVALID, "cafe00000001, cafe00000002");
	resolves(past, "cafe00000002", "cafe00000002");
	for (int i = 3; i < 11; i++) {
		snprintf(id, sizeof(id), "cafe0000000%x", i);
		rename_node(past, past->id[i], id);
	}
	fails(past, "cafe", ERR_INVALID, "cafe00000007, cafe00000008, and more");
	/* a tag takes precedence over an id */
	past_ok(past, history_tag_set(&past->history, "cafe", past->id[0], past_err(past)));
	resolves(past, "cafe", past->id[0]);
}

static void what_names_nothing_says_why(void **state)
{
	static const struct {
		const char *text;
		enum err_code code;
		const char *says;
	} cases[] = {
		{ "", ERR_INVALID, "does not name a node" },
		{ "~1", ERR_INVALID, "does not name a node" },
		{ "nope", ERR_NOT_FOUND, "no node or tag 'nope'" },
		{ "nope~1", ERR_NOT_FOUND, "no node or tag 'nope'" },
		{ "rel/2", ERR_NOT_FOUND, "no node or tag" },
		{ "abc", ERR_NOT_FOUND, "at least 4 digits" },
		{ "1", ERR_NOT_FOUND, "at least 4 digits" },
		{ "0123456789abc", ERR_NOT_FOUND, "no node or tag" },
		{ "HEAD~5", ERR_NOT_FOUND, "'HEAD' has only 4 ancestors" },
		{ "HEAD~3^^", ERR_NOT_FOUND, "'HEAD~3^' has only 0 ancestors" },
		{ "HEAD~3~2", ERR_NOT_FOUND, "'HEAD~3' has only 1 ancestor" },
		{ "start^", ERR_NOT_FOUND, "'start' has only 0 ancestors" },
		{ "@{now}~99999999999999999999999", ERR_NOT_FOUND, "has only 4 ancestors" },
		{ "HEAD^2", ERR_INVALID, "'2' is no part of a reference" },
		{ "HEAD~x", ERR_INVALID, "'x' is no part" },
		{ "@{now}x", ERR_INVALID, "'x' is no part" },
		{ "@{now", ERR_INVALID, "closing" },
		{ "@{}", ERR_INVALID, "not a time" },
		{ "@{some day}", ERR_INVALID, "not a time" },
		{ "@{-x}", ERR_INVALID, "not a time" },
		{ "@{-5}", ERR_NOT_FOUND, "only 4 times" },
		{ "@{-99999999999999999999}", ERR_NOT_FOUND, "only 4 times" },
		{ "@{1 year ago}", ERR_NOT_FOUND, "the history starts 2023-11-14T22:13:20Z" },
		{ "@{2023-11-14T22:13:19Z}^", ERR_NOT_FOUND, "the history starts" },
		{ "work~1", ERR_INVALID, "no ancestors" },
		{ "work^", ERR_INVALID, "no ancestors" },
	};
	struct past *past = *state;

	some_history(past);
	for (size_t i = 0; i < COUNT(cases); i++)
		fails(past, cases[i].text, cases[i].code, cases[i].says);
	char text[1000];
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	fails(past, text, ERR_NOT_FOUND, "no node or tag 'xxx");
	memcpy(text, "@{", 2);
	fails(past, text, ERR_INVALID, "closing");
	text[900] = '}';
	fails(past, text, ERR_INVALID, "not a time");
}

static void a_deleted_node_is_told_from_one_that_never_was(void **state)
{
	struct past *past = *state;
	char says[80], text[40];

	some_history(past);
	past_ok(past, history_delete(&past->history, past->id[3], past_err(past)));
	snprintf(says, sizeof(says), "node %s was deleted", past->id[3]);
	fails(past, past->id[3], ERR_NOT_FOUND, says);
	snprintf(text, sizeof(text), "%.8s~1", past->id[3]);
	fails(past, text, ERR_NOT_FOUND, says);
	fails(past, "@{-1}", ERR_NOT_FOUND, says);
	resolves(past, "HEAD^", past->id[2]);
	resolves(past, "@{7 minutes ago}", past->id[2]);
	for (int i = 1; i < 3; i++) {
		past_sql(past, "DELETE FROM tag");
		past_ok(past, history_delete(&past->history, past->id[i], past_err(past)));
	}
	past_ok(past, history_delete(&past->history, past->id[0], past_err(past)));
	fails(past, "@{8 minutes ago}", ERR_NOT_FOUND, "is deleted");
}

static void the_live_tree_is_work(void **state)
{
	struct past *past = *state;
	struct err err = { 0 };
	struct ref ref = { 0 };

	some_history(past);
	past_ok(past, ref_resolve(&past->history, "main", "work", &ref, past_err(past)));
	assert_true(ref.work);
	assert_string_equal(ref.id, past->id[4]);
	assert_int_equal(ref_resolve(&past->history, "none", "work", &ref, &err), -ERR_NOT_FOUND);
	assert_int_equal(ref_resolve(&past->history, "none", "HEAD", &ref, &err), -ERR_NOT_FOUND);
	assert_int_equal(ref_resolve(&past->history, "none", "@{now}", &ref, &err), -ERR_NOT_FOUND);
	assert_int_equal(ref_resolve(&past->history, "none", "@{-1}", &ref, &err), -ERR_NOT_FOUND);
	past_ok(past, ref_resolve(&past->history, "none", "start", &ref, past_err(past)));
}

static void a_colon_parts_reference_and_path(void **state)
{
	static const struct {
		const char *text, *ref, *path;
	} cases[] = {
		{ "", "", "" },
		{ "HEAD", "HEAD", "" },
		{ "HEAD:", "HEAD", "" },
		{ "HEAD:a/b", "HEAD", "a/b" },
		{ ":a", "", "a" },
		{ "v1:a:b", "v1", "a:b" },
		{ "@{12:30}", "@{12:30}", "" },
		{ "@{2023-01-01 12:30}:a:b", "@{2023-01-01 12:30}", "a:b" },
		{ "@{12:30}~2:a@{x:y}", "@{12:30}~2", "a@{x:y}" },
		{ "@{12:30", "@{12:30", "" },
		{ "{a:b}", "{a", "b}" },
		{ "work:x", "work", "x" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct str ref, path;

		ref_split(str_of(cases[i].text), &ref, &path);
		if (!str_eq(ref, str_of(cases[i].ref)) || !str_eq(path, str_of(cases[i].path)))
			fail_msg("'%s' is parted as '%.*s' and '%.*s'", cases[i].text, (int)ref.len,
				ref.ptr, (int)path.len, path.ptr);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		past_test(names_tags_and_suffixes_lead_to_nodes),
		past_test(ids_and_their_prefixes_lead_to_nodes),
		past_test(an_ambiguous_prefix_lists_the_candidates),
		past_test(what_names_nothing_says_why),
		past_test(a_deleted_node_is_told_from_one_that_never_was),
		past_test(the_live_tree_is_work),
		cmocka_unit_test(a_colon_parts_reference_and_path),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
