/*
 * common - what several operations share: nodes with their tags as rows and as
 * JSON, capturing the live tree into a node, moving the live tree to a node.
 */
#pragma once
#include "ops/op.h"
#include "query/strata.h"
#include "sandbox/bindspec.h"

/* A node as a listing shows it. */
struct common_node {
	const struct node *node;
	const char **tags;
	size_t n_tags;
	bool head;
};

/* Fill row for node; the tags are in arena. */
int common_node_row(struct op_context *ctx, struct arena *arena, const struct node *node,
	struct common_node *row, struct err *err);
/* The members of a node object (spec/cli.md, JSON shapes). */
void common_node_json(struct json *out, const struct common_node *row);
void common_node_row_json(struct json *out, const void *row); /* as a whole object */

/* "binds": [...], of the node that a listing shows or of what runs now. */
void common_binds_json(struct json *out, const struct node_bind *binds, size_t n);
/* The same binds as a node has them, in arena. */
struct node_bind *common_node_binds(const struct bindspecs *binds, struct arena *arena);

void common_report_json(struct json *out, const struct report *report);
/* "changes": {...} */
void common_counts_json(struct json *out, const struct treediff_counts *counts);
/* The members of a change. */
void common_change_json(struct json *out, const struct treediff_change *change);

/*
 * What changed since the tree before, for a node about to be added: counts and
 * the first paths, in ctx->arena, and a message where it has none and label is not NULL.
 */
int common_summarise(struct op_context *ctx, struct node *node, const struct hash *before,
	const char *label, struct err *err);
/* HEAD's node, in ctx->arena. */
int common_head(struct op_context *ctx, struct node *node, struct err *err);

/* A node about to be made. */
struct common_commit {
	enum node_kind kind;
	const char *message; /* NULL: made from the changed paths */
	bool allow_empty;
	const char *op; /* for the journal */
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
 */
int common_commit(struct op_context *ctx, const struct common_commit *commit, struct node *node,
	bool *made, struct err *err);

/* What a movement did. */
struct common_moved {
	struct node node;               /* where HEAD is now */
	bool safety;                    /* uncaptured work was kept in */
	char saved[NODE_ID];            /* this node */
	struct treediff_counts changes; /* of the live tree */
	struct history_passed passed;   /* by undo or redo */
	bool given_up;                  /* uncaptured work was: there is no way back to it */
	const struct report *report;
};

/* Keep uncaptured work in a safety node; *tree is the live tree. */
int common_save_work(
	struct op_context *ctx, struct common_moved *moved, struct hash *tree, struct err *err);
/* A failure for lack of room on a disk. */
bool common_is_full(const struct err *err);
/* Give uncaptured work up instead, which frees its room, on the way to node id. */
int common_drop_work(struct op_context *ctx, const char *id, struct common_moved *moved,
	struct hash *tree, struct err *err);
/* Turn the live tree (which is tree) into node id and move HEAD there. */
int common_move(struct op_context *ctx, const struct hash *tree, const char *id,
	struct common_moved *moved, struct err *err);
/* Tell the workspace, which is about to become node id, what is likely near to that. */
int common_find_near(
	struct op_context *ctx, struct workspace *workspace, const char *id, struct err *err);
/*
 * Turn the live tree (which is tree and HEAD's) into wanted, of which no node need
 * be; cut off, it becomes HEAD's again.
 */
int common_patch(struct op_context *ctx, const struct hash *tree, const struct hash *wanted,
	struct err *err);
/* The same as common_move along the journal: steps < 0 undo, > 0 redo. */
int common_step(struct op_context *ctx, int64_t steps, struct common_moved *moved, struct err *err);
void common_moved_json(struct json *out, const void *moved);

/* A directory that is not our live tree. */
struct common_source {
	int fd;           /* borrowed */
	const char *only; /* the one name in it that is wanted; NULL: all */
	const char *const *exclude;
	size_t n_exclude;
};
/* Read it into the store; the environment's own directory is left out. */
int common_read_dir(struct op_context *ctx, const struct common_source *source, struct hash *tree,
	struct err *err);

/* Whether a directory has a shell, so that programs can be run with it as their root. */
bool common_has_shell(int dir);

/*
 * A view of "REF" or "REF:PATH" (text NULL: HEAD), path in ctx->arena without
 * leading slashes.  NULL on error.  *id, if wanted, gets the node's id or "work".
 */
struct view *common_view(struct op_context *ctx, const char *text, struct str *path,
	const char **id, struct err *err);
/* Whether the reference in text is the live tree. */
bool common_is_work(const char *text);
/* A path as typed: no leading slashes, "." is the root; in ctx->arena. */
struct str common_path(struct op_context *ctx, struct str path);

/* Wire the workspace's progress counters to ctx for as long as a call runs. */
void common_watch(struct op_context *ctx, const char *stage);
/* The same for other long work: done is asked now and then, from another thread. */
void common_watch_work(struct op_context *ctx, const char *stage, uint64_t (*done)(void *arg),
	void *arg, uint64_t total);
void common_unwatch(struct op_context *ctx);
