/*
 * history - nodes, HEAD of each workspace, tags and the journal.
 *
 * Invariants, checked by verify.c:
 *  1. A node's tree and everything below it is in the store before the node is.
 *  2. HEAD of every workspace, and every tag, name an existing node.
 *  3. Every movement of a HEAD is in the journal, in the same transaction.
 *  4. The ids of deleted nodes stay recorded (table tombstone), so a node that is missing without
 *     a tombstone is always damage.
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
 * Every node, the one added last first; or only node id and its ancestors.
 * The callback returns a negative value to stop with that error, or 1 to stop without an error.
 */
typedef int (*history_visit)(void *arg, const struct node *node, struct err *err);
int history_each(struct history *history, history_visit visit, void *arg, struct err *err);
int history_ancestors(
	struct history *history, const char *id, history_visit visit, void *arg, struct err *err);
/* Nodes without children. */
int history_tips(struct history *history, history_visit visit, void *arg, struct err *err);
/*
 * The trees of the nodes made shortly before and after node id, nearest first: they probably
 * differ least from its tree.  Returns their number, at most max.
 */
int history_near(
	struct history *history, const char *id, struct hash *trees, size_t max, struct err *err);
int history_count(struct history *history, uint64_t *nodes, struct err *err);
/* Correct the stored counts of nodes and tags. */
int history_recount(struct history *history, struct err *err);
/* Ids with this prefix, at most max; returns their number (counting stops at max + 1). */
int history_prefix(struct history *history, const char *prefix, char (*ids)[NODE_ID], size_t max,
	struct err *err);

/* A deleted node. */
struct history_gone {
	char id[NODE_ID];
	int64_t time;   /* when it was deleted */
	bool retention; /* retention dropped it; else a user deleted it */
};
/* The first deleted node whose id has this prefix: 1, or 0 when there is none. */
int history_deleted(
	struct history *history, const char *prefix, struct history_gone *gone, struct err *err);
/* Sets ERR_NOT_FOUND; the text says how and when the node was deleted. */
int history_refuse_gone(const struct history_gone *gone, struct err *err);

/*
 * Store a new node and move the HEAD of workspace (NULL: none) to it, in one transaction
 * together with the objects stored so far.  Sets id, and parent to made_from.
 */
int history_add(struct history *history, struct node *node, const char *workspace, const char *op,
	struct err *err);

/* Delete a node; its children get its parent.  Refuses a HEAD, a tagged node and the only node. */
int history_delete(struct history *history, const char *id, struct err *err);
/* The same for retention, in the caller's transaction; run: the time at which retention began. */
int history_drop(struct history *history, const char *id, int64_t run, struct err *err);

/* --- workspaces and HEAD --- */

struct history_workspace {
	char name[64];
	char backend[16];
	char head[NODE_ID];
	char *path;    /* of a live tree outside the environment, else NULL; arena */
	char *pending; /* id of the node an unfinished checkout leads to, else NULL; arena */
	char *reason;  /* why this backend was chosen; arena */
};
/* Uses the caller's transaction, if one is open.  ERR_INVALID when the name is taken. */
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

/* Record to which node the live tree is about to be changed, before it is touched. */
int history_set_pending(
	struct history *history, const char *workspace, const char *id, struct err *err);
/*
 * Move HEAD, journal it, and clear pending.  Uses the caller's transaction, if one is open.
 * With op "undo" or "redo" id must be the node that history_step gave for one step.
 */
int history_move(struct history *history, const char *workspace, const char *id, const char *op,
	struct err *err);
/* Journal entries that undo and redo skip, because their nodes are deleted. */
struct history_passed {
	uint64_t count;
	struct history_gone nearest; /* the first one skipped */
	int64_t time;                /* when HEAD was moved there */
};
#define HISTORY_PASSED_TEXT 224
/* "node ..., where HEAD came at ..., was deleted at ..., and 2 more are gone" */
const char *history_passed_text(
	const struct history_passed *passed, char text[HISTORY_PASSED_TEXT]);
/*
 * The node to which undo (steps < 0) or redo (steps > 0) leads; ERR_NOT_FOUND at the end of the
 * journal.  passed (NULL: not wanted) says which deleted nodes were skipped.
 */
int history_step(struct history *history, const char *workspace, int steps, char id[NODE_ID],
	struct history_passed *passed, struct err *err);

/*
 * HEAD at an instant, and HEAD before the last so many movements.  1 found, 0 the journal starts
 * later.  history_head_at skips deleted nodes; the node of history_head_before may be deleted.
 */
int history_head_at(struct history *history, const char *workspace, int64_t instant,
	char id[NODE_ID], struct err *err);
int history_head_before(struct history *history, const char *workspace, int64_t movements,
	char id[NODE_ID], struct err *err);

struct history_journal {
	uint64_t movements; /* without the first entry, which has no node before it */
	int64_t start;      /* time of the first entry */
};
/* The journal of one workspace; 0 when it has none. */
int history_journal(struct history *history, const char *workspace, struct history_journal *journal,
	struct err *err);
/*
 * Before a checkout kills the programs in a workspace, it counts a rollback.  By the number of the
 * last one (0: none) a supervisor knows that its agent did not end by itself.
 */
int history_begin_rollback(struct history *history, const char *workspace, struct err *err);
int history_last_rollback(
	struct history *history, const char *workspace, int64_t *which, struct err *err);

/* --- tags --- */

#define HISTORY_TAG_MAX 128
/* A tag must not look like another kind of reference (ref.h). */
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
