/*
 * newnode - make a node of the live tree: capture it, say what changed, move HEAD there.
 */
#pragma once
#include "ops/op.h"
#include "sandbox/bindspec.h"

/* A node about to be made. */
struct newnode {
	enum node_kind kind;
	const char *message; /* NULL: made from the changed paths */
	bool allow_empty;
	bool refuse_changed; /* no node, where the live tree is not HEAD's */
	const char *op;      /* for the journal */
	struct str *command;
	size_t n_command;
	bool has_status; /* of the command */
	int exit_status;
	int64_t duration;              /* ns */
	const struct bindspecs *binds; /* that the command had; NULL: none */
};

/*
 * Capture the live tree; if it differs from HEAD's (or allow_empty), make a
 * node of it and move HEAD there.  *made says whether; node is HEAD's then, in ctx->arena.
 * 1 when that was refused for refuse_changed.
 */
int newnode_commit(struct op_context *ctx, const struct newnode *commit, struct node *node,
	bool *made, struct err *err);

/*
 * What changed since the tree before, for a node about to be added: counts and
 * the first paths, in ctx->arena, and a message where it has none and label is not NULL.
 */
int newnode_summarise(struct op_context *ctx, struct node *node, const struct hash *before,
	const char *label, struct err *err);
/* The binds of programs as a node has them, in arena. */
struct node_bind *newnode_binds(const struct bindspecs *binds, struct arena *arena);
