/*
 * The walk goes through every tree once.  What is found sound is remembered in a
 * compact set together with what was said about it (its claim: sums, level, names),
 * so that the next tree that says the same needs no second look.  What is damaged, or
 * needs something damaged, becomes a vertex with edges to the damaged things
 * it needs; these are few.  After the walk, every node that needs a vertex is sent
 * down the edges, which gives each fault the nodes it touches.
 *
 * A wrong claim is the fault of the object that makes it, not of the one it is about.
 */
#include "history/verify.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/mem.h"
#include "core/own.h"
#include "core/text.h"
#include "history/reach.h"
#include "tree/xattrs.h"

#define FAULTS_MAX 100000 /* kept until their nodes are known; the rest is counted */
#define NONE UINT32_MAX

#define LEVEL_ANY (-1)  /* the top of a directory or of a chunk list */
#define LEVEL_ROOT (-2) /* the node that holds the root of a tree */

/* What one object says about another it names. */
struct claim {
	struct object_key key;
	int level;
	uint64_t count;   /* entries below a tree */
	uint64_t size;    /* bytes of files below a tree; of a chunk list or blob */
	struct str name;  /* of the entry that says so, for messages */
	struct str after; /* of a node that is not the top: names are greater than this, */
	struct str last;  /* and this is the greatest; NULL where nothing is said */
};

/* An object on the path from a root to where the walk is. */
struct frame {
	struct claim claim;
	struct buf bytes;
	struct treenode node;
	struct content_list list;
	uint64_t items;
	uint64_t count, size; /* of the items so far */
	struct str first, last;
	bool hole;    /* the last piece was one */
	size_t edges; /* open edges before this frame */
};

struct vertex {
	struct object_key key;
	uint32_t reached;        /* number of the last node that did */
	uint32_t edges, n_edges; /* first and count in walk.edges */
	bool summed;             /* could be read to its end: count and size are known */
	bool faulty;             /* damaged itself */
	uint64_t count, size;
	uint64_t total;  /* nodes that need it */
	uint32_t *nodes; /* the first VERIFY_NODES_LISTED of them */
};

struct fault {
	uint32_t vertex;
	const char *what;
};

struct touched {
	char id[NODE_ID];
	uint32_t vertex;
};

struct walk {
	struct history *history;
	struct verify *verify;
	uint64_t progress_before; /* objects, when nodes are counted */
	uint64_t progress_total;
	struct arena texts;
	struct reach sound;

	struct vertex *vertices;
	size_t n_vertices, vertices_cap;
	uint32_t *table; /* vertices by key: open addressing, NONE is free */
	size_t table_cap;
	uint32_t *edges;
	size_t n_edges, edges_cap;

	struct frame *frames;
	size_t depth, frames_cap;
	uint32_t *open; /* damaged things found so far by each frame, innermost last */
	size_t n_open, open_cap;

	struct fault *faults;
	size_t n_faults, faults_cap;
	uint64_t unlisted; /* faults beyond FAULTS_MAX */
	struct touched *nodes;
	size_t n_nodes, nodes_cap;
};

static void walk_release(struct walk *walk)
{
	for (size_t i = 0; i < walk->n_vertices; i++)
		free(walk->vertices[i].nodes);
	for (size_t i = 0; i < walk->depth; i++)
		buf_release(&walk->frames[i].bytes);
	free(walk->vertices);
	free(walk->table);
	free(walk->edges);
	free(walk->frames);
	free(walk->open);
	free(walk->faults);
	free(walk->nodes);
	reach_release(&walk->sound);
	arena_release(&walk->texts);
}

/* --------------------------------------------------------------- reporting */

static void report(struct walk *walk, const char *what, const char (*nodes)[NODE_ID], size_t listed,
	uint64_t total)
{
	struct verify_error error = {
		.what = what,
		.nodes = nodes,
		.n_nodes = listed,
		.total_nodes = total,
	};

	walk->verify->errors++;
	if (walk->verify->error)
		walk->verify->error(walk->verify->arg, &error);
}

/* A fault of one node, or with id NULL of none. */
static void report_node(struct walk *walk, const char *id, const char *what)
{
	char nodes[1][NODE_ID];

	snprintf(nodes[0], NODE_ID, "%s", id ? id : "");
	report(walk, what, (const char(*)[NODE_ID])nodes, id ? 1 : 0, id ? 1 : 0);
}

__attribute__((format(printf, 3, 4))) static void node_fault(
	struct walk *walk, const char *id, const char *fmt, ...)
{
	owned(buf_release) struct buf what = BUF_INIT;
	va_list ap;

	buf_addf(&what, "node %s: ", id);
	va_start(ap, fmt);
	buf_addv(&what, fmt, ap);
	va_end(ap);
	report_node(walk, id, what.data);
}

/* --------------------------------------------------------- what is damaged */

static uint32_t *table_slot(struct walk *walk, const struct object_key *key)
{
	size_t mask = walk->table_cap - 1;
	size_t i = (hash_prefix(&key->hash) + key->type) & mask;

	while (walk->table[i] != NONE) {
		const struct object_key *there = &walk->vertices[walk->table[i]].key;

		if (there->type == key->type && hash_eq(&there->hash, &key->hash))
			break;
		i = (i + 1) & mask;
	}
	return &walk->table[i];
}

static void table_grow(struct walk *walk)
{
	walk->table_cap = walk->table_cap ? 2 * walk->table_cap : 64;
	walk->table = mem_realloc(walk->table, walk->table_cap * sizeof(*walk->table));
	memset(walk->table, 0xff, walk->table_cap * sizeof(*walk->table));
	for (size_t i = 0; i < walk->n_vertices; i++)
		*table_slot(walk, &walk->vertices[i].key) = (uint32_t)i;
}

static uint32_t find_vertex(struct walk *walk, const struct object_key *key)
{
	return walk->n_vertices ? *table_slot(walk, key) : NONE;
}

static uint32_t vertex_of(struct walk *walk, const struct object_key *key)
{
	if (walk->n_vertices + walk->n_vertices / 2 + 1 >= walk->table_cap)
		table_grow(walk);
	uint32_t *slot = table_slot(walk, key);
	if (*slot == NONE) {
		mem_grow(&walk->vertices, &walk->vertices_cap, walk->n_vertices);
		walk->vertices[walk->n_vertices] = (struct vertex){ .key = *key };
		*slot = (uint32_t)walk->n_vertices++;
	}
	return *slot;
}

/* Note a fault of an object; it is reported when its nodes are known. */
__attribute__((format(printf, 3, 4))) static void damaged(
	struct walk *walk, const struct object_key *key, const char *fmt, ...)
{
	owned(buf_release) struct buf what = BUF_INIT;
	uint32_t vertex = vertex_of(walk, key);
	char hex[HASH_HEX];
	va_list ap;

	walk->vertices[vertex].faulty = true;
	if (walk->n_faults >= FAULTS_MAX) {
		walk->unlisted++;
		return;
	}
	buf_addf(&what, "%s %.12s: ", object_type_name(key->type), hash_hex(&key->hash, hex));
	va_start(ap, fmt);
	buf_addv(&what, fmt, ap);
	va_end(ap);
	mem_grow(&walk->faults, &walk->faults_cap, walk->n_faults);
	walk->faults[walk->n_faults++] =
		(struct fault){ vertex, arena_strdup(&walk->texts, what.data) };
}

/* The innermost frame needs a damaged thing. */
static void depend(struct walk *walk, uint32_t vertex)
{
	mem_grow(&walk->open, &walk->open_cap, walk->n_open);
	walk->open[walk->n_open++] = vertex;
}

/* ------------------------------------------------------------------- claims */

/* A wrong claim, on account of the object at hand, which made it. */
__attribute__((format(printf, 3, 4))) static void wrong(
	struct walk *walk, const struct claim *claim, const char *fmt, ...)
{
	owned(buf_release) struct buf text = BUF_INIT;
	char hex[HASH_HEX];
	va_list ap;

	if (claim->name.len)
		text_quote(&text, claim->name);
	else
		buf_addf(&text, "%s %.12s", object_type_name(claim->key.type),
			hash_hex(&claim->key.hash, hex));
	buf_addc(&text, ' ');
	va_start(ap, fmt);
	buf_addv(&text, fmt, ap);
	va_end(ap);
	damaged(walk, &walk->frames[walk->depth - 1].claim.key, "%s", text.data);
}

static bool sums_right(struct walk *walk, const struct claim *claim, uint64_t count, uint64_t size)
{
	if (claim->level == LEVEL_ROOT || (claim->count == count && claim->size == size))
		return true;
	if (claim->key.type == OBJECT_TREE)
		wrong(walk, claim,
			"is said to hold %llu entries and %llu bytes, but holds %llu and %llu",
			(unsigned long long)claim->count, (unsigned long long)claim->size,
			(unsigned long long)count, (unsigned long long)size);
	else
		wrong(walk, claim, "is said to be %llu bytes long, but is %llu",
			(unsigned long long)claim->size, (unsigned long long)size);
	return false;
}

static bool claim_right(struct walk *walk, const struct frame *done)
{
	const struct claim *claim = &done->claim;
	unsigned level = claim->key.type == OBJECT_TREE ? done->node.level : done->list.level;
	bool right = sums_right(walk, claim, done->count, done->size);

	if (claim->level >= 0 && level != (unsigned)claim->level) {
		wrong(walk, claim, "is at the wrong level");
		right = false;
	}
	if (claim->last.ptr &&
		(!str_eq(claim->last, done->last) ||
			(claim->after.ptr && str_cmp(done->first, claim->after) <= 0))) {
		wrong(walk, claim, "holds other names than it is said to");
		right = false;
	}
	return right;
}

/* One key for an object and everything said about it. */
static struct object_key claim_key(const struct claim *claim)
{
	struct object_key key = claim->key;
	uint64_t word[4];

	memcpy(word, key.hash.bytes, sizeof(word));
	word[0] ^= claim->count;
	word[1] ^= claim->size;
	word[2] ^= (uint64_t)(int64_t)claim->level;
	if (claim->after.ptr)
		word[2] ^= entry_path_hash(1, claim->after);
	if (claim->last.ptr)
		word[3] ^= entry_path_hash(2, claim->last);
	memcpy(key.hash.bytes, word, sizeof(word));
	return key;
}

/* ----------------------------------------------------------------- the walk */

static int check_xattrs(struct store *store, const struct object_key *key, struct err *err)
{
	owned(buf_release) struct buf bytes = { .max = OBJECT_MAX + 1 };
	struct xattrs_reader reader;
	struct xattr xattr;
	int r = store_get(store, key->type, &key->hash, &bytes, err);

	if (r >= 0)
		r = xattrs_open(&reader, bytes.data, bytes.len, err);
	while (r >= 0 && (r = xattrs_next(&reader, &xattr, err)) > 0)
		;
	return r;
}

/* Whether an error is about the data, so that the rest can still be checked. */
static bool is_damage(int r)
{
	return r == -ERR_CORRUPT || r == -ERR_NOT_FOUND || r == -ERR_LIMIT;
}

static int push_frame(struct walk *walk, const struct claim *claim, struct err *err)
{
	struct frame frame = {
		.claim = *claim,
		.bytes.max = OBJECT_MAX + 1,
		.edges = walk->n_open,
	};
	int r = store_get(
		walk->history->store, claim->key.type, &claim->key.hash, &frame.bytes, err);

	if (r >= 0)
		r = claim->key.type == OBJECT_TREE
			    ? treenode_open(&frame.node, frame.bytes.data, frame.bytes.len, err)
			    : content_list_open(
				      &frame.list, frame.bytes.data, frame.bytes.len, err);
	if (r < 0) {
		buf_release(&frame.bytes);
		return r;
	}
	mem_grow(&walk->frames, &walk->frames_cap, walk->depth);
	walk->frames[walk->depth++] = frame;
	return 0;
}

/* An object with a row: look into it, if only later. */
static int check_object(struct walk *walk, const struct claim *claim, uint64_t raw, struct err *err)
{
	struct object_key sound = claim_key(claim);
	int r = 0;

	switch (claim->key.type) {
	case OBJECT_BLOB:
		/* Its bytes were read by store_verify. */
		if (sums_right(walk, claim, 0, raw))
			reach_add(&walk->sound, &sound);
		return 0;
	case OBJECT_XATTRS:
		r = check_xattrs(walk->history->store, &claim->key, err);
		if (r >= 0)
			reach_add(&walk->sound, &sound);
		return r;
	default:
		return push_frame(walk, claim, err);
	}
}

/* Take notice of an object that the innermost frame names. */
static int enter(struct walk *walk, const struct claim *claim, struct err *err)
{
	struct object_key sound = claim_key(claim);
	uint32_t vertex = find_vertex(walk, &claim->key);
	struct err why = { 0 };
	uint64_t raw = 0;

	if (vertex != NONE) {
		const struct vertex *known = &walk->vertices[vertex];

		if (known->summed)
			(void)sums_right(walk, claim, known->count, known->size);
		depend(walk, vertex);
		return 0;
	}
	if (reach_has(&walk->sound, &sound))
		return 0;
	int r = store_raw_size(walk->history->store, claim->key.type, &claim->key.hash, &raw, &why);
	if (r == 0)
		r = err_set(&why, ERR_CORRUPT, "missing from the store");
	else if (r > 0)
		r = check_object(walk, claim, raw, &why);
	if (is_damage(r)) {
		damaged(walk, &claim->key, "%s", why.text);
		depend(walk, find_vertex(walk, &claim->key));
		return 0;
	}
	if (r < 0)
		*err = why;
	return r;
}

/* The innermost frame is finished: read to its end, or as far as it could be. */
static void leave(struct walk *walk, bool whole)
{
	struct frame done = walk->frames[--walk->depth];
	uint32_t vertex = find_vertex(walk, &done.claim.key);
	size_t n = walk->n_open - done.edges;

	if (n && vertex == NONE)
		vertex = vertex_of(walk, &done.claim.key);
	if (vertex != NONE) {
		struct vertex *here = &walk->vertices[vertex];

		here->edges = (uint32_t)walk->n_edges;
		here->n_edges = (uint32_t)n;
		here->summed = whole;
		here->count = done.count;
		here->size = done.size;
		for (size_t i = 0; i < n; i++) {
			mem_grow(&walk->edges, &walk->edges_cap, walk->n_edges);
			walk->edges[walk->n_edges++] = walk->open[done.edges + i];
		}
		walk->n_open = done.edges;
		depend(walk, vertex);
	}
	if (whole && claim_right(walk, &done) && vertex == NONE) {
		struct object_key sound = claim_key(&done.claim);

		reach_add(&walk->sound, &sound);
	}
	buf_release(&done.bytes);
}

static int next_child(struct walk *walk, struct frame *frame, struct err *err)
{
	struct treenode_child child;
	int r = treenode_child(&frame->node, &child, err);

	if (r <= 0)
		return r;
	struct claim claim = {
		.key = { child.hash, OBJECT_TREE },
		.level = (int)frame->node.level - 1,
		.count = child.count,
		.size = child.size,
		.after = frame->items ? frame->last : frame->claim.after,
		.last = child.last,
	};
	/* Where names begin is for the first leaf to check, which inherits what they come after. */
	if (!frame->items++)
		frame->first = child.last;
	frame->last = child.last;
	frame->count += child.count;
	frame->size += child.size;
	r = enter(walk, &claim, err);
	return r < 0 ? r : 1;
}

static int check_name(const struct frame *frame, const struct entry *entry, struct err *err)
{
	bool root = frame->claim.level == LEVEL_ROOT;

	if (root != !entry->name.len || (root && entry->type != ENTRY_DIR))
		return err_set(err, ERR_CORRUPT, "%s",
			root ? "not the root of a tree" : "a root, not a directory");
	return 0;
}

static int next_entry(struct walk *walk, struct frame *frame, struct err *err)
{
	static const enum object_type types[] = {
		[ENTRY_BLOB] = OBJECT_BLOB,
		[ENTRY_CHUNKS] = OBJECT_CHUNKS,
		[ENTRY_TREE] = OBJECT_TREE,
		[ENTRY_UNREAD] = 0,
	};
	struct entry entry;
	int r = treenode_entry(&frame->node, &entry, err);

	if (r > 0 && check_name(frame, &entry, err) < 0)
		r = -(int)err->code;
	if (r <= 0)
		return r;
	if (!frame->items++)
		frame->first = entry.name;
	frame->last = entry.name;
	frame->count += 1 + (entry.type == ENTRY_DIR ? entry.count : 0);
	if (entry.type == ENTRY_DIR || entry.type == ENTRY_FILE)
		frame->size += entry.size;

	struct claim claim = { .level = LEVEL_ANY, .name = entry.name };
	if (!hash_is_none(&entry.xattrs)) {
		claim.key = (struct object_key){ entry.xattrs, OBJECT_XATTRS };
		r = enter(walk, &claim, err);
	}
	/* Last, since it may put a frame upon this one, and move all of them. */
	if (r >= 0 && types[entry.content]) {
		claim.key = (struct object_key){ entry.hash, types[entry.content] };
		claim.count = entry.count;
		claim.size = entry.size;
		r = enter(walk, &claim, err);
	}
	return r < 0 ? r : 1;
}

static int next_piece(struct walk *walk, struct frame *frame, struct err *err)
{
	struct content_piece piece;
	int r = content_list_next(&frame->list, &piece, err);

	if (r <= 0)
		return r;
	if (piece.hole && frame->hole)
		return err_set(err, ERR_CORRUPT, "two holes follow each other");
	frame->hole = piece.hole;
	frame->size += piece.length;
	if (piece.hole)
		return 1;
	struct claim claim = {
		.key = { piece.hash, frame->list.level ? OBJECT_CHUNKS : OBJECT_BLOB },
		.level = frame->list.level ? (int)frame->list.level - 1 : LEVEL_ANY,
		.size = piece.length,
	};
	r = enter(walk, &claim, err);
	return r < 0 ? r : 1;
}

static int next_item(struct walk *walk, struct err *err)
{
	struct frame *frame = &walk->frames[walk->depth - 1];

	if (frame->claim.key.type == OBJECT_CHUNKS)
		return next_piece(walk, frame, err);
	if (!frame->node.level)
		return next_entry(walk, frame, err);
	if (frame->claim.level == LEVEL_ROOT)
		return err_set(err, ERR_CORRUPT, "not the root of a tree");
	return next_child(walk, frame, err);
}

/* Everything below a tree; *vertex is NONE when it is sound. */
static int check_tree(struct walk *walk, const struct hash *tree, uint32_t *vertex, struct err *err)
{
	struct claim claim = { .key = { *tree, OBJECT_TREE }, .level = LEVEL_ROOT };
	int r = enter(walk, &claim, err);

	while (r >= 0 && walk->depth) {
		size_t depth = walk->depth;
		struct err why = { 0 };

		r = next_item(walk, &why);
		if (r == 0) {
			leave(walk, true);
		} else if (is_damage(r) && walk->depth == depth) {
			damaged(walk, &walk->frames[depth - 1].claim.key, "%s", why.text);
			leave(walk, false);
			r = 0;
		} else if (r < 0) {
			*err = why;
		}
	}
	*vertex = walk->n_open ? walk->open[0] : NONE;
	walk->n_open = 0;
	return r < 0 ? r : 0;
}

/* ---------------------------------------------------------------- the nodes */

/* Bits: 1 a node, 2 a deleted one. */
static int known_id(struct walk *walk, const char *id, struct err *err)
{
	owned(db_donep) struct db_query *query = db_query(walk->history->db, err,
		"SELECT EXISTS (SELECT 1 FROM node WHERE id = ?1)"
		" + 2 * EXISTS (SELECT 1 FROM tombstone WHERE id = ?1)",
		"t", id);

	if (!query)
		return -(int)err->code;
	int r = db_step(query, err);
	return r <= 0 ? r : (int)db_int(query, 0);
}

/* Whether parent is what made_from and the deletions since make it. */
static int check_parent(struct walk *walk, const struct node *node, struct err *err)
{
	int r = node->made_from[0] ? known_id(walk, node->made_from, err) : 0;

	if (r < 0)
		return r;
	if (!node->made_from[0] && node->parent[0])
		node_fault(walk, node->id, "a first node, but its row names %s as its parent",
			node->parent);
	/* Equal to a parent that is missing: said once, by missing_parents below. */
	else if (node->made_from[0] && !r && strcmp(node->made_from, node->parent))
		node_fault(walk, node->id,
			"made from %s, which is neither a node nor a deleted one", node->made_from);
	else if (r & 1 && strcmp(node->made_from, node->parent))
		node_fault(walk, node->id, "made from %s, but its row names %s as its parent",
			node->made_from, node->parent[0] ? node->parent : "nothing");
	return 0;
}

static int check_record(struct walk *walk, struct db_query *row, const char *id, struct hash *tree,
	bool *has_tree, struct err *err)
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
		node_fault(walk, id, "its record does not match its id");
		return 0;
	}
	if (node_decode(body.ptr, body.len, &arena, &node, &why) < 0) {
		node_fault(walk, id, "its record is damaged: %s", why.text);
		return 0;
	}
	if (!*has_tree || !hash_eq(&node.tree, tree))
		node_fault(walk, id, "its row and its record name different trees");
	if (db_int(row, 3) != node.time)
		node_fault(walk, id, "its row and its record have different times");
	/* The record is what the id vouches for. */
	*tree = node.tree;
	*has_tree = true;
	return check_parent(walk, &node, err);
}

static int check_row(struct walk *walk, struct db_query *row, struct err *err)
{
	const char *text = db_text(row, 0);
	bool has_tree = false;
	char id[NODE_ID];
	struct hash tree;
	uint32_t vertex;

	if (!text || !node_id_ok(text)) {
		report_node(walk, NULL, "a node row has a malformed id");
		return 0;
	}
	memcpy(id, text, NODE_ID);
	int r = check_record(walk, row, id, &tree, &has_tree, err);
	if (r < 0 || !has_tree)
		return r;
	r = check_tree(walk, &tree, &vertex, err);
	if (r >= 0 && vertex != NONE) {
		mem_grow(&walk->nodes, &walk->nodes_cap, walk->n_nodes);
		memcpy(walk->nodes[walk->n_nodes].id, id, NODE_ID);
		walk->nodes[walk->n_nodes++].vertex = vertex;
	}
	return r;
}

static int check_nodes(struct walk *walk, struct err *err)
{
	struct verify *verify = walk->verify;
	int r;

	owned(db_donep) struct db_query *query = db_query(walk->history->db, err,
		"SELECT id, parent, tree, time, body FROM node ORDER BY seq DESC", "");
	if (!query)
		return -(int)err->code;
	while ((r = db_step(query, err)) > 0) {
		r = check_row(walk, query, err);
		if (r < 0)
			return r;
		verify->nodes++;
		if (verify->progress)
			verify->progress(verify->arg, walk->progress_before + verify->nodes,
				walk->progress_total);
	}
	return r;
}

/* ------------------------------------------------- which nodes a fault touches */

static void touch(struct vertex *vertex, uint32_t node)
{
	if (vertex->faulty && vertex->total < VERIFY_NODES_LISTED) {
		if (!vertex->nodes)
			vertex->nodes = mem_alloc(VERIFY_NODES_LISTED * sizeof(*vertex->nodes));
		vertex->nodes[vertex->total] = node;
	}
	vertex->total++;
}

static void send_down(struct walk *walk, uint32_t node)
{
	/* The stack of open edges is not in use any more. */
	walk->n_open = 0;
	depend(walk, walk->nodes[node].vertex);
	while (walk->n_open) {
		struct vertex *vertex = &walk->vertices[walk->open[--walk->n_open]];

		if (vertex->reached == node + 1)
			continue;
		vertex->reached = node + 1;
		touch(vertex, node);
		for (uint32_t i = 0; i < vertex->n_edges; i++)
			depend(walk, walk->edges[vertex->edges + i]);
	}
}

static void report_faults(struct walk *walk)
{
	char ids[VERIFY_NODES_LISTED][NODE_ID];

	for (size_t i = 0; i < walk->n_nodes; i++)
		send_down(walk, (uint32_t)i);
	for (size_t i = 0; i < walk->n_faults; i++) {
		const struct vertex *vertex = &walk->vertices[walk->faults[i].vertex];
		size_t n =
			vertex->total < VERIFY_NODES_LISTED ? vertex->total : VERIFY_NODES_LISTED;

		for (size_t j = 0; j < n; j++)
			memcpy(ids[j], walk->nodes[vertex->nodes[j]].id, NODE_ID);
		report(walk, walk->faults[i].what, (const char(*)[NODE_ID])ids, n, vertex->total);
	}
	if (walk->unlisted) {
		char what[64];

		snprintf(what, sizeof(what), "%llu more damaged objects",
			(unsigned long long)walk->unlisted);
		report_node(walk, NULL, what);
		walk->verify->errors += walk->unlisted - 1;
	}
}

/* -------------------------------------------------------- what names a node */

/* Each row is a fault: its text, and the node it touches or null. */
static const char *const table_checks[] = {
	/* parents */
	"SELECT 'node ' || n.id || ': its parent ' || n.parent ||"
	" CASE WHEN EXISTS (SELECT 1 FROM tombstone AS t WHERE t.id = n.parent)"
	"  THEN ' was deleted' ELSE ' is missing' END, n.id"
	" FROM node AS n WHERE n.parent IS NOT NULL"
	" AND NOT EXISTS (SELECT 1 FROM node AS p WHERE p.id = n.parent) ORDER BY n.seq",

	/* circles: what cannot be reached from a node without a parent */
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

	/* counts */
	"WITH c(key, n) AS (SELECT 'nodes', (SELECT count(*) FROM node)"
	" UNION ALL SELECT 'tags', (SELECT count(*) FROM tag))"
	"SELECT 'the count of ' || c.key || ' is ' || ifnull(m.value, 'missing') ||"
	" ', but there are ' || c.n, NULL"
	" FROM c LEFT JOIN meta AS m ON m.key = c.key"
	" WHERE m.value IS NULL OR m.value <> CAST(c.n AS TEXT)",
};

static int check_table(struct walk *walk, const char *sql, struct err *err)
{
	owned(db_donep) struct db_query *query = db_query(walk->history->db, err, sql, "");
	int r;

	if (!query)
		return -(int)err->code;
	while ((r = db_step(query, err)) > 0) {
		const char *what = db_text(query, 0);

		report_node(walk, db_text(query, 1), what ? what : "a row is malformed");
	}
	return r;
}

/* -------------------------------------------------------------------- whole */

static void store_fault(void *arg, const struct store_fault *fault)
{
	struct walk *walk = arg;

	if (fault->key.type) {
		damaged(walk, &fault->key, "%s", fault->what);
		return;
	}
	owned(buf_release) struct buf what = BUF_INIT;
	if (fault->pack)
		buf_addf(&what, "pack %08x: ", fault->pack);
	buf_addf(&what, "%s", fault->what);
	report_node(walk, NULL, what.data);
}

static void store_progress(void *arg, uint64_t done, uint64_t total)
{
	struct walk *walk = arg;
	uint64_t nodes = walk->progress_total - walk->progress_before;

	walk->progress_before = total;
	walk->progress_total = total + nodes;
	walk->verify->progress(walk->verify->arg, done, walk->progress_total);
}

/* A table too damaged to be read to its end is a fault like any other. */
static int survive(struct walk *walk, int r, struct err *why, struct err *err)
{
	if (r == -ERR_CORRUPT) {
		report_node(walk, NULL, why->text);
		return 0;
	}
	if (r < 0)
		*err = *why;
	return r;
}

static int check_store(struct walk *walk, struct err *err)
{
	struct verify *verify = walk->verify;
	struct store_verify store = {
		.fault = store_fault,
		.progress = verify->progress ? store_progress : NULL,
		.arg = walk,
	};
	int r = store_verify(walk->history->store, &store, err);

	verify->objects = store.objects;
	verify->bytes = store.bytes;
	return r;
}

/* Not history_count, which may be wrong. */
static int count_nodes(struct walk *walk, struct err *err)
{
	owned(db_donep) struct db_query *query =
		db_query(walk->history->db, err, "SELECT count(*) FROM node", "");

	if (!query)
		return -(int)err->code;
	int r = db_step(query, err);
	if (r > 0)
		walk->progress_total = (uint64_t)db_int(query, 0);
	return r;
}

static int check_all(struct walk *walk, struct err *err)
{
	struct err why = { 0 };
	int r = survive(walk, count_nodes(walk, &why), &why, err);

	if (r >= 0)
		r = check_store(walk, err);
	if (r >= 0)
		r = survive(walk, check_nodes(walk, &why), &why, err);
	for (size_t i = 0; i < sizeof(table_checks) / sizeof(table_checks[0]) && r >= 0; i++)
		r = survive(walk, check_table(walk, table_checks[i], &why), &why, err);
	if (r >= 0)
		report_faults(walk);
	return r;
}

int verify_run(struct history *history, struct verify *verify, struct err *err)
{
	owned(walk_release) struct walk walk = { .history = history, .verify = verify };

	verify->errors = verify->objects = verify->nodes = verify->bytes = 0;
	reach_init(&walk.sound, history->store);
	int r = check_all(&walk, err);
	return r < 0 ? r : 0;
}
