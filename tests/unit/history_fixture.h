/*
 * history_fixture - a history in a new store, and functions that make small trees.
 *
 * Include this header after <cmocka.h>.
 */
#pragma once
#include "core/when.h"
#include "history/history.h"
#include "store_fixture.h"
#include "tree/content.h"
#include "tree/treebuild.h"
#include "tree/treeiter.h"
#include "tree/xattrs.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct past {
	struct fixture *fixture;
	struct history history;
	char id[64][NODE_ID]; /* for tests that number their nodes */
};

#define past_ok(past, call) assert_ok((past)->fixture, call)
#define past_err(past) (&(past)->fixture->err)

static inline int past_setup(void **state)
{
	struct past *past = mem_zalloc(sizeof(*past));
	void *fixture;

	if (fixture_setup(&fixture) < 0)
		return -1;
	past->fixture = fixture;
	past->history = (struct history){ past->fixture->db, past->fixture->store };
	*state = past;
	/* tests need no syncs */
	if (db_exec(past->fixture->db, history_schema, past_err(past)) < 0)
		return -1;
	return db_exec(past->fixture->db, "PRAGMA synchronous=OFF", past_err(past));
}

static inline int past_teardown(void **state)
{
	struct past *past = *state;
	void *fixture = past->fixture;

	unsetenv("STRATA_NOW");
	free(past);
	return fixture_teardown(&fixture);
}

#define past_test(name) cmocka_unit_test_setup_teardown(name, past_setup, past_teardown)

/* Open the store again, so that nothing is cached. */
static inline void past_reopen(struct past *past)
{
	fixture_reopen(past->fixture);
	past->history = (struct history){ past->fixture->db, past->fixture->store };
}

static inline void past_sql(struct past *past, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static inline void past_sql(struct past *past, const char *fmt, ...)
{
	owned(buf_release) struct buf sql = BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	buf_addv(&sql, fmt, ap);
	va_end(ap);
	past_ok(past, db_exec(past->fixture->db, sql.data, past_err(past)));
}

/* Set the time that when_now returns. */
static inline void past_clock(int64_t instant)
{
	char text[40];

	snprintf(text, sizeof(text), "%lld.%09lld", (long long)(instant / WHEN_SECOND),
		(long long)(instant % WHEN_SECOND));
	setenv("STRATA_NOW", text, 1);
}

/* ------------------------------------------------------------------- trees */

static inline struct entry past_file(struct past *past, struct str name, struct str content)
{
	struct entry entry = {
		.name = name, .type = ENTRY_FILE, .mode = 0644, .size = content.len
	};

	if (content.len) {
		entry.content = ENTRY_BLOB;
		past_ok(past, store_put(past->fixture->store, OBJECT_BLOB, content.ptr, content.len,
				      &entry.hash, past_err(past)));
	}
	return entry;
}

static inline struct hash past_root(struct past *past, struct treebuild *build)
{
	struct entry root = { .type = ENTRY_DIR, .mode = 0755 };
	struct hash tree;

	past_ok(past, treebuild_finish(build, &root, past_err(past)));
	past_ok(past, treebuild_root(past->fixture->store, &root, &tree, past_err(past)));
	return tree;
}

/*
 * Make a tree from a text such as "a=one d/x=two", which lists files and their contents in order.
 * A file is in the root or in a directory of the root.
 */
static inline struct hash past_tree(struct past *past, const char *spec)
{
	struct treebuild *root = mem_alloc(sizeof(*root)), *sub = mem_alloc(sizeof(*sub));
	struct str dir = { NULL, 0 };

	treebuild_init(root, past->fixture->store);
	treebuild_init(sub, past->fixture->store);
	for (;;) {
		const char *slash, *equals;
		size_t len = strcspn(spec, " ");
		struct str token = { spec, len };

		slash = memchr(token.ptr, '/', token.len);
		struct str in = { token.ptr, slash ? (size_t)(slash - token.ptr) : 0 };
		if (dir.ptr && !str_eq(dir, in)) {
			struct entry entry = { .name = dir, .type = ENTRY_DIR, .mode = 0755 };

			past_ok(past, treebuild_finish(sub, &entry, past_err(past)));
			past_ok(past, treebuild_add(root, &entry, past_err(past)));
			dir.ptr = NULL;
		}
		if (!len)
			break;
		equals = memchr(token.ptr, '=', token.len);
		assert_non_null(equals);
		const char *name = slash ? slash + 1 : token.ptr;
		struct entry file = past_file(past, (struct str){ name, (size_t)(equals - name) },
			(struct str){ equals + 1, (size_t)(token.ptr + len - equals - 1) });
		past_ok(past, treebuild_add(slash ? sub : root, &file, past_err(past)));
		if (slash)
			dir = in;
		spec += len + (spec[len] == ' ');
	}
	struct hash tree = past_root(past, root);
	treebuild_release(root);
	treebuild_release(sub);
	free(root);
	free(sub);
	return tree;
}

/* ------------------------------------------------------------------- nodes */

/* Add a node that was made from parent ("": no parent), and set id to its id. */
static inline void past_add(struct past *past, const char *parent, const struct hash *tree,
	int64_t time, const char *workspace, char id[NODE_ID])
{
	struct node node = { .tree = *tree, .time = time, .message = STR("a moment") };

	snprintf(node.made_from, NODE_ID, "%s", parent);
	past_ok(past, history_add(&past->history, &node, workspace, "commit", past_err(past)));
	memcpy(id, node.id, NODE_ID);
}

static inline void past_workspace(struct past *past, const char *name, const char *head)
{
	struct history_workspace workspace = { .backend = "copy" };

	snprintf(workspace.name, sizeof(workspace.name), "%s", name);
	snprintf(workspace.head, NODE_ID, "%s", head);
	past_ok(past, history_workspace_add(&past->history, &workspace, past_err(past)));
}

/*
 * Add the nodes 0 to n-1, each made from the previous one.  Their times begin at start and are a
 * minute apart.  Each has its own tree.  HEAD of the workspace main is the last node.
 */
static inline void past_line(struct past *past, size_t n, int64_t start)
{
	for (size_t i = 0; i < n; i++) {
		int64_t time = start + (int64_t)i * 60 * WHEN_SECOND;
		char spec[64];

		snprintf(spec, sizeof(spec), "a=%zu d/common=same d/x=%zu", i, i / 2);
		struct hash tree = past_tree(past, spec);
		past_clock(time);
		past_add(past, i ? past->id[i - 1] : "", &tree, time, i ? "main" : NULL,
			past->id[i]);
		if (!i)
			past_workspace(past, "main", past->id[0]);
	}
}

static inline bool past_has(struct past *past, const char *id)
{
	owned(arena_release) struct arena arena = { 0 };
	struct node node;
	int r = history_get(&past->history, id, &arena, &node, past_err(past));

	past_ok(past, r);
	return r > 0;
}

static inline void past_parent(struct past *past, const char *id, char parent[NODE_ID])
{
	owned(arena_release) struct arena arena = { 0 };
	struct node node;

	assert_int_equal(history_get(&past->history, id, &arena, &node, past_err(past)), 1);
	memcpy(parent, node.parent, NODE_ID);
}
