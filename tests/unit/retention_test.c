/* Tests of retention: which nodes are kept as the history grows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "history/reach.h"
#include "history/retention.h"
#include "history_fixture.h"

#define MINUTE (60 * WHEN_SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define WEEK (7 * DAY)
#define NOW (INT64_C(1700000000) * WHEN_SECOND + 17 * MINUTE)

/* Store a node as history_add does, but in the transaction that is open. */
static void insert_as(struct past *past, const char *parent, struct node node, char id[NODE_ID])
{
	static uint64_t nonce;
	owned(buf_release) struct buf body = BUF_INIT;
	const struct hash *tree = &node.tree;
	int64_t time = node.time;

	node.nonce = ++nonce;

	snprintf(node.made_from, NODE_ID, "%s", parent);
	node_encode(&node, &body);
	node_id(body.data, body.len, id);
	past_ok(past,
		db_run(past->fixture->db, past_err(past),
			"INSERT INTO node (id, parent, tree, time, body) VALUES (?, ?, ?, ?, ?)",
			"ttbib", id, parent[0] ? parent : NULL, tree->bytes, (size_t)HASH_SIZE,
			time, body.data, body.len));
	past_ok(past, db_run(past->fixture->db, past_err(past),
			      "UPDATE meta SET value = value + 1 WHERE key = 'nodes'", ""));
}

static void insert(struct past *past, const char *parent, const struct hash *tree, int64_t time,
	char id[NODE_ID])
{
	insert_as(past, parent, (struct node){ .tree = *tree, .time = time }, id);
}

/*
 * Store a chain of nodes, whose ages go from oldest to newest in steps.  The id of the last node is
 * written to id.  Returns the number of nodes.
 */
static size_t insert_line(struct past *past, const char *parent, const struct hash *tree,
	int64_t oldest, int64_t newest, int64_t step, char id[NODE_ID])
{
	size_t n = 0;

	memmove(id, parent, strlen(parent) + 1);
	past_ok(past, db_begin(past->fixture->db, past_err(past)));
	for (int64_t age = oldest; age >= newest; age -= step, n++) {
		char before[NODE_ID];

		memcpy(before, id, NODE_ID);
		insert(past, before, tree, NOW - age, id);
	}
	past_ok(past, db_commit(past->fixture->db, past_err(past)));
	return n;
}

static struct retention_result retain(
	struct past *past, uint64_t keep, uint64_t max_bytes, bool dry_run)
{
	struct retention_options options = { keep, max_bytes, NOW, dry_run };
	struct retention_result result;

	past_ok(past, retention_run(&past->history, &options, NULL, NULL, &result, past_err(past)));
	return result;
}

static int64_t count_between(struct past *past, int64_t oldest, int64_t newest)
{
	struct db_query *query = db_query(past->fixture->db, past_err(past),
		"SELECT count(*) FROM node WHERE time >= ? AND time <= ?", "ii", NOW - oldest,
		NOW - newest);

	assert_non_null(query);
	assert_int_equal(db_step(query, past_err(past)), 1);
	int64_t count = db_int(query, 0);
	db_done(query);
	return count;
}

/*
 * Returns the number of buckets of this length that have a node, if nodes are 'step' apart and
 * their ages are between newest and oldest.
 */
static int64_t buckets(int64_t oldest, int64_t newest, int64_t step, int64_t length)
{
	int64_t count = 0, last = -1, shift = length == WEEK ? 3 * DAY : 0;

	for (int64_t age = oldest - oldest % step; age >= newest; age -= step) {
		int64_t bucket = (NOW - age + shift) / length;

		count += bucket != last;
		last = bucket;
	}
	return count;
}

static void a_year_thins_along_the_curve(void **state)
{
	struct past *past = *state;
	struct hash tree = past_tree(past, "a=1");
	int64_t step = 10 * MINUTE, year = 365 * DAY;
	char head[NODE_ID];

	past_ok(past, store_flush(past->fixture->store, past_err(past)));
	size_t n = insert_line(past, "", &tree, year, 0, step, head);
	assert_int_equal(n, 365 * 144 + 1);
	past_workspace(past, "main", head);
	struct retention_result dry = retain(past, 1, 0, true);
	assert_int_equal(fixture_number(past->fixture, "SELECT count(*) FROM node"), n);
	struct retention_result result = retain(past, 1, 0, false);
	assert_int_equal(result.kept + result.dropped, n);
	assert_int_equal(result.dropped, dry.dropped);
	assert_int_equal(fixture_number(past->fixture, "SELECT count(*) FROM node"), result.kept);
	assert_int_equal(
		fixture_number(past->fixture, "SELECT value FROM meta WHERE key = 'nodes'"),
		result.kept);
	assert_int_equal(
		fixture_number(past->fixture, "SELECT count(*) FROM tombstone"), result.dropped);

	/* HEAD and the first node are kept in addition to one node of each bucket */
	assert_int_equal(count_between(past, HOUR, 0), 7);
	assert_int_equal(count_between(past, DAY, HOUR + 1), buckets(DAY, HOUR + 1, step, HOUR));
	assert_int_equal(
		count_between(past, 30 * DAY, DAY + 1), buckets(30 * DAY, DAY + 1, step, DAY));
	assert_int_equal(count_between(past, year, 30 * DAY + 1),
		1 + buckets(year, 30 * DAY + 1, step, WEEK));
	assert_in_range(count_between(past, DAY, HOUR + 1), 23, 24);
	assert_in_range(count_between(past, 30 * DAY, DAY + 1), 29, 30);
	assert_in_range(count_between(past, year, 30 * DAY + 1), 48, 50);

	/* the nodes are still one chain, and every parent exists */
	assert_int_equal(
		fixture_number(past->fixture, "SELECT count(*) FROM node WHERE parent IS NULL"), 1);
	assert_int_equal(
		fixture_number(past->fixture,
			"SELECT count(*) FROM node AS n JOIN node AS p ON p.id = n.parent"),
		result.kept - 1);

	result = retain(past, 1, 0, false);
	assert_int_equal(result.dropped, 0);
}

static void daily_runs_give_the_same_as_one(void **state)
{
	struct past *past = *state;
	struct hash tree = past_tree(past, "a=1");
	struct retention_options options = { .keep = 1 };
	struct retention_result result;
	char head[NODE_ID];

	past_ok(past, store_flush(past->fixture->store, past_err(past)));
	insert_line(past, "", &tree, 90 * DAY, 60 * DAY, HOUR, head);
	past_workspace(past, "main", head);
	for (int day = 60; day >= 0; day--) {
		options.now = NOW - day * DAY;
		past_ok(past, retention_run(&past->history, &options, NULL, NULL, &result,
				      past_err(past)));
	}
	/* of the nodes that are 90 to 60 days old: the first, the last of each week, and HEAD */
	assert_int_equal(result.kept, 2 + buckets(90 * DAY, 60 * DAY + HOUR, HOUR, WEEK));
}

static void recent_nodes_behind_every_head_stay(void **state)
{
	static const struct {
		uint64_t keep;
		/* number of kept nodes of 100 nodes in the same hour, some hours ago */
		int64_t kept;
	} cases[] = {
		/* HEAD, the first node, and the newest of the others */
		{ 0, 3 },
		{ 1, 3 },
		{ 2, 4 },
		{ 50, 52 },
		{ 98, 100 },
		{ 99, 100 },
		{ UINT64_MAX, 100 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		void *fresh = NULL;

		assert_int_equal(past_setup(&fresh), 0);
		struct past *past = fresh;
		struct hash tree = past_tree(past, "a=1");
		char head[NODE_ID];
		insert_line(
			past, "", &tree, 3 * HOUR + 99 * WHEN_SECOND, 3 * HOUR, WHEN_SECOND, head);
		past_workspace(past, "main", head);
		assert_int_equal(retain(past, cases[i].keep, 0, false).kept, cases[i].kept);
		assert_true(past_has(past, head));
		assert_int_equal(past_teardown(&fresh), 0);
	}
}

static void what_matters_is_kept(void **state)
{
	struct past *past = *state;
	struct hash tree = past_tree(past, "a=1");
	static const struct {
		int parent;
		int64_t age;
		bool kept;
	} nodes[] = {
		{ -1, 400 * DAY, true },                                 /* the first */
		{ 0, 399 * DAY, true },                                  /* a fork point */
		{ 1, 300 * DAY, true },                                  /* a fork point */
		{ 2, 300 * DAY - 1, false }, { 3, 300 * DAY - 2, true }, /* tagged */
		{ 4, 300 * DAY - 3, true },                              /* HEAD */
		{ 1, 29 * DAY, true },                                   /* a young tip */
		{ 1, 31 * DAY, true }, /* an old tip, but the newest of its week */
		{ 2, 300 * DAY - 4, false }, { 8, 300 * DAY - 5, true }, /* pending */
		{ 9, 300 * DAY - 6, true },                              /* HEAD */
		{ 1, 31 * DAY + 1, false },                              /* an old tip */
		{ 3, 300 * DAY - 7, true }, /* the newest of the unprotected nodes of its week */
	};

	for (size_t i = 0; i < COUNT(nodes); i++)
		insert(past, nodes[i].parent < 0 ? "" : past->id[nodes[i].parent], &tree,
			NOW - nodes[i].age, past->id[i]);
	past_sql(past, "UPDATE node SET parent = '%s' WHERE id = '%s'", past->id[1], past->id[12]);
	past_workspace(past, "main", past->id[5]);
	past_workspace(past, "side", past->id[10]);
	past_ok(past, history_set_pending(&past->history, "side", past->id[9], past_err(past)));
	past_ok(past, history_tag_set(&past->history, "v1", past->id[4], past_err(past)));
	retain(past, 1, 0, false);
	for (size_t i = 0; i < COUNT(nodes); i++)
		if (past_has(past, past->id[i]) != nodes[i].kept)
			fail_msg("node %zu is %s", i, nodes[i].kept ? "dropped" : "kept");
	char parent[NODE_ID];
	past_parent(past, past->id[4], parent);
	assert_string_equal(parent, past->id[2]);
}

static void kept_nodes_keep_their_trees(void **state)
{
	struct past *past = *state;
	owned(reach_release) struct reach reach;
	char spec[32], id[NODE_ID] = "", tagged[NODE_ID] = "";

	for (int i = 0; i < 500; i++) {
		char before[NODE_ID];

		snprintf(spec, sizeof(spec), "a=%d d/x=%d", i, i / 10);
		struct hash tree = past_tree(past, spec);
		past_ok(past, store_flush(past->fixture->store, past_err(past)));
		memcpy(before, id, NODE_ID);
		insert(past, before, &tree, NOW - (500 - i) * 3 * HOUR, id);
		if (i == 123)
			memcpy(tagged, id, NODE_ID);
	}
	past_workspace(past, "main", id);
	past_ok(past, history_tag_set(&past->history, "mine", tagged, past_err(past)));
	struct retention_result result = retain(past, 20, 0, false);
	assert_true(result.dropped > 300);
	assert_true(past_has(past, tagged));
	reach_init(&reach, past->fixture->store);
	struct db_query *query =
		db_query(past->fixture->db, past_err(past), "SELECT tree FROM node", "");
	while (db_step(query, past_err(past)) > 0) {
		struct hash tree;

		memcpy(tree.bytes, db_bytes(query, 0).ptr, HASH_SIZE);
		past_ok(past, reach_tree(&reach, &tree, past_err(past)));
	}
	assert_int_equal(retain(past, 20, 0, false).dropped, 0);
}

static void a_limit_of_bytes_drops_the_oldest(void **state)
{
	struct past *past = *state;
	char id[NODE_ID] = "";

	/*
	 * Ten nodes, a day apart.  Each has a file of 1 KiB of its own, and all have another file
	 * of 1 KiB in common.
	 */
	for (int i = 0; i < 10; i++) {
		owned_mem struct treebuild *build = mem_alloc(sizeof(*build));
		owned_mem char *own = fixture_noise(1024, 100 + (uint64_t)i);
		owned_mem char *common = fixture_noise(1024, 1);

		treebuild_init(build, past->fixture->store);
		struct entry file = past_file(past, STR("common"), (struct str){ common, 1024 });
		past_ok(past, treebuild_add(build, &file, past_err(past)));
		file = past_file(past, STR("own"), (struct str){ own, 1024 });
		past_ok(past, treebuild_add(build, &file, past_err(past)));
		struct hash tree = past_root(past, build);
		treebuild_release(build);
		past_ok(past, store_flush(past->fixture->store, past_err(past)));
		insert(past, i ? past->id[i - 1] : "", &tree, NOW - (12 - i) * DAY, past->id[i]);
		memcpy(id, past->id[i], NODE_ID);
	}
	past_workspace(past, "main", id);
	struct store_stats stats;
	past_ok(past, store_stats(past->fixture->store, &stats, past_err(past)));
	uint64_t each = (stats.bytes - 1072) / 10;

	struct retention_result all = retain(past, 1, stats.bytes, true);
	assert_int_equal(all.kept, 10);
	assert_int_equal(all.live_bytes, stats.bytes);
	assert_false(all.over_limit);
	assert_int_equal(retain(past, 1, stats.bytes - 1, true).kept, 9);

	/* HEAD and the first node are protected; nodes 8 and 7 still fit, and node 6 does not */
	struct retention_result result = retain(past, 1, 1072 + 4 * each + each / 2, false);
	assert_int_equal(result.kept, 4);
	assert_false(result.over_limit);
	assert_in_range(result.live_bytes, 1072 + 4 * each - 20, 1072 + 4 * each + 20);
	for (int i = 0; i < 10; i++)
		assert_int_equal(past_has(past, past->id[i]), i == 0 || i >= 7);

	result = retain(past, 1, 100, false);
	assert_int_equal(result.kept, 2);
	assert_true(result.over_limit);
	assert_in_range(result.live_bytes, 1072 + 2 * each - 20, 1072 + 2 * each + 20);
}

static void the_start_is_kept_whatever_the_clock_said(void **state)
{
	struct past *past = *state;
	struct hash tree = past_tree(past, "a=1");
	/* The clock went back by a year after the first node. */
	static const int64_t ages[] = { 40 * DAY, 405 * DAY, 404 * DAY + 1, 404 * DAY, 39 * DAY,
		39 * DAY - 1, 0 };

	for (size_t i = 0; i < COUNT(ages); i++)
		insert(past, i ? past->id[i - 1] : "", &tree, NOW - ages[i], past->id[i]);
	past_workspace(past, "main", past->id[COUNT(ages) - 1]);
	retain(past, 1, 0, false);
	assert_true(past_has(past, past->id[0]));
	assert_false(past_has(past, past->id[1]));
	assert_int_equal(
		fixture_number(past->fixture, "SELECT count(*) FROM node WHERE parent IS NULL"), 1);
}

static void what_a_person_described_goes_last(void **state)
{
	struct past *past;
	struct node_path path = { .op = 'M', .path = STR("own") };
	static const struct {
		enum node_kind kind;
		const char *message;
		bool kept, fits;
	} nodes[] = {
		{ NODE_INIT, "init from src", true, true }, { NODE_MANUAL, "older", true, false },
		/* the message was made from the changed paths */
		{ NODE_MANUAL, "commit: own", false, false },
		{ NODE_AUTO, "auto: own", false, false },
		{ NODE_MANUAL, "before the migration", true, true },
		{ NODE_EXEC, "candidate-1: make", false, false },
		{ NODE_AUTO, "auto: own", true, false }, /* the newest of its week */
		{ NODE_AUTO, "auto: own", true, true },  /* HEAD */
	};

	for (int run = 0; run < 2; run++) {
		void *fresh = NULL;

		assert_int_equal(past_setup(&fresh), 0);
		past = fresh;
		for (size_t i = 0; i < COUNT(nodes); i++) {
			owned_mem char *noise = fixture_noise(1024, i + 1);
			owned_mem struct treebuild *build = mem_alloc(sizeof(*build));

			treebuild_init(build, past->fixture->store);
			struct entry file =
				past_file(past, STR("own"), (struct str){ noise, 1024 });
			past_ok(past, treebuild_add(build, &file, past_err(past)));
			struct node node = {
				.tree = past_root(past, build),
				.time = NOW - 300 * DAY + (int64_t)i,
				.kind = nodes[i].kind,
				.message = str_of(nodes[i].message),
				.counts.modified = 1,
				.paths = &path,
				.n_paths = 1,
			};
			treebuild_release(build);
			past_ok(past, store_flush(past->fixture->store, past_err(past)));
			insert_as(past, i ? past->id[i - 1] : "", node, past->id[i]);
		}
		past_workspace(past, "main", past->id[COUNT(nodes) - 1]);
		/*
		 * the first node and HEAD are always kept; the limit leaves room for one more node
		 */
		retain(past, 1, run ? 3 * 1400 : 0, false);
		for (size_t i = 0; i < COUNT(nodes); i++)
			if (past_has(past, past->id[i]) != (run ? nodes[i].fits : nodes[i].kept))
				fail_msg("run %d: node %zu is %s", run, i,
					past_has(past, past->id[i]) ? "kept" : "dropped");
		assert_int_equal(past_teardown(&fresh), 0);
	}
}

/*
 * The journal has an entry for every node.  But undo can only lead to nodes that HEAD was moved
 * from or to.
 */
static void where_head_was_sent_stays_for_undo(void **state)
{
	struct past *past = *state;
	struct hash tree = past_tree(past, "a=1");
	enum { NODES = 60, OLD = 10, FROM = 20, TO = 30, UNDONE = 40 };

	for (int i = 0; i < NODES; i++)
		insert(past, i ? past->id[i - 1] : "", &tree, NOW - 20 * DAY + i, past->id[i]);
	past_workspace(past, "main", past->id[0]);
	past_clock(NOW - 31 * DAY);
	past_ok(past,
		history_move(&past->history, "main", past->id[OLD], "checkout", past_err(past)));
	past_clock(NOW - 20 * DAY);
	for (int i = 1; i < NODES; i++)
		past_ok(past,
			history_move(&past->history, "main", past->id[i], "auto", past_err(past)));
	past_ok(past, history_move(&past->history, "main", past->id[FROM], "auto", past_err(past)));
	past_ok(past,
		history_move(&past->history, "main", past->id[TO], "checkout", past_err(past)));
	past_ok(past,
		history_move(&past->history, "main", past->id[UNDONE], "auto", past_err(past)));
	past_ok(past, history_move(&past->history, "main", past->id[TO], "undo", past_err(past)));
	past_ok(past,
		history_move(&past->history, "main", past->id[NODES - 1], "auto", past_err(past)));
	past_clock(NOW);
	retain(past, 1, 0, false);
	for (int i = 0; i < NODES; i++) {
		bool kept = i == 0 || i == FROM || i == TO || i == UNDONE || i >= NODES - 2;

		if (past_has(past, past->id[i]) != kept)
			fail_msg("node %d is %s", i, kept ? "dropped" : "kept");
	}
}

struct named {
	size_t count;
	int result;
};

static int name_node(void *arg, const struct node *node, struct err *err)
{
	struct named *named = arg;

	assert_true(node_id_ok(node->id));
	named->count++;
	return named->result < 0 ? err_set(err, ERR_BUSY, "not now") : named->result;
}

static void the_caller_hears_of_each_and_can_stop(void **state)
{
	static const struct {
		int result;
		bool dry_run;
		int returns;
		size_t named;
		int64_t left;
	} cases[] = {
		{ 0, true, 0, 97, 100 },
		{ 1, true, 0, 1, 100 },
		{ -1, false, -ERR_BUSY, 1, 100 },
		{ 1, false, 0, 1, 99 },
		{ 0, false, 0, 96, 3 },
	};
	struct past *past = *state;
	struct hash tree = past_tree(past, "a=1");
	char head[NODE_ID];

	insert_line(past, "", &tree, 3 * HOUR + 99 * WHEN_SECOND, 3 * HOUR, WHEN_SECOND, head);
	past_workspace(past, "main", head);
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct retention_options options = { 1, 0, NOW, cases[i].dry_run };
		struct named named = { .result = cases[i].result };
		struct retention_result result;
		struct err err = { 0 };

		assert_int_equal(
			retention_run(&past->history, &options, name_node, &named, &result, &err),
			cases[i].returns);
		assert_int_equal(named.count, cases[i].named);
		assert_int_equal(
			fixture_number(past->fixture, "SELECT count(*) FROM node"), cases[i].left);
		assert_false(db_in_transaction(past->fixture->db));
	}
}

struct guest {
	struct db *db; /* another connection, as another process would have it */
	int64_t seen;
	size_t commits;
};

/*
 * Count the transactions that another connection sees.  Other processes can write between two of
 * them.
 */
static int look_beside(void *arg, const struct node *node, struct err *err)
{
	struct guest *guest = arg;

	(void)node;
	owned(db_donep) struct db_query *query =
		db_query(guest->db, err, "SELECT count(*) FROM tombstone", "");
	assert_non_null(query);
	assert_int_equal(db_step(query, err), 1);
	guest->commits += db_int(query, 0) != guest->seen;
	guest->seen = db_int(query, 0);
	return 0;
}

static void many_are_dropped_in_several_transactions(void **state)
{
	struct past *past = *state;
	struct hash tree = past_tree(past, "a=1");
	struct retention_options options = { 1, 0, NOW, false };
	struct retention_result result;
	struct guest guest = { 0 };
	char head[NODE_ID], path[300];

	insert_line(past, "", &tree, 3 * HOUR + 499 * WHEN_SECOND, 3 * HOUR, WHEN_SECOND, head);
	past_workspace(past, "main", head);
	snprintf(path, sizeof(path), "%s/strata.db", past->fixture->path);
	guest.db = db_open(path, 0, past_err(past));
	assert_non_null(guest.db);
	past_ok(past, retention_run(&past->history, &options, look_beside, &guest, &result,
			      past_err(past)));
	db_close(guest.db);
	assert_int_equal(result.dropped, 497);
	assert_true(guest.commits >= 5);
}

static void a_damaged_node_is_left_for_fsck(void **state)
{
	struct past *past = *state;
	struct hash tree = past_tree(past, "a=1");
	char head[NODE_ID];

	insert_line(past, "", &tree, 3 * HOUR + 9 * WHEN_SECOND, 3 * HOUR, WHEN_SECOND, head);
	past_workspace(past, "main", head);
	past_sql(past, "UPDATE node SET body = x'00' WHERE seq = 5");
	retain(past, 1, 0, false);
	assert_int_equal(fixture_number(past->fixture, "SELECT count(*) FROM node"), 4);
	assert_int_equal(
		fixture_number(past->fixture, "SELECT count(*) FROM node WHERE seq = 5"), 1);
}

static void an_empty_history_is_fine(void **state)
{
	struct past *past = *state;

	assert_int_equal(retain(past, RETENTION_KEEP, 1, false).kept, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		past_test(a_year_thins_along_the_curve),
		past_test(daily_runs_give_the_same_as_one),
		cmocka_unit_test(recent_nodes_behind_every_head_stay),
		past_test(what_matters_is_kept),
		past_test(kept_nodes_keep_their_trees),
		past_test(a_limit_of_bytes_drops_the_oldest),
		past_test(the_start_is_kept_whatever_the_clock_said),
		cmocka_unit_test(what_a_person_described_goes_last),
		past_test(where_head_was_sent_stays_for_undo),
		past_test(the_caller_hears_of_each_and_can_stop),
		past_test(many_are_dropped_in_several_transactions),
		past_test(a_damaged_node_is_left_for_fsck),
		past_test(an_empty_history_is_fine),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
