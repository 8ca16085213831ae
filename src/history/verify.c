#include "history/verify.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/mem.h"
#include "core/own.h"
#include "history/treeproof.h"

/* A node whose tree is damaged. */
struct touched {
	char id[NODE_ID];
	uint32_t damage;
};

struct verifying {
	struct history *history;
	struct verify *verify;
	struct treeproof *proof;
	/* number of objects in the store; they are checked before the nodes */
	uint64_t progress_before;
	uint64_t progress_total;
	struct touched *nodes;
	size_t n_nodes, nodes_cap;
};

/* --------------------------------------------------------------- reporting */

static void report_fault(struct verifying *verifying, const char *what,
	const char (*nodes)[NODE_ID], size_t listed, uint64_t total)
{
	struct verify_error error = {
		.what = what,
		.nodes = nodes,
		.n_nodes = listed,
		.total_nodes = total,
	};

	verifying->verify->errors++;
	if (verifying->verify->error)
		verifying->verify->error(verifying->verify->arg, &error);
}

/* Report a fault of a node.  If id is NULL, the fault is not about a node. */
static void report_node(struct verifying *verifying, const char *id, const char *what)
{
	char nodes[1][NODE_ID];

	snprintf(nodes[0], NODE_ID, "%s", id ? id : "");
	report_fault(verifying, what, (const char(*)[NODE_ID])nodes, id ? 1 : 0, id ? 1 : 0);
}

__attribute__((format(printf, 3, 4))) static void node_fault(
	struct verifying *verifying, const char *id, const char *fmt, ...)
{
	owned(buf_release) struct buf what = BUF_INIT;
	va_list ap;

	buf_addf(&what, "node %s: ", id);
	va_start(ap, fmt);
	buf_addv(&what, fmt, ap);
	va_end(ap);
	report_node(verifying, id, what.data);
}

/* ---------------------------------------------------------------- the nodes */

/*
 * Returns the sum of two numbers: 1 if a node with this id exists, and 2 if a tombstone with this
 * id exists.
 */
static int known_id(struct verifying *verifying, const char *id, struct err *err)
{
	int64_t bits = 0;
	int r = db_number(verifying->history->db, err, &bits,
		"SELECT EXISTS (SELECT 1 FROM node WHERE id = ?1)"
		" + 2 * EXISTS (SELECT 1 FROM tombstone WHERE id = ?1)",
		"t", id);

	return r < 0 ? r : (int)bits;
}

/*
 * Check the parent of a node.  The parent must be the node given by made_from, unless that node was
 * deleted.
 */
static int check_parent(struct verifying *verifying, const struct node *node, struct err *err)
{
	int r = node->made_from[0] ? known_id(verifying, node->made_from, err) : 0;

	if (r < 0)
		return r;
	if (!node->made_from[0] && node->parent[0])
		node_fault(verifying, node->id, "a first node, but its row names %s as its parent",
			node->parent);
	/*
	 * Report nothing if made_from is missing and is also the parent.  The queries of
	 * table_checks report a missing parent.
	 */
	else if (node->made_from[0] && !r && strcmp(node->made_from, node->parent))
		node_fault(verifying, node->id,
			"made from %s, which is neither a node nor a deleted one", node->made_from);
	else if (r & 1 && strcmp(node->made_from, node->parent))
		node_fault(verifying, node->id, "made from %s, but its row names %s as its parent",
			node->made_from, node->parent[0] ? node->parent : "nothing");
	return 0;
}

static int check_record(struct verifying *verifying, struct db_query *row, const char *id,
	struct hash *tree, bool *has_tree, struct err *err)
{
	owned(arena_release) struct arena arena = { 0 };
	struct str body = db_bytes(row, 4), row_tree = db_bytes(row, 2);
	const char *parent = db_text(row, 1);
	struct err why = { 0 };
	struct node node = { 0 };
	char own[NODE_ID];

	*has_tree = row_tree.len == HASH_SIZE;
	if (*has_tree)
		memcpy(tree->bytes, row_tree.ptr, HASH_SIZE);
	snprintf(node.id, NODE_ID, "%s", id);
	snprintf(node.parent, NODE_ID, "%s", parent ? parent : "");
	node_id(body.ptr, body.len, own);
	if (strcmp(own, id)) {
		node_fault(verifying, id, "its record does not match its id");
		return 0;
	}
	if (node_decode(body.ptr, body.len, &arena, &node, &why) < 0) {
		node_fault(verifying, id, "its record is damaged: %s", why.text);
		return 0;
	}
	if (!*has_tree || !hash_eq(&node.tree, tree))
		node_fault(verifying, id, "its row and its record name different trees");
	if (db_int(row, 3) != node.time)
		node_fault(verifying, id, "its row and its record have different times");
	/*
	 * If the row and the record differ, the record is trusted, since the id is a hash of the
	 * record.
	 */
	*tree = node.tree;
	*has_tree = true;
	return check_parent(verifying, &node, err);
}

static int check_row(struct verifying *verifying, struct db_query *row, struct err *err)
{
	const char *text = db_text(row, 0);
	bool has_tree = false;
	char id[NODE_ID];
	struct hash tree;
	uint32_t damage;

	if (!text || !node_id_ok(text)) {
		report_node(verifying, NULL, "a node row has a malformed id");
		return 0;
	}
	memcpy(id, text, NODE_ID);
	int r = check_record(verifying, row, id, &tree, &has_tree, err);
	if (r < 0 || !has_tree)
		return r;
	r = treeproof_tree(verifying->proof, &tree, &damage, err);
	if (r >= 0 && damage != TREEPROOF_SOUND) {
		mem_grow(&verifying->nodes, &verifying->nodes_cap, verifying->n_nodes);
		memcpy(verifying->nodes[verifying->n_nodes].id, id, NODE_ID);
		verifying->nodes[verifying->n_nodes++].damage = damage;
	}
	return r;
}

static int check_nodes(struct verifying *verifying, struct err *err)
{
	struct verify *verify = verifying->verify;
	int r;

	owned(db_donep) struct db_query *query = db_query(verifying->history->db, err,
		"SELECT id, parent, tree, time, body FROM node ORDER BY seq DESC", "");
	while ((r = db_step(query, err)) > 0) {
		r = check_row(verifying, query, err);
		if (r < 0)
			return r;
		verify->nodes++;
		if (verify->progress)
			verify->progress(verify->arg, verifying->progress_before + verify->nodes,
				verifying->progress_total);
	}
	return r;
}

static void report_faults(struct verifying *verifying)
{
	char ids[VERIFY_NODES_LISTED][NODE_ID];
	uint64_t unlisted = treeproof_unlisted(verifying->proof);
	struct treeproof_fault fault;

	for (size_t i = 0; i < verifying->n_nodes; i++)
		treeproof_use(verifying->proof, verifying->nodes[i].damage, (uint32_t)i);
	for (size_t i = 0; treeproof_fault(verifying->proof, i, &fault); i++) {
		size_t n = fault.total < VERIFY_NODES_LISTED ? fault.total : VERIFY_NODES_LISTED;

		for (size_t j = 0; j < n; j++)
			memcpy(ids[j], verifying->nodes[fault.users[j]].id, NODE_ID);
		report_fault(verifying, fault.what, (const char(*)[NODE_ID])ids, n, fault.total);
	}
	if (unlisted) {
		char what[64];

		snprintf(what, sizeof(what), "%llu more damaged objects",
			(unsigned long long)unlisted);
		report_node(verifying, NULL, what);
		verifying->verify->errors += unlisted - 1;
	}
}

/* ------------------------------------------------------- references to nodes */

/*
 * Queries that find faults.  Each row of a result is a fault, with two columns: a text, and the
 * node that has the fault, or NULL.
 */
static const char *const table_checks[] = {
	/* parents */
	"SELECT 'node ' || n.id || ': its parent ' || n.parent ||"
	" CASE WHEN EXISTS (SELECT 1 FROM tombstone AS t WHERE t.id = n.parent)"
	"  THEN ' was deleted' ELSE ' is missing' END, n.id"
	" FROM node AS n WHERE n.parent IS NOT NULL"
	" AND NOT EXISTS (SELECT 1 FROM node AS p WHERE p.id = n.parent) ORDER BY n.seq",

	/* circles: nodes whose chain of parents never ends */
	"WITH RECURSIVE below(id) AS ("
	" SELECT n.id FROM node AS n WHERE n.parent IS NULL"
	"  OR NOT EXISTS (SELECT 1 FROM node AS p WHERE p.id = n.parent)"
	" UNION SELECT n.id FROM below JOIN node AS n ON n.parent = below.id)"
	"SELECT 'node ' || id || ': its ancestors go in a circle', id"
	" FROM node WHERE id NOT IN (SELECT id FROM below) ORDER BY seq",

	"SELECT 'node ' || n.id || ': it is also listed as deleted', n.id"
	" FROM node AS n JOIN tombstone AS t ON t.id = n.id ORDER BY n.seq",

	"SELECT 'tag ''' || name || ''': node ' || node || ' is missing', node"
	" FROM tag WHERE NOT EXISTS (SELECT 1 FROM node WHERE id = tag.node) ORDER BY name",

	"SELECT 'workspace ''' || name || ''': its HEAD, node ' || head || ', is missing', head"
	" FROM workspace WHERE NOT EXISTS (SELECT 1 FROM node WHERE id = head) ORDER BY name",

	"SELECT 'workspace ''' || name || ''': node ' || pending ||"
	" ', which it is being turned into, is missing', pending"
	" FROM workspace WHERE pending IS NOT NULL"
	" AND NOT EXISTS (SELECT 1 FROM node WHERE id = pending) ORDER BY name",

	"SELECT 'workspace ''' || w.name || ''': its place in the journal is missing', NULL"
	" FROM workspace AS w WHERE w.cursor IS NULL OR NOT EXISTS"
	" (SELECT 1 FROM journal AS j WHERE j.seq = w.cursor AND j.workspace = w.name)"
	" ORDER BY w.name",

	"SELECT 'journal: node ' || j.id || ' is missing', j.id"
	" FROM (SELECT new AS id FROM journal UNION"
	"  SELECT old FROM journal WHERE old IS NOT NULL) AS j"
	" WHERE NOT EXISTS (SELECT 1 FROM node AS n WHERE n.id = j.id)"
	" AND NOT EXISTS (SELECT 1 FROM tombstone AS t WHERE t.id = j.id) ORDER BY j.id",

	/* stored counts */
	"WITH c(key, n) AS (SELECT 'nodes', (SELECT count(*) FROM node)"
	" UNION ALL SELECT 'tags', (SELECT count(*) FROM tag))"
	"SELECT 'the count of ' || c.key || ' is ' || ifnull(m.value, 'missing') ||"
	" ', but there are ' || c.n, NULL"
	" FROM c LEFT JOIN meta AS m ON m.key = c.key"
	" WHERE m.value IS NULL OR m.value <> CAST(c.n AS TEXT)",
};

static int check_table(struct verifying *verifying, const char *sql, struct err *err)
{
	owned(db_donep) struct db_query *query = db_query(verifying->history->db, err, sql, "");
	int r;

	while ((r = db_step(query, err)) > 0) {
		const char *what = db_text(query, 0);

		report_node(verifying, db_text(query, 1), what ? what : "a row is malformed");
	}
	return r;
}

/* ------------------------------------------------------------ the whole check */

static void store_fault(void *arg, const struct store_fault *fault)
{
	struct verifying *verifying = arg;

	if (fault->key.type) {
		treeproof_damaged(verifying->proof, &fault->key, "%s", fault->what);
		return;
	}
	owned(buf_release) struct buf what = BUF_INIT;
	if (fault->pack)
		buf_addf(&what, "pack %08x: ", fault->pack);
	buf_addf(&what, "%s", fault->what);
	report_node(verifying, NULL, what.data);
}

static void store_progress(void *arg, uint64_t done, uint64_t total)
{
	struct verifying *verifying = arg;
	uint64_t nodes = verifying->progress_total - verifying->progress_before;

	verifying->progress_before = total;
	verifying->progress_total = total + nodes;
	verifying->verify->progress(verifying->verify->arg, done, verifying->progress_total);
}

/*
 * A table may be too damaged to be read to its end.  Report that as a fault, too.  Other errors are
 * returned.
 */
static int report_damage(struct verifying *verifying, int r, struct err *why, struct err *err)
{
	if (r == -ERR_CORRUPT) {
		report_node(verifying, NULL, why->text);
		return 0;
	}
	if (r < 0)
		*err = *why;
	return r;
}

static int check_store(struct verifying *verifying, struct err *err)
{
	struct verify *verify = verifying->verify;
	struct store_verify store = {
		.fault = store_fault,
		.progress = verify->progress ? store_progress : NULL,
		.arg = verifying,
	};
	int r = store_verify(verifying->history->store, &store, err);

	verify->objects = store.objects;
	verify->bytes = store.bytes;
	return r;
}

/*
 * Count the nodes in the table.  history_count is not used, since it reads a stored number that may
 * be wrong.
 */
static int count_nodes(struct verifying *verifying, struct err *err)
{
	int64_t count = 0;
	int r = db_number(verifying->history->db, err, &count, "SELECT count(*) FROM node", "");

	verifying->progress_total = (uint64_t)count;
	return r;
}

static int check_all(struct verifying *verifying, struct err *err)
{
	struct err why = { 0 };
	int r = report_damage(verifying, count_nodes(verifying, &why), &why, err);

	if (r >= 0)
		r = check_store(verifying, err);
	if (r >= 0)
		r = report_damage(verifying, check_nodes(verifying, &why), &why, err);
	for (size_t i = 0; i < sizeof(table_checks) / sizeof(table_checks[0]) && r >= 0; i++)
		r = report_damage(
			verifying, check_table(verifying, table_checks[i], &why), &why, err);
	if (r >= 0)
		report_faults(verifying);
	return r;
}

int verify_run(struct history *history, struct verify *verify, struct err *err)
{
	owned(treeproof_freep) struct treeproof *proof = treeproof_new(history->store);
	struct verifying verifying = { .history = history, .verify = verify, .proof = proof };

	verify->errors = verify->objects = verify->nodes = verify->bytes = 0;
	int r = check_all(&verifying, err);
	free(verifying.nodes);
	return r < 0 ? r : 0;
}
