/*
 * history - nodes, HEAD of each workspace, tags and the journal.
 *
 * Invariants, which verify.c checks:
 *  1. When a node is added, its tree and everything below the tree are in the store.
 *  2. Every tag refers to an existing node, and so does the HEAD of every workspace.
 *  3. Every movement of a HEAD is in the journal.  HEAD and its journal entry are written in one
 *     transaction.
 *  4. The ids of deleted nodes stay recorded (table tombstone).  So a node that is missing without
 *     a tombstone is always damage.
 */
#pragma once
#include "history/node.h"
#include "store/store.h"

extern const char history_schema[];

struct history {
	struct db *db;       /* the database, borrowed */
	struct store *store; /* the objects, borrowed */
};

/* --- nodes --- */

/*
 * Read a node.  Its texts and arrays are allocated in arena.  Returns 1, or 0 if the node does not
 * exist.
 */
int history_get(struct history *history, const char *id, struct arena *arena, struct node *node,
	struct err *err);
/*
 * history_each visits every node, beginning with the node that was added last.  history_forward
 * visits every node, beginning with the node that was added first.  history_ancestors visits the
 * given node, then its parent, and so on.  The callback returns a negative value to end the visit
 * with that error, or 1 to end it without an error.
 */
typedef int (*history_visit)(void *arg, const struct node *node, struct err *err);
int history_each(struct history *history, history_visit visit, void *arg, struct err *err);
int history_forward(struct history *history, history_visit visit, void *arg, struct err *err);
int history_ancestors(
	struct history *history, const char *id, history_visit visit, void *arg, struct err *err);
/* Visit the nodes that have no children. */
int history_tips(struct history *history, history_visit visit, void *arg, struct err *err);
/*
 * Get the trees of the nodes that were made shortly before and shortly after the given node,
 * beginning with the nearest.  These trees are probably similar to the tree of the given node.
 * Returns the number of trees, at most 'max'.
 */
int history_near(
	struct history *history, const char *id, struct hash *trees, size_t max, struct err *err);
int history_count(struct history *history, uint64_t *nodes, struct err *err);
/* Count all nodes and tags, and correct the stored counts. */
int history_recount(struct history *history, struct err *err);
/*
 * Get the ids that begin with 'prefix', at most 'max' of them.  Returns the number of such ids.  If
 * there are more than 'max', the result is max + 1.
 */
int history_prefix(struct history *history, const char *prefix, char (*ids)[NODE_ID], size_t max,
	struct err *err);

/* A deleted node, and the cause of its deletion. */
struct history_gone {
	char id[NODE_ID];
	int64_t time;   /* when the node was deleted */
	bool retention; /* retention dropped the node; otherwise a user deleted it */
};
/* Find the first deleted node whose id begins with 'prefix'.  Returns 1, or 0 if there is none. */
int history_deleted(
	struct history *history, const char *prefix, struct history_gone *gone, struct err *err);
/*
 * Returns ERR_NOT_FOUND.  The message says when the node was deleted, and whether retention deleted
 * it.
 */
int history_refuse_gone(const struct history_gone *gone, struct err *err);

/*
 * Store a new node.  If 'workspace' is not NULL, the HEAD of that workspace is moved to the node.
 * The same transaction inserts the rows of the objects that were stored so far.  node->id is set,
 * and node->parent is set to node->made_from.
 */
int history_add(struct history *history, struct node *node, const char *workspace, const char *op,
	struct err *err);

/*
 * Delete a node.  The parent of the node becomes the parent of the node's children.  The deletion
 * is refused if the node is a HEAD, has a tag, or is the only node.
 */
int history_delete(struct history *history, const char *id, struct err *err);
/*
 * Delete a node as history_delete does, but for retention and in the caller's transaction.  The
 * parameter 'run' is the time at which this run of retention began.
 */
int history_drop(struct history *history, const char *id, int64_t run, struct err *err);

/* --- workspaces and HEAD --- */

struct history_workspace {
	char name[64];
	char backend[16];
	char head[NODE_ID];
	char *path;    /* path of a live tree outside the environment, else NULL; in arena */
	char *pending; /* id of the node that an unfinished checkout leads to, or NULL; in arena */
	char *reason;  /* why this backend was chosen; in arena */
};
/*
 * Add a workspace, in the caller's transaction if one is open.  Returns ERR_INVALID if the name is
 * taken.
 */
int history_workspace_add(
	struct history *history, const struct history_workspace *workspace, struct err *err);
/* Delete a workspace and its journal.  All nodes are kept. */
int history_workspace_delete(struct history *history, const char *name, struct err *err);
/*
 * Read a workspace.  Its texts are allocated in arena.  Returns 1, or 0 if the workspace does not
 * exist.
 */
int history_workspace(struct history *history, const char *name, struct arena *arena,
	struct history_workspace *workspace, struct err *err);
typedef int (*history_workspace_visit)(
	void *arg, const struct history_workspace *workspace, struct err *err);
int history_workspaces(
	struct history *history, history_workspace_visit visit, void *arg, struct err *err);

/*
 * Record that a live tree is about to be changed to the tree of the given node.  The caller must
 * call this function before it makes the change.  If id is NULL, record that no change is pending
 * any more.
 */
int history_set_pending(
	struct history *history, const char *workspace, const char *id, struct err *err);
/*
 * Move HEAD to the given node, add the movement to the journal, and clear the pending change.  This
 * is done in the caller's transaction if one is open.  If op is "undo" or "redo", id must be the
 * node that history_step returned for one step.
 */
int history_move(struct history *history, const char *workspace, const char *id, const char *op,
	struct err *err);
/* The journal entries that undo and redo have skipped, because their nodes were deleted. */
struct history_passed {
	uint64_t count;
	struct history_gone nearest; /* the node of the first skipped entry */
	int64_t time;                /* when HEAD was moved to that node */
};
#define HISTORY_PASSED_TEXT 224
/*
 * Write a sentence about the skipped nodes to the buffer 'text'.  It names one of the nodes and the
 * times at which HEAD moved to the node and the node was deleted.  Returns 'text'.
 */
const char *history_passed_text(
	const struct history_passed *passed, char text[HISTORY_PASSED_TEXT]);
/*
 * Find the node that undo (steps < 0) or redo (steps > 0) leads to.  Returns ERR_NOT_FOUND if the
 * journal has too few entries.  If 'passed' is not NULL, *passed is set to the deleted nodes that
 * were skipped.
 */
int history_step(struct history *history, const char *workspace, int steps, char id[NODE_ID],
	struct history_passed *passed, struct err *err);

/*
 * history_head_at finds the node that was HEAD at an instant.  Deleted nodes are skipped.
 * history_head_before finds the node that was HEAD before the last 'movements' movements.  The
 * result may be a deleted node.  Both functions return 1, or 0 if the journal does not go back that
 * far.
 */
int history_head_at(struct history *history, const char *workspace, int64_t instant,
	char id[NODE_ID], struct err *err);
int history_head_before(struct history *history, const char *workspace, int64_t movements,
	char id[NODE_ID], struct err *err);

struct history_journal {
	/* number of entries, without the first entry, which made the first HEAD */
	uint64_t movements;
	int64_t start; /* time of the first entry */
};
/* Describe the journal of a workspace.  Returns 1, or 0 if the workspace has no journal. */
int history_journal(struct history *history, const char *workspace, struct history_journal *journal,
	struct err *err);
/*
 * history_begin_rollback counts a rollback of a workspace.  A checkout calls this function before
 * killing the programs in the workspace.  history_last_rollback gets the number of the last
 * rollback, or 0 if there was none.  A new number tells a supervisor that a rollback has ended its
 * agent.
 */
int history_begin_rollback(struct history *history, const char *workspace, struct err *err);
int history_last_rollback(
	struct history *history, const char *workspace, int64_t *which, struct err *err);

/* --- tags --- */

#define HISTORY_TAG_MAX 128
/*
 * Whether a tag may have this name.  A name that looks like another kind of reference (ref.h) is
 * not allowed.
 */
bool history_tag_ok(const char *name);
int history_tag_set(struct history *history, const char *name, const char *id, struct err *err);
/* Delete a tag.  Returns 1, or 0 if the tag does not exist. */
int history_tag_delete(struct history *history, const char *name, struct err *err);
/* Get the node of a tag.  Returns 1, or 0 if the tag does not exist. */
int history_tag_get(struct history *history, const char *name, char id[NODE_ID], struct err *err);
typedef int (*history_tag_visit)(void *arg, const char *name, const char *id, struct err *err);
/*
 * Visit tags in the order of their names.  If id is NULL, all tags are visited, else only the tags
 * of that node.
 */
int history_tags(struct history *history, const char *id, history_tag_visit visit, void *arg,
	struct err *err);

/* --- settings of the environment --- */
int history_meta_set(struct history *history, const char *key, const char *value,
	struct err *err); /* value is NULL to delete the setting */
/*
 * Read a setting.  *value is set to a text that is allocated in arena, or to NULL if there is no
 * such setting.
 */
int history_meta(struct history *history, const char *key, struct arena *arena, char **value,
	struct err *err);
