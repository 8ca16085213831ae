/*
 * treediff: each difference is reported once, in order, and only the necessary parts of the trees
 * are read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tree/treediff.h"

#include "tree_fixture.h"

/* --- reporting --- */

static int tell(void *arg, const struct treediff_change *change, struct err *err)
{
	struct buf *out = arg;
	const char *between = " ";

	buf_addc(out, change->op);
	buf_addc(out, ' ');
	buf_add(out, change->path.ptr, change->path.len);
	if (!change->path.len)
		buf_addc(out, '.');
	if (change->op == 'R') {
		buf_adds(out, ">");
		buf_add(out, change->new_path.ptr, change->new_path.len);
	}
	for (size_t i = 0; i < TREEDIFF_WHATS; i++) {
		if (!(change->what & 1u << i))
			continue;
		buf_addf(out, "%s%s", between, treediff_what_name(1u << i));
		between = ",";
	}
	buf_addc(out, '\n');
	assert_int_equal(change->a == NULL, change->op == '+');
	assert_int_equal(change->b == NULL, change->op == '-');
	return 0;
}

struct diff_case {
	const char *before, *after, *changes;
};

static void assert_changes(struct fixture *fixture, const struct diff_case *c, bool renames,
	const struct str *paths, size_t n_paths)
{
	owned(buf_release) struct buf out = BUF_INIT;
	struct treediff_options options = { paths, n_paths, renames };
	struct treediff_counts counts = { 0 }, want = { 0 };
	struct hash a = tree_of(fixture, c->before), b = tree_of(fixture, c->after);

	buf_adds(&out, "");
	assert_ok(fixture,
		treediff_run(fixture->store, &a, &b, &options, tell, &out, &counts, &fixture->err));
	assert_string_equal(out.data, c->changes);
	for (const char *line = out.data; *line; line = strchr(line, '\n') + 1) {
		want.added += *line == '+';
		want.deleted += *line == '-';
		want.renamed += *line == 'R';
		want.modified += *line == 'M' || *line == 'T';
	}
	assert_memory_equal(&counts, &want, sizeof(counts));
	/* Counting without reporting gives the same numbers. */
	counts = (struct treediff_counts){ 0 };
	assert_ok(fixture,
		treediff_run(fixture->store, &a, &b, &options, NULL, NULL, &counts, &fixture->err));
	assert_memory_equal(&counts, &want, sizeof(counts));
}

static void assert_cases(
	struct fixture *fixture, const struct diff_case *cases, size_t n, bool renames)
{
	for (size_t i = 0; i < n; i++)
		assert_changes(fixture, &cases[i], renames, NULL, 0);
}

/* --- cases --- */

static void tells_what_came_and_went(void **state)
{
	static const struct diff_case cases[] = {
		{ "", "", "" },
		{ "a=1 d/x=2", "a=1 d/x=2", "" },
		{ "", "a=1", "+ a\n" },
		{ "a=1", "", "- a\n" },
		{ "b=1", "a=2 b=1 c=3", "+ a\n+ c\n" },
		{ "a=2 b=1 c=3", "b=1", "- a\n- c\n" },
		{ "a=1", "b=2", "- a\n+ b\n" },
		{ "", "d/", "+ d\n" },
		{ "d/", "", "- d\n" },
		{ "d/x=1", "d/x=1 d/y=2", "+ d/y\n" },
		{ "", "d/e/x=1 d/y=2 z=3", "+ d\n+ d/e\n+ d/e/x\n+ d/y\n+ z\n" },
		{ "d/e/x=1 d/y=2 z=3", "z=3", "- d\n- d/e\n- d/e/x\n- d/y\n" },
		{ "", "e/! f! l@there p|", "+ e\n+ f\n+ l\n+ p\n" },
		/*
		 * Names are compared as bytes, so a directory is sorted by its name without a
		 * slash.
		 */
		{ "", "a/x=2 a-b=1 a0=3", "+ a\n+ a/x\n+ a-b\n+ a0\n" },
		{ "d/a=1 d/c=3 e/m=5", "d/a=1 d/b=2 e/", "+ d/b\n- d/c\n- e/m\n" },
	};

	assert_cases(*state, cases, COUNT(cases), false);
}

static void tells_what_is_different_about_an_entry(void **state)
{
	static const struct diff_case cases[] = {
		{ "a=1", "a=2", "M a content\n" },
		{ "a=1", "a=", "M a content\n" },
		{ "a=1", "a!", "M a content\n" },
		{ "a=1", "a=1,m0600", "M a mode\n" },
		{ "a=1", "a=1,u7", "M a owner\n" },
		{ "a=1", "a=1,t5", "M a mtime\n" },
		{ "a=1", "a=1,xV", "M a xattr\n" },
		{ "a=1,xV", "a=1,xW", "M a xattr\n" },
		{ "a=1", "a=1,h9", "M a link\n" },
		{ "a=1", "a=2,m0600,u7,t5,xV,h9", "M a content,mode,owner,mtime,xattr,link\n" },
		{ "l@x", "l@y", "M l target\n" },
		{ "l@x", "l@x,t5", "M l mtime\n" },
		{ "p|", "p|,m0600", "M p mode\n" },
		{ "d/ d/x=1", "d/,m0700 d/x=1", "M d mode\n" },
		{ "d/ d/x=1", "d/,m0700 d/x=2", "M d mode\nM d/x content\n" },
		{ "d/x=1", "d/x=2", "M d/x content\n" },
		{ "d/!", "d/", "M d content\n" },
		/*
		 * Entries of a directory that could not be read count neither as deleted nor as
		 * added.
		 */
		{ "d/e/y=2 d/x=1", "d/!", "M d content\n" },
		{ "d/!", "d/e/y=2 d/x=1", "M d content\n" },
		{ "d/x=1", "d/!,m0 y=1", "M d content,mode\n+ y\n" },
		{ "/,m0755 a=1", "/,m0700 a=1", "M . mode\n" },
		{ "/,t1 a=1", "/,t2,xV a=1", "M . mtime,xattr\n" },
	};

	assert_cases(*state, cases, COUNT(cases), false);
	assert_cases(*state, cases, COUNT(cases), true);
	assert_string_equal(treediff_what_name(3), "unknown");
	assert_string_equal(treediff_what_name(1u << TREEDIFF_WHATS), "unknown");
}

static void tells_when_a_thing_became_another(void **state)
{
	static const struct diff_case cases[] = {
		{ "a=1", "a@1", "T a mode,type\n" },
		{ "a=1", "a|", "T a type\n" },
		{ "a@x", "a/", "T a mode,type\n" },
		{ "a=1", "a/ a/x=2", "T a mode,type\n+ a/x\n" },
		{ "a/x=2 a/y/z=3", "a=1", "T a mode,type\n- a/x\n- a/y\n- a/y/z\n" },
		{ "a=1,m0755 b/x=1", "a/x=1 b=1,m0755", "T a type\n+ a/x\nT b type\n- b/x\n" },
	};

	assert_cases(*state, cases, COUNT(cases), false);
}

static void a_time_alone_is_told_of_a_directory_only_when_nothing_explains_it(void **state)
{
	static const struct diff_case cases[] = {
		{ "d/,t1 d/x=1", "d/,t2 d/x=1", "M d mtime\n" },
		{ "d/,t1", "d/,t2", "M d mtime\n" },
		{ "d/,t1 d/x=1", "d/,t2 d/x=1 d/y=2", "+ d/y\n" },
		{ "d/,t1 d/x=1", "d/,t2", "- d/x\n" },
		{ "d/,t1 d/x=1", "d/,t2 d/x=2", "M d/x content\n" },
		{ "d/,t1 d/x=1", "d/,t2 d/x@1", "T d/x mode,type\n" },
		/* Changes further down do not concern the directory. */
		{ "d/,t1 d/s/x=1", "d/,t2 d/s/x=2", "M d mtime\nM d/s/x content\n" },
		{ "d/,t1 d/s/,t1 d/s/x=1", "d/,t1 d/s/,t2 d/s/y=1", "- d/s/x\n+ d/s/y\n" },
		/* The mtime is not hidden if another attribute has changed, too. */
		{ "d/,t1 d/x=1", "d/,t2,m0700 d/x=2", "M d mode,mtime\nM d/x content\n" },
		{ "/,t1 a=1", "/,t2 b=2", "- a\n+ b\n" },
		{ "/,t1 a=1", "/,t2 a=1", "M . mtime\n" },
	};

	assert_cases(*state, cases, COUNT(cases), false);
}

static void finds_renames(void **state)
{
	static const struct diff_case cases[] = {
		{ "a=one", "b=one", "R a>b\n" },
		{ "b=one", "a=one", "R b>a\n" },
		{ "a=one", "b=one,m0600,t5", "R a>b mode,mtime\n" },
		{ "a=one", "b=two", "- a\n+ b\n" },
		{ "a=one", "d/e/b=one", "+ d\n+ d/e\nR a>d/e/b\n" },
		{ "d/a=one", "a=one", "R d/a>a\n- d\n" },
		/* Empty files and directories are never renames. */
		{ "a=", "b=", "- a\n+ b\n" },
		{ "d/", "e/", "- d\n+ e\n" },
		{ "a!", "b!", "- a\n+ b\n" },
		{ "a@x", "b@x", "- a\n+ b\n" },
		/* A copy is no rename, and neither is a file that stays. */
		{ "a=one", "a=one b=one", "+ b\n" },
		{ "a=one b=one", "a=one c=one", "R b>c\n" },
		/* Files with equal content are paired in path order. */
		{ "a=one b=one", "x=one y=one", "R a>x\nR b>y\n" },
		{ "a=one b=one", "x=one", "- b\nR a>x\n" },
		{ "a=one", "x=one y=one", "R a>x\n+ y\n" },
		/* A file and a directory never match. */
		{ "a=one", "b/", "- a\n+ b\n" },
		/* Link groups change with the names, which is not reported for a rename. */
		{ "a=one,h5", "b=one,h6", "R a>b\n" },
	};

	assert_cases(*state, cases, COUNT(cases), true);
	static const struct diff_case off = { "a=one", "b=one", "- a\n+ b\n" };
	assert_changes(*state, &off, false, NULL, 0);
}

static void finds_renamed_directories_whole(void **state)
{
	static const struct diff_case cases[] = {
		{ "d/x=1 d/y/z=2", "e/x=1 e/y/z=2", "R d>e\n" },
		{ "d/,m0700 d/x=1", "e/,m0755 e/x=1", "R d>e mode\n" },
		{ "d/s/x=1", "s/x=1", "- d\nR d/s>s\n" },
		/* The outermost directory with equal content is paired. */
		{ "d/s/t/x=1 d/y=2", "e/s/t/x=1 e/y=3", "- d\n- d/y\n+ e\nR d/s>e/s\n+ e/y\n" },
		/*
		 * These directories have different content, so their files are paired one by one.
		 */
		{ "d/a=1 d/b=2", "e/a=1 e/b=2 e/c=3", "- d\n+ e\nR d/a>e/a\nR d/b>e/b\n+ e/c\n" },
		{ "d/x=1 x=1", "e/x=1", "R d>e\n- x\n" },
	};

	assert_cases(*state, cases, COUNT(cases), true);
}

static void tells_only_what_was_asked_for(void **state)
{
	static const struct {
		const char *paths[3];
		const char *changes;
	} cases[] = {
		{ { "" },
			"M a content\n+ b\nM d mode\n- d/gone\nM d/s/x content\nM dd/x content\n" },
		{ { "a" }, "M a content\n" },
		{ { "d" }, "M d mode\n- d/gone\nM d/s/x content\n" },
		{ { "d/s" }, "M d/s/x content\n" },
		{ { "d/s/x", "a" }, "M a content\nM d/s/x content\n" },
		{ { "d/gone", "b", "nothing" }, "+ b\n- d/gone\n" },
		{ { "d/s/x/y" }, "" },
		{ { "nothing" }, "" },
		{ { "dd" }, "M dd/x content\n" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct diff_case c = { "a=1 d/ d/gone=1 d/s/x=1 dd/x=1",
			"a=2 b=9 d/,m0700 d/s/x=2 dd/x=2", cases[i].changes };
		struct str paths[3];
		size_t n = 0;

		while (n < 3 && cases[i].paths[n]) {
			paths[n] = str_of(cases[i].paths[n]);
			n++;
		}
		assert_changes(*state, &c, false, paths, n);
	}
	/* A file that comes from outside the selected paths counts as added. */
	struct diff_case c = { "a=one", "d/a=one", "+ d\n+ d/a\n" };
	assert_changes(*state, &c, true, &STR("d"), 1);
}

static int stop_at_second(void *arg, const struct treediff_change *change, struct err *err)
{
	int *n = arg;

	return ++*n == 2 ? err_set(err, ERR_LIMIT, "enough") : 0;
}

static void stops_when_told_to(void **state)
{
	struct fixture *fixture = *state;
	struct hash a = tree_of(fixture, ""), b = tree_of(fixture, "a=1 b=2 d/c=3");

	for (int renames = 0; renames < 2; renames++) {
		struct treediff_options options = { .renames = renames };
		int n = 0;

		assert_int_equal(treediff_run(fixture->store, &a, &b, &options, stop_at_second, &n,
					 NULL, &fixture->err),
			-ERR_LIMIT);
		assert_int_equal(n, 2);
	}
}

/* --- nodes that are read --- */

static void forget(struct fixture *fixture, const struct hash *tree, const char *path)
{
	struct entry entry = tree_entry(fixture, tree, path);
	char hex[HASH_HEX], sql[200];

	snprintf(sql, sizeof(sql), "DELETE FROM fresh WHERE hash = x'%s'",
		hash_hex(&entry.hash, hex));
	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	assert_ok(fixture, db_exec(fixture->db, sql, &fixture->err));
}

static void does_not_read_what_is_equal(void **state)
{
	struct fixture *fixture = *state;
	owned(buf_release) struct buf out = BUF_INIT;
	struct treediff_options options = { .renames = true };
	struct hash a = tree_of(fixture, "a=1 d/x=1 same/a=1 same/b/c=2 z=1");
	struct hash b = tree_of(fixture, "a=1 d/x=2 same/a=1 same/b/c=2 z=1");

	/* Remove the nodes and contents that must not be read. */
	forget(fixture, &a, "same/b");
	forget(fixture, &a, "same");
	forget(fixture, &a, "d/x");
	forget(fixture, &b, "d/x");
	fixture_reopen(fixture);
	assert_ok(fixture,
		treediff_run(fixture->store, &a, &b, &options, tell, &out, NULL, &fixture->err));
	assert_string_equal(out.data, "M d/x content\n");
	/* Two equal trees are not read at all. */
	struct hash nowhere;
	hash_of("x", 1, &nowhere);
	assert_ok(fixture, treediff_run(fixture->store, &nowhere, &nowhere, &options, tell, &out,
				   NULL, &fixture->err));
}

/*
 * In a directory of many nodes, only the different nodes are read.  The test removes each node in
 * turn.
 */
static void reads_little_of_a_large_directory(void **state)
{
	enum { N = 20000 };
	struct fixture *fixture = *state;
	struct entry *entries = mem_zalloc(N * sizeof(*entries));
	char(*names)[16] = mem_alloc(N * sizeof(*names));
	struct treediff_options options = { 0 };
	int needed = 0;

	for (size_t i = 0; i < N; i++) {
		snprintf(names[i], sizeof(names[i]), "%08zu", i);
		entries[i] = built_file(fixture, names[i], "");
	}
	struct hash a = built_tree(fixture, entries, N);
	entries[N / 2].mode = 0600;
	struct hash b = built_tree(fixture, entries, N);
	free(entries);
	free(names);
	assert_ok(fixture, store_flush(fixture->store, &fixture->err));
	assert_ok(
		fixture, db_exec(fixture->db,
				 "PRAGMA synchronous=OFF;"
				 "CREATE TABLE saved AS SELECT * FROM every_object WHERE type = 2",
				 &fixture->err));
	int64_t nodes = fixture_number(fixture, "SELECT count(*) FROM saved");
	assert_true(nodes > 20);
	for (int64_t i = 1; i <= nodes; i++) {
		owned(buf_release) struct buf out = BUF_INIT;
		char sql[200];

		snprintf(sql, sizeof(sql),
			"INSERT OR IGNORE INTO fresh SELECT * FROM saved;"
			"DELETE FROM fresh WHERE hash = (SELECT hash FROM saved WHERE rowid = %d)",
			(int)i);
		assert_ok(fixture, db_exec(fixture->db, sql, &fixture->err));
		fixture_reopen(fixture);
		if (treediff_run(
			    fixture->store, &a, &b, &options, tell, &out, NULL, &fixture->err) < 0)
			needed++;
		else
			assert_string_equal(out.data, "M 00010000 mode\n");
	}
	/* From each tree, the root, the top node and the leaf are needed. */
	assert_in_range(needed, 6, 10);
}

static void a_missing_node_is_damage(void **state)
{
	struct fixture *fixture = *state;
	struct treediff_options options = { .renames = true };
	struct hash a = tree_of(fixture, "d/x=1"), b = tree_of(fixture, "d/x=2");

	forget(fixture, &b, "d");
	fixture_reopen(fixture);
	assert_true(treediff_run(
			    fixture->store, &a, &b, &options, NULL, NULL, NULL, &fixture->err) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		tree_test(tells_what_came_and_went),
		tree_test(tells_what_is_different_about_an_entry),
		tree_test(tells_when_a_thing_became_another),
		tree_test(a_time_alone_is_told_of_a_directory_only_when_nothing_explains_it),
		tree_test(finds_renames),
		tree_test(finds_renamed_directories_whole),
		tree_test(tells_only_what_was_asked_for),
		tree_test(stops_when_told_to),
		tree_test(does_not_read_what_is_equal),
		tree_test(reads_little_of_a_large_directory),
		tree_test(a_missing_node_is_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
