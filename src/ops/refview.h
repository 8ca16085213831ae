/* refview - open the files of a node or of the live tree by a reference as typed: "REF:PATH". */
#pragma once
#include "ops/op.h"
#include "query/strata.h"

/*
 * Returns a view of "REF" or "REF:PATH" (text NULL: HEAD), or NULL on error.  *path is in
 * ctx->arena and has no leading slashes.  If path is NULL, "REF:PATH" is an error.  *id becomes the
 * node's id or "work"; id may be NULL.
 */
struct view *refview_open(struct op_context *ctx, const char *text, struct str *path,
	const char **id, struct err *err);
/* Whether the reference in text is the live tree. */
bool refview_is_work(const char *text);
/* Returns a path as typed without its leading slashes, in ctx->arena.  "." is the root. */
struct str refview_path(struct op_context *ctx, struct str path);
