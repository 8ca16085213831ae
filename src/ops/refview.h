/*
 * refview - opens the files of a node or of the live tree by a reference that a user has typed:
 * "REF:PATH".
 */
#pragma once
#include "ops/op.h"
#include "query/strata.h"

/*
 * Returns a view of "REF" or "REF:PATH", or NULL on error.  If 'text' is NULL, the reference is
 * HEAD.  *path becomes the path without leading slashes, in ctx->arena.  If 'path' is NULL,
 * "REF:PATH" is an error.  *id becomes the node's id or "work"; 'id' may be NULL.
 */
struct view *refview_open(struct op_context *ctx, const char *text, struct str *path,
	const char **id, struct err *err);
/* Whether the reference in text stands for the live tree. */
bool refview_is_work(const char *text);
/*
 * Remove the leading slashes from a path that a user has typed.  The result is in ctx->arena.  "."
 * stands for the root.
 */
struct str refview_path(struct op_context *ctx, struct str path);
