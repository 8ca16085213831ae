/*
 * history - nodes, HEAD of each workspace, tags and the journal.
 *
 * Invariants, checked by verify.c:
 *  1. A node's tree and everything below it is in the store before the node is.
 *  2. HEAD of every workspace, and every tag, name an existing node.
 *  3. Every movement of a HEAD is in the journal, in the same transaction.
 *  4. Ids that were deleted stay known (table tombstone), so a missing node is
 *     always damage, never history.
 */
#pragma once
#include "history/node.h"
#include "store/store.h"

extern const char history_schema[];

struct history {
	struct db *db;       /* borrowed */
	struct store *store; /* borrowed */
};

/* --- nodes --- */

/* 1 found, 0 no such node.  The node's memory is in arena. */
int history_get(struct history *history, const char *id, struct arena *arena, struct node *node,
	struct err *err);
/*
 * Every node, newest first (by when it was added), or only what id descends from.
 * The callback returns < 0 to stop with that value, 1 to stop quietly.
 */
typedef int (*history_visit)(void *arg, const struct node *node, struct err *err);
int history_each(struct history *history, history_visit visit, void *arg, struct err *err);
int history_ancestors(
	struct history *history, const char *id, history_visit visit, void *arg, struct err *err);
/* Nodes without children. */
int history_tips(struct history *history, history_visit visit, void *arg, struct err *err);
/*
 * The trees of the nodes that were made shortly before and after node id, nearest first: of all
 * nodes they are likely the most alike.  How many, at most max.
 */
int history_near(
	struct history *history, const char *id, struct hash *trees, size_t max, struct err *err);
int history_count(struct history *history, uint64_t *nodes, struct err *err);
/* Make the counts of nodes and tags right again, should they be wrong. */
int history_recount(struct history *history, struct err *err);
/* Ids with this prefix, at most max; returns how many there are (counting stops at max + 1). */
int history_prefix(struct history *history, const char *prefix, char (*ids)[NODE_ID], size_t max,
	struct err *err);

/* A node that was there once. */
struct history_gone {
	char id[NODE_ID];
	int64_t time;   /* when it was deleted */
	bool retention; /* by retention, not because somebody named it */
};
/* Whether a deleted node's id has this prefix: 1 with the first of them, or 0. */
int history_deleted(
	struct history *history, const char *prefix, struct history_gone *gone, struct err *err);
/* ERR_NOT_FOUND, with what became of it and what can be done. */
int history_refuse_gone(const struct history_gone *gone, struct err *err);
#define HISTORY_GONE_TEXT 80
/* "dropped by retention at ...", "deleted at ..." */
const char *history_gone_text(const struct history_gone *gone, char text[HISTORY_GONE_TEXT]);

/*
 * Store a new node and move a HEAD to it (workspace NULL: no HEAD moves), all in one
 * transaction together with the objects put so far.  Fills id; parent is made_from.
 */
int history_add(struct history *history, struct node *node, const char *workspace, const char *op,
	struct err *err);

/* Take a node out: its children get its parent.  Refuses a HEAD, a tagged one and the only one. */
int history_delete(struct history *history, const char *id, struct err *err);
/* The same by retention, in the caller's transaction; run is when that began, the same for all. */
int history_drop(struct history *history, const char *id, int64_t run, struct err *err);

/* --- workspaces and HEAD --- */

struct history_workspace {
	char name[64];
	char backend[16];
	char head[NODE_ID];
	char *path;    /* of a live tree outside the environment, else NULL; arena */
	char *pending; /* id of the node an unfinished checkout goes to, else NULL; arena */
	char *reason;  /* why this backend; arena */
};
/* In the caller's transaction, if one is open.  ERR_INVALID when there is one of that name. */
int history_workspace_add(
	struct history *history, const struct history_workspace *workspace, struct err *err);
/* Forget a workspace and its journal; its nodes stay. */
int history_workspace_delete(struct history *history, const char *name, struct err *err);
int history_workspace(struct history *history, const char *name, struct arena *arena,
	struct history_workspace *workspace, struct err *err); /* 1/0/neg */
typedef int (*history_workspace_visit)(
	void *arg, const struct history_workspace *workspace, struct err *err);
int history_workspaces(
	struct history *history, history_workspace_visit visit, void *arg, struct err *err);

/* Say which node the live tree is being turned into, before touching it. */
int history_set_pending(
	struct history *history, const char *workspace, const char *id, struct err *err);
/*
 * Move HEAD, journal it, and clear pending; in the caller's transaction, if one is open.
 * op "undo" and "redo" move one step along the journal and must name the node history_step gave.
 */
int history_move(struct history *history, const char *workspace, const char *id, const char *op,
	struct err *err);
/* States that undo and redo pass over, because their nodes are gone. */
struct history_passed {
	uint64_t count;
	struct history_gone nearest; /* the first that was met */
	int64_t time;                /* when HEAD came there */
};
#define HISTORY_PASSED_TEXT 224
/* "node ..., where HEAD came at ..., was deleted at ..., and 2 more are gone" */
const char *history_passed_text(
	const struct history_passed *passed, char text[HISTORY_PASSED_TEXT]);
/*
 * Where undo (steps < 0) or redo (steps > 0) leads; ERR_NOT_FOUND at the end of the journal.
 * States whose node was deleted are passed over; passed (NULL: not wanted) says which.
 */
int history_step(struct history *history, const char *workspace, int steps, char id[NODE_ID],
	struct history_passed *passed, struct err *err);

/*
 * HEAD at an instant (where that node was deleted, the last one before that is still there), and
 * before the n-th last movement (which may be deleted).  1 found, 0 the journal starts later.
 */
int history_head_at(struct history *history, const char *workspace, int64_t instant,
	char id[NODE_ID], struct err *err);
int history_head_before(struct history *history, const char *workspace, int64_t movements,
	char id[NODE_ID], struct err *err);

struct history_journal {
	uint64_t movements; /* that led from one node to another or the same */
	int64_t start;      /* time of the first entry */
};
/* Of one workspace; 0 when it has none. */
int history_journal(struct history *history, const char *workspace, struct history_journal *journal,
	struct err *err);
/*
 * What runs in a workspace is about to be ended, for it will be another node: noted before that
 * happens, so that who looks after it can tell.  The last one's number; 0: there was none.
 */
int history_begin_rollback(struct history *history, const char *workspace, struct err *err);
int history_last_rollback(
	struct history *history, const char *workspace, int64_t *which, struct err *err);

/* --- tags --- */

#define HISTORY_TAG_MAX 128
/* A tag must not look like anything else a reference can be. */
bool history_tag_ok(const char *name);
int history_tag_set(struct history *history, const char *name, const char *id, struct err *err);
int history_tag_delete(struct history *history, const char *name, struct err *err);
int history_tag_get(
	struct history *history, const char *name, char id[NODE_ID], struct err *err); /* 1/0/neg */
typedef int (*history_tag_visit)(void *arg, const char *name, const char *id, struct err *err);
/* All tags by name, or those of one node (id not NULL). */
int history_tags(struct history *history, const char *id, history_tag_visit visit, void *arg,
	struct err *err);

/* --- settings of the environment --- */
int history_meta_set(struct history *history, const char *key, const char *value,
	struct err *err); /* NULL deletes */
/* The value in arena, or NULL (not an error). */
int history_meta(struct history *history, const char *key, struct arena *arena, char **value,
	struct err *err);
