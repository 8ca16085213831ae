/*
 * stack - the layers below an overlay, written as the target of a symbolic link.
 *
 *	BASE.GENERATION.TOP.TREE
 *
 * BASE is the number of a base and TOP that of the topmost layer, 0 for none (layers.h).
 * TREE is the tree that they show together.  The upper directory is upper-GENERATION.
 * The link points to nothing.  A link this short takes no block of its own, and a rename replaces
 * it as a whole, so an overlay has either the old stack or the new one.
 *
 * Environments from before layers formed chains have BASE.GENERATION.TREE.
 */
#pragma once
#include <limits.h>
#include <stdbool.h>

#include "core/err.h"
#include "core/hash.h"

#define STACK_TREE 44 /* size of a hash as text, with the NUL */
#define STACK_TEXT 128
#define STACK_TOP_UNKNOWN UINT_MAX /* the link is of an older strata and has no TOP */

struct stack {
	unsigned base, generation, top;
	struct hash tree;
};

/* Write a hash to out as text that can be a file name: base64 with '-' and '_'.  Returns out. */
const char *stack_tree_text(const struct hash *tree, char out[STACK_TREE]);
bool stack_tree_parse(const char *text, struct hash *tree);

/*
 * stack_read returns 1, or 0 if there is no such link.  stack_write syncs the directory if durable
 * is set.
 */
int stack_read(int dirfd, const char *name, struct stack *stack, struct err *err);
int stack_write(
	int dirfd, const char *name, const struct stack *stack, bool durable, struct err *err);

/* Read or write any short text in the same way.  Writing replaces the link. */
int stack_read_text(int dirfd, const char *name, char text[STACK_TEXT], struct err *err);
int stack_write_text(int dirfd, const char *name, const char *text, bool durable, struct err *err);
