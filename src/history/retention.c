/*
 * A run of retention first chooses the nodes to drop.  For this it loads all nodes into a compact
 * array.  Then it deletes the chosen nodes.  Each transaction deletes only a few nodes, so that
 * other writers need not wait for the whole run.  Nothing is locked while nodes are chosen.  If a
 * chosen node becomes a HEAD or gets a tag before it is deleted, history_drop refuses to drop it.
 *
 * Time is divided into buckets, such as hours.  Of each bucket, only the newest node is kept, apart
 * from protected nodes.  Buckets follow the calendar, and not the age of nodes.  So the last node
 * of an hour is also the last node of that hour in every later run.  Repeated runs therefore drop
 * no more nodes than a single run.
 */
#include "history/retention.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/mem.h"
#include "core/own.h"
#include "core/when.h"
#include "history/reach.h"

#define MINUTE (60 * WHEN_SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define MONTH (30 * DAY)
#define WEEK (7 * DAY)
#define MONDAY (3 * DAY) /* start of the first Monday, since the epoch was a Thursday */

#define NO_NODE UINT64_MAX
/*
 * Maximum number of movements of HEAD whose nodes get ITEM_LATE, counted from the latest.  The
 * limit exists because a program may move HEAD very often.
 */
#define MOVEMENTS_MAX 1000
#define DROPPED_AT_ONCE 64 /* maximum number of nodes that are dropped in one transaction */

enum item_flags {
	ITEM_PROTECTED = 1 << 0,
	ITEM_HAS_CHILD = 1 << 1,
	ITEM_FORK = 1 << 2, /* the node has at least two children */
	ITEM_DROP = 1 << 3,
	/* the node is dropped only to save bytes, and only after all other unprotected nodes */
	ITEM_LATE = 1 << 4,
};

/* A node.  Its id of 12 hex digits is kept as a number. */
struct item {
	uint64_t id;
	uint64_t parent; /* NO_NODE: the node has no parent */
	int64_t time;
	int64_t seq;
	unsigned flags;
};

struct items {
	struct item *list;
	size_t count;
	size_t cap;
};

static void items_release(struct items *items)
{
	free(items->list);
}

static void id_text(uint64_t id, char out[NODE_ID])
{
	snprintf(out, NODE_ID, "%012llx", (unsigned long long)id & 0xffffffffffff);
}

static bool id_number(const char *text, uint64_t *id)
{
	if (!text || !node_id_ok(text))
		return false;
	*id = strtoull(text, NULL, 16);
	return true;
}

static int compare_ids(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static int newest_first(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? 1 : -1;
	return (x->seq < y->seq) - (x->seq > y->seq);
}

/* Find a node in the list, which must be sorted by id.  Returns NULL if the node is not in it. */
static struct item *find_item(const struct items *items, uint64_t id)
{
	struct item key = { .id = id };

	if (id == NO_NODE || !items->count)
		return NULL;
	return bsearch(&key, items->list, items->count, sizeof(key), compare_ids);
}

/* ------------------------------------------------------------------ loading */

/*
 * Whether a user wrote the message of a node.  Returns false for a damaged node, which fsck
 * reports.
 */
static bool is_described(struct str body)
{
	owned(arena_release) struct arena arena = { 0 };
	struct err ignored = { 0 };
	struct node node = { 0 };

	return node_decode(body.ptr, body.len, &arena, &node, &ignored) >= 0 &&
	       node_is_described(&node);
}

static int load_items(struct history *history, struct items *items, struct err *err)
{
	owned(db_donep) struct db_query *query = db_query(
		history->db, err, "SELECT id, parent, time, seq, body FROM node ORDER BY id", "");
	int r;

	while ((r = db_step(query, err)) > 0) {
		struct item item = {
			.parent = NO_NODE,
			.time = db_int(query, 2),
			.seq = db_int(query, 3),
		};

		if (!id_number(db_text(query, 0), &item.id) ||
			(!db_is_null(query, 1) && !id_number(db_text(query, 1), &item.parent)))
			return err_set(err, ERR_CORRUPT, "node row with a malformed id");
		item.flags = is_described(db_bytes(query, 4)) ? ITEM_LATE : 0;
		mem_grow(&items->list, &items->cap, items->count);
		items->list[items->count++] = item;
	}
	return r;
}

static void mark_children(struct items *items)
{
	for (size_t i = 0; i < items->count; i++) {
		struct item *parent = find_item(items, items->list[i].parent);

		if (parent)
			parent->flags |=
				parent->flags & ITEM_HAS_CHILD ? ITEM_FORK : ITEM_HAS_CHILD;
	}
}

/* Protect a node and its nearest ancestors, at most 'count' nodes in all. */
static void protect_chain(struct items *items, uint64_t id, uint64_t count)
{
	struct item *item = find_item(items, id);

	/*
	 * End the walk after as many steps as there are nodes.  In a damaged history, parents may
	 * form a circle.
	 */
	for (size_t i = 0; item && i < count && i < items->count; i++) {
		item->flags |= ITEM_PROTECTED;
		item = find_item(items, item->parent);
	}
}

/*
 * Protect all pending nodes, all tagged nodes, each HEAD, and the nearest ancestors of each HEAD.
 * The parameter 'keep' is the number of nodes to protect for one HEAD, including the HEAD.
 */
static int protect_named(
	struct history *history, struct items *items, uint64_t keep, struct err *err)
{
	owned(db_donep) struct db_query *query = db_query(history->db, err,
		"SELECT head, 1 FROM workspace"
		" UNION ALL SELECT pending, 0 FROM workspace WHERE pending IS NOT NULL"
		" UNION ALL SELECT node, 0 FROM tag",
		"");
	uint64_t id;
	int r;

	while ((r = db_step(query, err)) > 0)
		if (id_number(db_text(query, 0), &id))
			protect_chain(items, id, db_int(query, 1) && keep ? keep : 1);
	return r;
}

/*
 * Set ITEM_LATE for the old and the new node of each recent checkout, undo and redo, since undo and
 * redo lead to these nodes.  All other movements of HEAD lead to a new node, and set no flag.
 */
static int mark_movements(
	struct history *history, struct items *items, int64_t now, struct err *err)
{
	owned(db_donep) struct db_query *query = db_query(history->db, err,
		"SELECT old, new FROM journal WHERE op IN ('checkout', 'undo', 'redo')"
		" AND time >= ? ORDER BY seq DESC LIMIT ?",
		"ii", now - MONTH, (int64_t)MOVEMENTS_MAX);
	int r;

	while ((r = db_step(query, err)) > 0)
		for (int i = 0; i < 2; i++) {
			struct item *item = NULL;
			uint64_t id;

			if (id_number(db_text(query, i), &id))
				item = find_item(items, id);
			if (item)
				item->flags |= ITEM_LATE;
		}
	return r;
}

/* ----------------------------------------------------------------- deciding */

static int64_t age_of(const struct item *item, int64_t now)
{
	int64_t age;

	if (item->time >= now)
		return 0;
	return __builtin_sub_overflow(now, item->time, &age) ? INT64_MAX : age;
}

static int64_t bucket_length(int64_t age)
{
	if (age <= HOUR)
		return MINUTE;
	if (age <= DAY)
		return HOUR;
	return age <= MONTH ? DAY : WEEK;
}

static int64_t bucket_of(int64_t time, int64_t length)
{
	int64_t at = length == WEEK && time <= INT64_MAX - MONDAY ? time + MONDAY : time;

	return at / length - (at % length < 0);
}

/*
 * Protect nodes without a parent, nodes with several children, and recent nodes without children.
 */
static void protect_by_shape(struct items *items, int64_t now)
{
	for (size_t i = 0; i < items->count; i++) {
		struct item *item = &items->list[i];
		bool tip = !(item->flags & ITEM_HAS_CHILD);
		/*
		 * Protect a node without a parent at any age, since its recorded time may be wrong.
		 */
		bool start = item->parent == NO_NODE;

		if (start || item->flags & ITEM_FORK || (tip && age_of(item, now) <= MONTH))
			item->flags |= ITEM_PROTECTED;
	}
}

/*
 * Mark nodes to be dropped.  The newest node of each bucket is kept, and so are protected nodes and
 * nodes with ITEM_LATE.  The list is sorted with the newest node first.
 */
static void thin(struct items *items, int64_t now)
{
	int64_t last_length = 0, last_bucket = 0;

	for (size_t i = 0; i < items->count; i++) {
		struct item *item = &items->list[i];
		int64_t length = bucket_length(age_of(item, now));
		int64_t bucket = bucket_of(item->time, length);

		if (item->flags & (ITEM_PROTECTED | ITEM_LATE))
			continue;
		if (length == last_length && bucket == last_bucket)
			item->flags |= ITEM_DROP;
		last_length = length;
		last_bucket = bucket;
	}
}

struct measure {
	struct store *store;
	uint64_t bytes;
	uint64_t max;
	bool exceeded;
};

struct fitting {
	struct reach *reach;
	struct measure *measure;
	struct retention_result *result;
	bool full; /* no further node fits into the limit */
};

static int add_size(void *arg, const struct object_key *key, struct err *err)
{
	struct measure *measure = arg;
	uint64_t bytes, raw;
	int r = store_size(measure->store, key, &bytes, &raw, err);

	if (r < 0)
		return r;
	if (r == 0) {
		char hex[HASH_HEX];

		err_set(err, ERR_CORRUPT, "%s %.12s is missing from the store",
			object_type_name(key->type), hash_hex(&key->hash, hex));
		return err_hint(err, "run 'strata fsck'");
	}
	measure->bytes += bytes;
	if (measure->bytes <= measure->max)
		return 0;
	measure->exceeded = true;
	return err_set(err, ERR_LIMIT, "more than %llu bytes", (unsigned long long)measure->max);
}

static int add_tree_of(
	struct history *history, struct reach *reach, uint64_t number, struct err *err)
{
	struct hash tree;
	char id[NODE_ID];

	id_text(number, id);
	owned(db_donep) struct db_query *query =
		db_query(history->db, err, "SELECT tree FROM node WHERE id = ?", "t", id);
	int r = db_step(query, err);
	if (r <= 0)
		return r; /* the node has been deleted since it was loaded */
	struct str bytes = db_bytes(query, 0);
	if (bytes.len != HASH_SIZE)
		return err_set(err, ERR_CORRUPT, "node %s has no tree", id);
	memcpy(tree.bytes, bytes.ptr, HASH_SIZE);
	db_done(query);
	r = reach_tree(reach, &tree, err);
	return r < 0 ? err_context(err, "node %s", id) : 0;
}

/*
 * Go through the items for which (item->flags & mask) == flags.  Keep the newest of these items as
 * long as they fit into the limit, and mark the others to be dropped.
 */
static int fit_newest(struct history *history, struct items *items, struct fitting *fitting,
	unsigned mask, unsigned flags, struct err *err)
{
	struct measure *measure = fitting->measure;

	for (size_t i = 0; i < items->count; i++) {
		struct item *item = &items->list[i];
		struct err why = { 0 };

		if ((item->flags & mask) != flags)
			continue;
		int r = fitting->full ? 0 : add_tree_of(history, fitting->reach, item->id, &why);
		if (r < 0 && !measure->exceeded) {
			*err = why;
			return r;
		}
		fitting->full |= measure->exceeded;
		if (fitting->full)
			item->flags |= ITEM_DROP;
		else
			fitting->result->live_bytes = measure->bytes;
	}
	return 0;
}

/*
 * Mark nodes to be dropped until the remaining nodes need at most 'max' bytes.  Protected nodes are
 * always kept.  Of the other nodes, those marked ITEM_LATE are dropped last.
 */
static int fit_into(struct history *history, struct items *items, uint64_t max,
	struct retention_result *result, struct err *err)
{
	struct measure measure = { .store = history->store, .max = UINT64_MAX };
	owned(reach_release) struct reach reach;
	struct fitting fitting = { .reach = &reach, .measure = &measure, .result = result };
	const unsigned mask = ITEM_PROTECTED | ITEM_LATE | ITEM_DROP;
	int r = 0;

	reach_init(&reach, history->store);
	reach.visit = add_size;
	reach.arg = &measure;
	for (size_t i = 0; i < items->count && r >= 0; i++)
		if (items->list[i].flags & ITEM_PROTECTED)
			r = add_tree_of(history, &reach, items->list[i].id, err);
	if (r < 0)
		return r;
	result->live_bytes = measure.bytes;
	result->over_limit = fitting.full = measure.bytes > max;
	measure.max = max;
	r = fit_newest(history, items, &fitting, mask, ITEM_LATE, err);
	return r < 0 ? r : fit_newest(history, items, &fitting, mask, 0, err);
}

static int choose_nodes(struct history *history, const struct retention_options *options,
	struct items *items, struct retention_result *result, struct err *err)
{
	int r = load_items(history, items, err);

	if (r < 0 || !items->count)
		return r;
	mark_children(items);
	r = protect_named(history, items, options->keep, err);
	if (r >= 0)
		r = mark_movements(history, items, options->now, err);
	if (r < 0)
		return r;
	protect_by_shape(items, options->now);
	qsort(items->list, items->count, sizeof(*items->list), newest_first);
	thin(items, options->now);
	return options->max_bytes ? fit_into(history, items, options->max_bytes, result, err) : 0;
}

/* ----------------------------------------------------------------- dropping */

struct dropping {
	struct history *history;
	bool dry_run;
	int64_t run;
	history_visit visit;
	void *arg;
};

/*
 * Drop a node.  Returns 0 if the node is kept, 1 if it was dropped, 2 if it was dropped and the
 * callback wants to stop, or a negative error.
 */
static int drop_node(const struct dropping *dropping, const char *id, struct err *err)
{
	owned(arena_release) struct arena arena = { 0 };
	struct err refused = { 0 };
	struct node node;
	int r = history_get(dropping->history, id, &arena, &node, &refused);

	/* Keep a damaged node, so that fsck can report it. */
	if (r == 0 || r == -ERR_CORRUPT)
		return 0;
	if (r > 0 && !dropping->dry_run)
		r = history_drop(dropping->history, id, dropping->run, &refused);
	if (r == -ERR_INVALID)
		return 0;
	if (r < 0) {
		*err = refused;
		return r;
	}
	r = dropping->visit ? dropping->visit(dropping->arg, &node, err) : 0;
	return r < 0 ? r : 1 + r;
}

/* Drop the next marked nodes, at most DROPPED_AT_ONCE, beginning at the index *next. */
static int drop_some(const struct dropping *dropping, const struct items *items, size_t *next,
	struct retention_result *result, struct err *err)
{
	int r = 0;

	for (int n = 0; *next < items->count && n < DROPPED_AT_ONCE && r < 2; ++*next) {
		char id[NODE_ID];

		if (!(items->list[*next].flags & ITEM_DROP))
			continue;
		id_text(items->list[*next].id, id);
		r = drop_node(dropping, id, err);
		if (r < 0)
			return r;
		result->dropped += r > 0;
		n++;
	}
	if (r == 2)
		*next = items->count;
	return 0;
}

static int drop_all(const struct dropping *dropping, const struct items *items,
	struct retention_result *result, struct err *err)
{
	struct db *db = dropping->history->db;
	bool own = !dropping->dry_run && !db_in_transaction(db);
	int r = 0;

	for (size_t next = 0; r >= 0 && next < items->count;) {
		r = own ? db_begin(db, err) : 0;
		if (r < 0)
			return r;
		r = drop_some(dropping, items, &next, result, err);
		if (own)
			r = db_end(db, r, err);
	}
	return r;
}

int retention_run(struct history *history, const struct retention_options *options,
	history_visit dropped, void *arg, struct retention_result *result, struct err *err)
{
	struct dropping dropping = { history, options->dry_run, when_now(), dropped, arg };
	owned(items_release) struct items items = { 0 };
	struct retention_result out = { 0 };
	int r = choose_nodes(history, options, &items, &out, err);

	if (r >= 0)
		r = drop_all(&dropping, &items, &out, err);
	if (r < 0)
		return r;
	out.kept = items.count - out.dropped;
	*result = out;
	return 0;
}
