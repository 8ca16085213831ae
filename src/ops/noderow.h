/* noderow - a node as listings show it: with its tags, and whether it is HEAD. */
#pragma once
#include "ops/op.h"
#include "ops/shape.h"

struct noderow {
	const struct node *node;
	const char **tags;
	size_t n_tags;
	bool head;
};

/* Fill in row for node.  The tags are in arena. */
int noderow_fill(struct op_context *ctx, struct arena *arena, const struct node *node,
	struct noderow *row, struct err *err);
/*
 * Emit node as a row.  arg is the struct op_context, so this function can be passed to functions
 * that visit nodes.
 */
int noderow_emit(void *arg, const struct node *node, struct err *err);
/* Write the members of a JSON object for a struct noderow.  NODEROW_SHAPE is their shape. */
#define NODEROW_SHAPE                                                                              \
	"id:text parent:text? tree:text time:text time_ns:int kind:text message:text "             \
	"command:[text]? exit_status:int? duration?:num " SHAPE_COUNTS                             \
	"paths:[text] path_changes:[{op:text path:text new_path?:text}] " SHAPE_BINDS              \
		SHAPE_OPTIONAL_DENIALS "tags:[text] head:bool "
void noderow_json(struct json *out, const void *row);
