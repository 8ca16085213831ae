#include "history/history.h"

#include <errno.h>
#include <stdio.h>
#include <sys/random.h>

#include "core/mem.h"
#include "core/own.h"
#include "core/when.h"

/* clang-format off */
const char history_schema[] =
	"CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;"
	"INSERT INTO meta VALUES ('nodes', '0'), ('tags', '0');"
	"CREATE TABLE node ("
	"  seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, parent TEXT,"
	"  tree BLOB NOT NULL, time INTEGER NOT NULL, body BLOB NOT NULL);"
	"CREATE INDEX node_parent ON node (parent);"
	"CREATE TABLE tombstone (id TEXT PRIMARY KEY, time INTEGER NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE tag ("
	"  name TEXT PRIMARY KEY, node TEXT NOT NULL, time INTEGER NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE workspace ("
	"  name TEXT PRIMARY KEY, backend TEXT NOT NULL, reason TEXT, path TEXT,"
	"  head TEXT NOT NULL, pending TEXT, cursor INTEGER) WITHOUT ROWID;"
	/*
	 * column prev: the seq of the entry to which undo goes.  Undo never goes to an entry that
	 * undo or redo has made.
	 */
	"CREATE TABLE journal ("
	"  seq INTEGER PRIMARY KEY AUTOINCREMENT, workspace TEXT NOT NULL, time INTEGER NOT NULL,"
	"  op TEXT NOT NULL, old TEXT, new TEXT NOT NULL, prev INTEGER);"
	"CREATE INDEX journal_prev ON journal (workspace, prev);";

#define GONE_TEXT 80
#define NODE_COLUMNS "id, parent, tree, body"
/*
 * Each run of retention has a row in meta, whose key has the time of the run.  A tombstone with the
 * same time belongs to a node that this run has dropped.  All other tombstones belong to nodes that
 * a user has deleted.
 */
#define RETENTION_KEY(time) "'retention ' || " time
/* key of the row in meta that has the number of rollbacks of a workspace */
#define ROLLBACK_KEY "'rollback ' || ?"
/* clang-format on */

/*
 * Get the next row of a query, and copy its first column, which is a node id, to id.  Returns the
 * result of db_step.
 */
static int first_id(struct db_query *query, char id[NODE_ID], struct err *err)
{
	int r = db_step(query, err);

	if (r > 0)
		snprintf(id, NODE_ID, "%s", db_text(query, 0));
	return r;
}

/* ------------------------------------------------------------------- nodes */

static int node_from_row(
	struct db_query *query, struct arena *arena, struct node *node, struct err *err)
{
	const char *id = db_text(query, 0), *parent = db_text(query, 1);
	struct str body = arena_str(arena, db_bytes(query, 3));
	struct str tree = db_bytes(query, 2);

	*node = (struct node){ 0 };
	if (!id || strlen(id) != NODE_ID_LEN || (parent && strlen(parent) != NODE_ID_LEN))
		return err_set(err, ERR_CORRUPT, "node row with a malformed id");
	memcpy(node->id, id, NODE_ID);
	if (parent)
		memcpy(node->parent, parent, NODE_ID);
	int r = node_decode(body.ptr, body.len, arena, node, err);
	if (r < 0)
		return err_context(err, "node %s", node->id);
	if (tree.len != HASH_SIZE || memcmp(tree.ptr, node->tree.bytes, HASH_SIZE))
		return err_set(err, ERR_CORRUPT,
			"node %s: its row and its record name different trees", node->id);
	return 1;
}

int history_get(struct history *history, const char *id, struct arena *arena, struct node *node,
	struct err *err)
{
	owned(db_donep) struct db_query *query = db_query(
		history->db, err, "SELECT " NODE_COLUMNS " FROM node WHERE id = ?", "t", id);
	int r = db_step(query, err);

	return r <= 0 ? r : node_from_row(query, arena, node, err);
}

/*
 * Call the callback 'visit' for the node in each row.  The callback may use the database, since a
 * row is read completely before the call.
 */
static int visit_rows(struct db_query *query, history_visit visit, void *arg, struct err *err)
{
	int r;

	while ((r = db_step(query, err)) > 0) {
		owned(arena_release) struct arena arena = { 0 };
		struct node node;

		r = node_from_row(query, &arena, &node, err);
		if (r > 0)
			r = visit(arg, &node, err);
		if (r != 0)
			break;
	}
	db_done(query);
	return r < 0 ? r : 0;
}

int history_each(struct history *history, history_visit visit, void *arg, struct err *err)
{
	return visit_rows(db_query(history->db, err,
				  "SELECT " NODE_COLUMNS " FROM node ORDER BY seq DESC", ""),
		visit, arg, err);
}

#define PAGE_NODES 64

/* A page: some nodes, in the order in which they were added. */
struct page {
	struct node nodes[PAGE_NODES];
	size_t n;
	int64_t last; /* seq of the last node */
	struct arena arena;
};

static int read_page(struct history *history, int64_t after, struct page *page, struct err *err)
{
	owned(db_donep) struct db_query *query = db_query(history->db, err,
		"SELECT " NODE_COLUMNS ", seq FROM node WHERE seq > ? ORDER BY seq LIMIT ?", "ii",
		after, (int64_t)PAGE_NODES);
	int r = 0;

	arena_release(&page->arena);
	page->n = 0;
	while (page->n < PAGE_NODES && (r = db_step(query, err)) > 0) {
		r = node_from_row(query, &page->arena, &page->nodes[page->n++], err);
		if (r < 0)
			return r;
		page->last = db_int(query, 4);
	}
	return r < 0 ? r : 0;
}

/*
 * The nodes are read in pages, and no query is open while the nodes of a page are visited.  A query
 * that stays open would keep the database from copying its log into the main file.
 */
int history_forward(struct history *history, history_visit visit, void *arg, struct err *err)
{
	owned_mem struct page *page = mem_zalloc(sizeof(*page));
	int r;

	do {
		r = read_page(history, page->last, page, err);
		for (size_t i = 0; r == 0 && i < page->n; i++)
			r = visit(arg, &page->nodes[i], err);
	} while (r == 0 && page->n == PAGE_NODES);
	arena_release(&page->arena);
	return r < 0 ? r : 0;
}

int history_tips(struct history *history, history_visit visit, void *arg, struct err *err)
{
	return visit_rows(
		db_query(history->db, err,
			"SELECT " NODE_COLUMNS " FROM node AS n WHERE NOT EXISTS"
			" (SELECT 1 FROM node AS c WHERE c.parent = n.id) ORDER BY seq DESC",
			""),
		visit, arg, err);
}

int history_ancestors(
	struct history *history, const char *id, history_visit visit, void *arg, struct err *err)
{
	char at[NODE_ID];
	int r;

	snprintf(at, sizeof(at), "%s", id);
	do {
		owned(arena_release) struct arena arena = { 0 };
		struct node node;

		r = history_get(history, at, &arena, &node, err);
		if (r == 0)
			return err_set(err, ERR_CORRUPT, "node %s is missing", at);
		if (r > 0)
			r = visit(arg, &node, err);
		if (r == 0)
			memcpy(at, node.parent, sizeof(at));
	} while (r == 0 && at[0]);
	return r < 0 ? r : 0;
}

int history_near(
	struct history *history, const char *id, struct hash *trees, size_t max, struct err *err)
{
	owned(db_donep) struct db_query *query = db_query(history->db, err,
		"SELECT n.tree FROM node AS n, (SELECT seq FROM node WHERE id = ?1) AS t"
		" WHERE n.seq BETWEEN t.seq - ?2 AND t.seq + ?2 AND n.seq != t.seq"
		" ORDER BY abs(n.seq - t.seq) LIMIT ?2",
		"ti", id, (int64_t)max);
	size_t n = 0;
	int r = 0;

	while (n < max && (r = db_step(query, err)) > 0) {
		struct str tree = db_bytes(query, 0);

		if (tree.len == HASH_SIZE)
			memcpy(trees[n++].bytes, tree.ptr, HASH_SIZE);
	}
	return r < 0 ? r : (int)n;
}

int history_count(struct history *history, uint64_t *nodes, struct err *err)
{
	int64_t count;
	int r = db_number(
		history->db, err, &count, "SELECT value FROM meta WHERE key = 'nodes'", "");

	if (r > 0)
		*nodes = (uint64_t)count;
	return r < 0 ? r : 0;
}

int history_prefix(struct history *history, const char *prefix, char (*ids)[NODE_ID], size_t max,
	struct err *err)
{
	char end[NODE_ID + 1];
	size_t n = 0;
	int r;

	/*
	 * All ids with this prefix sort before the prefix followed by 'g', because 'g' sorts after
	 * every hex digit.
	 */
	snprintf(end, sizeof(end), "%.12sg", prefix);
	owned(db_donep) struct db_query *query = db_query(history->db, err,
		"SELECT id FROM node WHERE id >= ? AND id < ? ORDER BY id LIMIT ?", "tti", prefix,
		end, (int64_t)max + 1);
	while ((r = db_step(query, err)) > 0) {
		if (n < max)
			snprintf(ids[n], NODE_ID, "%s", db_text(query, 0));
		n++;
	}
	return r < 0 ? r : (int)n;
}

int history_deleted(
	struct history *history, const char *prefix, struct history_gone *gone, struct err *err)
{
	char end[NODE_ID + 1];

	snprintf(end, sizeof(end), "%.12sg", prefix);
	owned(db_donep) struct db_query *query = db_query(history->db, err,
		"SELECT id, time, EXISTS (SELECT 1 FROM meta WHERE key = " RETENTION_KEY(
			"t.time") ")"
				  " FROM tombstone AS t WHERE id >= ? AND id < ? ORDER BY id LIMIT "
				  "1",
		"tt", prefix, end);
	int r = first_id(query, gone->id, err);
	if (r <= 0)
		return r;
	gone->time = db_int(query, 1);
	gone->retention = db_int(query, 2);
	return 1;
}

/*
 * Returns "dropped by retention at ...", "deleted at ..." or "lost".  The first two results are
 * written to the buffer 'text'.
 */
static const char *gone_text(const struct history_gone *gone, char text[GONE_TEXT])
{
	char when[WHEN_ISO];

	/* A node that is missing and has no tombstone was lost by damage. */
	if (!gone->time)
		return "lost";
	snprintf(text, GONE_TEXT, "%s at %s", gone->retention ? "dropped by retention" : "deleted",
		when_iso(gone->time - gone->time % WHEN_SECOND, when));
	return text;
}

int history_refuse_gone(const struct history_gone *gone, struct err *err)
{
	char text[GONE_TEXT];

	err_set(err, ERR_NOT_FOUND, "node %s was %s", gone->id, gone_text(gone, text));
	return err_hint(err, gone->retention
				     ? "'strata log' lists what there is; a tag keeps a node"
				     : "'strata log' lists what there is");
}

static int add_to_count(struct history *history, const char *key, int64_t by, struct err *err)
{
	return db_run(
		history->db, err, "UPDATE meta SET value = value + ? WHERE key = ?", "it", by, key);
}

int history_recount(struct history *history, struct err *err)
{
	return db_run(history->db, err,
		"INSERT OR REPLACE INTO meta SELECT 'nodes', CAST(count(*) AS TEXT) FROM node"
		" UNION ALL SELECT 'tags', CAST(count(*) AS TEXT) FROM tag",
		"");
}

/* ------------------------------------------------------------ transactions */

/*
 * Check that a node exists.  Another process may have deleted the node before the transaction
 * began.
 */
static int need_node(struct history *history, const char *id, struct err *err)
{
	int64_t one;
	int r = db_number(history->db, err, &one, "SELECT 1 FROM node WHERE id = ?", "t", id);

	if (r != 0)
		return r < 0 ? r : 0;
	err_set(err, ERR_BUSY, "node %s was deleted meanwhile", id);
	return err_hint(err, "try again");
}

static int write_head(struct history *history, const char *workspace, const char *id,
	const char *op, struct err *err)
{
	char old[NODE_ID] = "";
	int64_t cursor = 0;
	bool has_cursor = false;
	int r = need_node(history, id, err);

	if (r < 0)
		return r;
	struct db_query *query = db_query(history->db, err,
		"SELECT head, cursor FROM workspace WHERE name = ?", "t", workspace);
	r = db_step(query, err);
	if (r > 0) {
		snprintf(old, sizeof(old), "%s", db_text(query, 0));
		has_cursor = !db_is_null(query, 1);
		cursor = db_int(query, 1);
	}
	db_done(query);
	if (r <= 0)
		return r < 0 ? r : err_set(err, ERR_NOT_FOUND, "no workspace '%s'", workspace);

	bool along = !strcmp(op, "undo") || !strcmp(op, "redo");
	r = db_run(history->db, err,
		"INSERT INTO journal (workspace, time, op, old, new, prev) VALUES (?, ?, ?, ?, ?, "
		"?)",
		along || !has_cursor ? "titttn" : "tittti", workspace, when_now(), op,
		has_cursor ? old : NULL, id, cursor);
	if (r >= 0)
		r = db_run(history->db, err,
			"UPDATE workspace SET head = ?, pending = NULL WHERE name = ?", "tt", id,
			workspace);
	if (r >= 0 && !along)
		r = db_run(history->db, err,
			"UPDATE workspace SET cursor = last_insert_rowid() WHERE name = ?", "t",
			workspace);
	return r;
}

static int insert_node(struct history *history, struct node *node, struct err *err)
{
	owned(buf_release) struct buf body = { .max = NODE_BODY_MAX };
	int r;

	for (int try = 0; try < 8; try++) {
		if (getrandom(&node->nonce, sizeof(node->nonce), 0) != sizeof(node->nonce))
			return err_errno(err, "random number");
		buf_clear(&body);
		node_encode(node, &body);
		if (body.overflowed)
			return err_set(err, ERR_LIMIT, "the node's message or command is too long");
		node_id(body.data, body.len, node->id);
		r = db_run(history->db, err,
			"INSERT OR IGNORE INTO node (id, parent, tree, time, body) "
			"SELECT ?1, ?2, ?3, ?4, ?5 WHERE NOT EXISTS"
			" (SELECT 1 FROM tombstone WHERE id = ?1)",
			"ttbib", node->id, node->made_from[0] ? node->made_from : NULL,
			node->tree.bytes, (size_t)HASH_SIZE, node->time, body.data, body.len);
		if (r < 0)
			return r;
		if (db_changed(history->db))
			return add_to_count(history, "nodes", 1, err);
	}
	return err_set(err, ERR_LIMIT, "no free node id");
}

int history_add(struct history *history, struct node *node, const char *workspace, const char *op,
	struct err *err)
{
	int r = db_begin(history->db, err);

	if (r < 0)
		return r;
	memcpy(node->parent, node->made_from, sizeof(node->parent));
	if (node->made_from[0])
		r = need_node(history, node->made_from, err);
	if (r >= 0)
		r = store_flush(history->store, err);
	if (r >= 0)
		r = insert_node(history, node, err);
	if (r >= 0 && workspace)
		r = write_head(history, workspace, node->id, op, err);
	r = db_end(history->db, r, err);
	if (r < 0)
		store_poison(history->store, err);
	return r;
}

static int refuse_delete(struct history *history, const char *id, struct err *err)
{
	owned(db_donep) struct db_query *query = db_query(history->db, err,
		"SELECT (SELECT name FROM workspace WHERE head = ?1 OR pending = ?1),"
		" (SELECT name FROM tag WHERE node = ?1),"
		" (SELECT count(*) FROM (SELECT 1 FROM node LIMIT 2))",
		"t", id);
	int r = db_step(query, err);

	if (r <= 0)
		return r;
	if (!db_is_null(query, 0)) {
		err_set(err, ERR_INVALID, "node %s is HEAD of workspace '%s'", id,
			db_text(query, 0));
		return err_hint(err, "check out another node first");
	}
	if (!db_is_null(query, 1)) {
		err_set(err, ERR_INVALID, "node %s is tagged '%s'", id, db_text(query, 1));
		return err_hint(err, "delete the tag first: strata tag -d NAME");
	}
	if (db_int(query, 2) <= 1)
		return err_set(err, ERR_INVALID, "node %s is the only one", id);
	return 0;
}

static int remove_node(struct history *history, const char *id, int64_t time, struct err *err)
{
	int r = refuse_delete(history, id, err);

	if (r >= 0)
		r = db_run(history->db, err,
			"UPDATE node SET parent = (SELECT parent FROM node WHERE id = ?1)"
			" WHERE parent = ?1",
			"t", id);
	if (r >= 0)
		r = db_run(history->db, err, "DELETE FROM node WHERE id = ?", "t", id);
	if (r >= 0 && !db_changed(history->db))
		r = err_set(err, ERR_NOT_FOUND, "no node %s", id);
	if (r >= 0)
		r = db_run(history->db, err, "INSERT INTO tombstone VALUES (?, ?)", "ti", id, time);
	return r < 0 ? r : add_to_count(history, "nodes", -1, err);
}

int history_delete(struct history *history, const char *id, struct err *err)
{
	bool own = !db_in_transaction(history->db);
	int r = own ? db_begin(history->db, err) : 0;

	if (r < 0)
		return r;
	r = remove_node(history, id, when_now(), err);
	return own ? db_end(history->db, r, err) : r;
}

int history_drop(struct history *history, const char *id, int64_t run, struct err *err)
{
	int r = remove_node(history, id, run, err);

	return r < 0 ? r
		     : db_run(history->db, err,
			       "INSERT OR IGNORE INTO meta VALUES (" RETENTION_KEY("?") ", '1')",
			       "i", run);
}

/* -------------------------------------------------------------- workspaces */

int history_workspace_add(
	struct history *history, const struct history_workspace *workspace, struct err *err)
{
	owned(arena_release) struct arena arena = { 0 };
	bool own = !db_in_transaction(history->db);
	struct history_workspace there;
	int r = own ? db_begin(history->db, err) : 0;

	if (r < 0)
		return r;
	r = history_workspace(history, workspace->name, &arena, &there, err);
	if (r > 0)
		r = err_set(err, ERR_INVALID, "there is a workspace '%s' already", workspace->name);
	if (r >= 0)
		r = db_run(history->db, err,
			"INSERT INTO workspace (name, backend, reason, path, head)"
			" VALUES (?, ?, ?, ?, ?)",
			"ttttt", workspace->name, workspace->backend, workspace->reason,
			workspace->path, workspace->head);
	if (r >= 0)
		r = write_head(history, workspace->name, workspace->head, "init", err);
	return own ? db_end(history->db, r, err) : r;
}

int history_workspace_delete(struct history *history, const char *name, struct err *err)
{
	int r = db_begin(history->db, err);

	if (r < 0)
		return r;
	r = db_run(history->db, err, "DELETE FROM workspace WHERE name = ?", "t", name);
	if (r >= 0)
		r = db_run(history->db, err, "DELETE FROM journal WHERE workspace = ?", "t", name);
	if (r >= 0)
		r = db_run(
			history->db, err, "DELETE FROM meta WHERE key = " ROLLBACK_KEY, "t", name);
	return db_end(history->db, r, err);
}

static char *column_text(struct db_query *query, int column, struct arena *arena)
{
	return db_is_null(query, column) ? NULL : arena_strdup(arena, db_text(query, column));
}

static void workspace_from_row(
	struct db_query *query, struct arena *arena, struct history_workspace *out)
{
	*out = (struct history_workspace){ 0 };
	snprintf(out->name, sizeof(out->name), "%s", db_text(query, 0));
	snprintf(out->backend, sizeof(out->backend), "%s", db_text(query, 1));
	snprintf(out->head, sizeof(out->head), "%s", db_text(query, 2));
	out->path = column_text(query, 3, arena);
	out->pending = column_text(query, 4, arena);
	out->reason = column_text(query, 5, arena);
}

#define WORKSPACE_COLUMNS "name, backend, head, path, pending, reason"

int history_workspace(struct history *history, const char *name, struct arena *arena,
	struct history_workspace *workspace, struct err *err)
{
	owned(db_donep) struct db_query *query = db_query(history->db, err,
		"SELECT " WORKSPACE_COLUMNS " FROM workspace WHERE name = ?", "t", name);
	int r = db_step(query, err);

	if (r > 0)
		workspace_from_row(query, arena, workspace);
	return r;
}

int history_workspaces(
	struct history *history, history_workspace_visit visit, void *arg, struct err *err)
{
	owned(db_donep) struct db_query *query = db_query(
		history->db, err, "SELECT " WORKSPACE_COLUMNS " FROM workspace ORDER BY name", "");
	int r;

	while ((r = db_step(query, err)) > 0) {
		owned(arena_release) struct arena arena = { 0 };
		struct history_workspace workspace;

		workspace_from_row(query, &arena, &workspace);
		r = visit(arg, &workspace, err);
		if (r != 0)
			break;
	}
	return r < 0 ? r : 0;
}

int history_set_pending(
	struct history *history, const char *workspace, const char *id, struct err *err)
{
	int r = db_begin(history->db, err);

	if (r < 0)
		return r;
	if (id)
		r = need_node(history, id, err);
	if (r >= 0)
		r = db_run(history->db, err, "UPDATE workspace SET pending = ? WHERE name = ?",
			"tt", id, workspace);
	return db_end(history->db, r, err);
}

static int pass_over(struct history *history, const char *id, int64_t time,
	struct history_passed *passed, struct err *err)
{
	if (passed->count++)
		return 0;
	passed->time = time;
	int r = history_deleted(history, id, &passed->nearest, err);
	/*
	 * A node without a tombstone was lost by damage.  fsck reports such damage, so only the id
	 * of the node is noted here.
	 */
	if (r == 0)
		snprintf(passed->nearest.id, NODE_ID, "%s", id);
	return r < 0 ? r : 0;
}

const char *history_passed_text(const struct history_passed *passed, char text[HISTORY_PASSED_TEXT])
{
	char gone[GONE_TEXT], when[WHEN_ISO], more[48] = "";

	if (passed->count > 1)
		snprintf(more, sizeof(more), ", and %llu more are gone",
			(unsigned long long)passed->count - 1);
	snprintf(text, HISTORY_PASSED_TEXT, "node %s, where HEAD came at %s, was %s%s",
		passed->nearest.id, when_iso(passed->time, when), gone_text(&passed->nearest, gone),
		more);
	return text;
}

static int journal_ends(
	bool undo, bool counted, const struct history_passed *passed, struct err *err)
{
	char text[HISTORY_PASSED_TEXT];
	const char *left = counted ? "more" : "left", *op = undo ? "undo" : "redo";

	if (!passed->count)
		return err_set(err, ERR_NOT_FOUND, "nothing %s to %s", left, op);
	err_set(err, ERR_NOT_FOUND, "nothing %s to %s: %s", left, op,
		history_passed_text(passed, text));
	return err_hint(err, "'strata log' lists what there is, 'strata checkout' goes there");
}

/*
 * Walk the given number of steps along the journal.  A negative number means backwards.  *cursor is
 * set to the seq of the entry at which the walk ends.  id is set to the node to which that entry
 * moved HEAD.
 */
static int walk_journal(struct history *history, const char *workspace, int steps, int64_t *cursor,
	char id[NODE_ID], struct history_passed *passed, struct err *err)
{
	const char *undo = "SELECT p.seq, p.new, EXISTS (SELECT 1 FROM node WHERE id = p.new),"
			   " p.time FROM workspace AS w, journal AS c, journal AS p"
			   " WHERE w.name = ?1 AND c.seq = ifnull(?2, w.cursor) AND p.seq = c.prev";
	const char *redo =
		"SELECT j.seq, j.new, EXISTS (SELECT 1 FROM node WHERE id = j.new), j.time"
		" FROM workspace AS w, journal AS j"
		" WHERE w.name = ?1 AND j.workspace = ?1 AND j.prev = ifnull(?2, w.cursor)"
		" ORDER BY j.seq DESC LIMIT 1";
	bool started = false, counted = false;
	int64_t at = 0;

	for (int left = steps < 0 ? -steps : steps; left > 0;) {
		owned(db_donep) struct db_query *query = db_query(history->db, err,
			steps < 0 ? undo : redo, started ? "ti" : "tn", workspace, at);
		int r = db_step(query, err);

		if (r < 0)
			return r;
		if (r == 0)
			return journal_ends(steps < 0, counted, passed, err);
		at = db_int(query, 0);
		started = true;
		snprintf(id, NODE_ID, "%s", db_text(query, 1));
		/*
		 * An entry whose node was deleted is not counted as a step, since HEAD cannot move
		 * to that node.
		 */
		if (!db_int(query, 2)) {
			r = pass_over(history, id, db_int(query, 3), passed, err);
			if (r < 0)
				return r;
			continue;
		}
		*cursor = at;
		counted = true;
		left--;
	}
	return 0;
}

static int move_cursor(struct history *history, const char *workspace, const char *id,
	const char *op, struct err *err)
{
	char there[NODE_ID] = "";
	struct history_passed passed = { 0 };
	int64_t cursor = 0;
	int r = walk_journal(
		history, workspace, !strcmp(op, "undo") ? -1 : 1, &cursor, there, &passed, err);

	if (r < 0)
		return r;
	if (strcmp(there, id))
		return err_set(err, ERR_INVALID, "%s leads to node %s, not %s", op, there, id);
	return db_run(history->db, err, "UPDATE workspace SET cursor = ? WHERE name = ?", "it",
		cursor, workspace);
}

int history_move(struct history *history, const char *workspace, const char *id, const char *op,
	struct err *err)
{
	bool own = !db_in_transaction(history->db);
	int r = own ? db_begin(history->db, err) : 0;

	if (r < 0)
		return r;
	r = write_head(history, workspace, id, op, err);
	/*
	 * Undo and redo move the cursor along the journal.  All other movements need no such step,
	 * because write_head sets the cursor to the new entry.
	 */
	if (r >= 0 && (!strcmp(op, "undo") || !strcmp(op, "redo")))
		r = move_cursor(history, workspace, id, op, err);
	return own ? db_end(history->db, r, err) : r;
}

int history_step(struct history *history, const char *workspace, int steps, char id[NODE_ID],
	struct history_passed *passed, struct err *err)
{
	struct history_passed over = { 0 };
	int64_t cursor;
	int r = walk_journal(history, workspace, steps, &cursor, id, &over, err);

	if (passed)
		*passed = over;
	return r;
}

int history_head_at(struct history *history, const char *workspace, int64_t instant,
	char id[NODE_ID], struct err *err)
{
	owned(db_donep) struct db_query *query = db_query(history->db, err,
		"SELECT new FROM journal WHERE workspace = ? AND time <= ?"
		" AND EXISTS (SELECT 1 FROM node WHERE id = new) ORDER BY seq DESC LIMIT 1",
		"ti", workspace, instant);

	return first_id(query, id, err);
}

int history_head_before(struct history *history, const char *workspace, int64_t movements,
	char id[NODE_ID], struct err *err)
{
	owned(db_donep) struct db_query *query = db_query(history->db, err,
		"SELECT old FROM journal WHERE workspace = ? AND old IS NOT NULL"
		" ORDER BY seq DESC LIMIT 1 OFFSET ?",
		"ti", workspace, movements - 1);

	return first_id(query, id, err);
}

int history_journal(struct history *history, const char *workspace, struct history_journal *journal,
	struct err *err)
{
	owned(db_donep) struct db_query *query = db_query(history->db, err,
		"SELECT count(old), min(time) FROM journal WHERE workspace = ?", "t", workspace);
	int r = db_step(query, err);

	if (r <= 0)
		return r;
	journal->movements = (uint64_t)db_int(query, 0);
	journal->start = db_int(query, 1);
	return !db_is_null(query, 1);
}

int history_begin_rollback(struct history *history, const char *workspace, struct err *err)
{
	return db_run(history->db, err,
		"INSERT INTO meta VALUES (" ROLLBACK_KEY ", 1)"
		" ON CONFLICT (key) DO UPDATE SET value = value + 1",
		"t", workspace);
}

int history_last_rollback(
	struct history *history, const char *workspace, int64_t *which, struct err *err)
{
	*which = 0;
	int r = db_number(history->db, err, which,
		"SELECT value FROM meta WHERE key = " ROLLBACK_KEY, "t", workspace);
	return r < 0 ? r : 0;
}

/* -------------------------------------------------------------------- tags */

bool history_tag_ok(const char *name)
{
	size_t len = strlen(name);

	if (!len || len > HISTORY_TAG_MAX || name[0] == '-' || name[0] == '.' || node_id_ok(name) ||
		!strcmp(name, "HEAD") || !strcmp(name, "work") || !strcmp(name, "@"))
		return false;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)name[i] <= ' ' || name[i] == 0x7f || strchr("~^:@{}\\", name[i]))
			return false;
	return true;
}

int history_tag_set(struct history *history, const char *name, const char *id, struct err *err)
{
	int r = db_begin(history->db, err);

	if (r < 0)
		return r;
	r = db_run(history->db, err, "DELETE FROM tag WHERE name = ?", "t", name);
	if (r >= 0 && !db_changed(history->db))
		r = add_to_count(history, "tags", 1, err);
	if (r >= 0)
		r = db_run(history->db, err,
			"INSERT INTO tag SELECT ?, id, ? FROM node WHERE id = ?", "tit", name,
			when_now(), id);
	if (r >= 0 && !db_changed(history->db))
		r = err_set(err, ERR_NOT_FOUND, "no node %s", id);
	return db_end(history->db, r, err);
}

int history_tag_delete(struct history *history, const char *name, struct err *err)
{
	int r = db_begin(history->db, err);

	if (r < 0)
		return r;
	r = db_run(history->db, err, "DELETE FROM tag WHERE name = ?", "t", name);
	if (r >= 0 && !db_changed(history->db))
		r = err_set(err, ERR_NOT_FOUND, "no tag '%s'", name);
	if (r >= 0)
		r = add_to_count(history, "tags", -1, err);
	return db_end(history->db, r, err);
}

int history_tag_get(struct history *history, const char *name, char id[NODE_ID], struct err *err)
{
	owned(db_donep) struct db_query *query =
		db_query(history->db, err, "SELECT node FROM tag WHERE name = ?", "t", name);

	return first_id(query, id, err);
}

int history_tags(struct history *history, const char *id, history_tag_visit visit, void *arg,
	struct err *err)
{
	owned(db_donep) struct db_query *query = db_query(history->db, err,
		"SELECT name, node FROM tag WHERE ?1 IS NULL OR node = ?1 ORDER BY name", "t", id);
	int r;

	while ((r = db_step(query, err)) > 0) {
		r = visit(arg, db_text(query, 0), db_text(query, 1), err);
		if (r != 0)
			break;
	}
	return r < 0 ? r : 0;
}

/* ---------------------------------------------------------------- settings */

int history_meta_set(struct history *history, const char *key, const char *value, struct err *err)
{
	if (!value)
		return db_run(history->db, err, "DELETE FROM meta WHERE key = ?", "t", key);
	return db_run(
		history->db, err, "INSERT OR REPLACE INTO meta VALUES (?, ?)", "tt", key, value);
}

int history_meta(struct history *history, const char *key, struct arena *arena, char **value,
	struct err *err)
{
	owned(db_donep) struct db_query *query =
		db_query(history->db, err, "SELECT value FROM meta WHERE key = ?", "t", key);
	int r = db_step(query, err);

	*value = r > 0 ? column_text(query, 0, arena) : NULL;
	return r < 0 ? r : 0;
}
