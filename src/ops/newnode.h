/*
 * newnode - makes a node from the live tree: captures the tree, summarises the changes, and moves
 * HEAD to the node.
 */
#pragma once
#include "ops/noderow.h"
#include "sandbox/bindspec.h"

/* A node that is about to be made. */
struct newnode {
	enum node_kind kind;
	const char *message; /* NULL: a message is made from the changed paths */
	bool allow_empty;
	bool refuse_changed; /* make no node if the live tree differs from the tree of HEAD */
	const char *op;      /* name of the operation for the journal */
	struct param_texts command;
	bool has_status; /* the command has an exit status */
	int exit_status;
	int64_t duration;              /* duration of the command in ns */
	const struct bindspecs *binds; /* binds of the command; NULL: none */
};

/*
 * Capture the live tree.  If the captured tree differs from HEAD's tree, or if allow_empty is set,
 * make a node, move HEAD to the node, and set *made.  *node becomes HEAD's node, in ctx->arena.
 * Returns 1 if refuse_changed forbids the node, otherwise 0.
 */
int newnode_commit(struct op_context *ctx, const struct newnode *commit, struct node *node,
	bool *made, struct err *err);
/* Do what newnode_commit does, and set *row to HEAD's node as listings show it. */
int newnode_commit_row(struct op_context *ctx, const struct newnode *commit, struct noderow *row,
	bool *made, struct err *err);

/*
 * Compare *before with the tree of node.  Set the counts and the first changed paths in node.  The
 * paths are in ctx->arena.  If node has no message and 'label' is not NULL, also make a message.
 */
int newnode_summarise(struct op_context *ctx, struct node *node, const struct hash *before,
	const char *label, struct err *err);
/* Returns the binds of programs in the form of a node's binds.  The list is in arena. */
struct node_bind *newnode_binds(const struct bindspecs *binds, struct arena *arena);
