/*
 * stack - the layers below an overlay, written as the target of a symbolic link.
 *
 *	BASE.GENERATION.TOP.TREE
 *
 * BASE is the number of a base.  TOP is the number of the topmost layer, or 0 if there are no
 * layers (layers.h).  TREE is the tree that base and layers show together.  GENERATION is the
 * number N of the upper directory upper-N.
 *
 * The target of the link is not the path of a file.  A link this short takes no block of its own.
 * A rename replaces the link as a whole, so an overlay always has either the old stack or the new
 * one.
 *
 * Older versions of strata, whose layers formed no chains, wrote BASE.GENERATION.TREE.
 */
#pragma once
#include <limits.h>
#include <stdbool.h>

#include "core/err.h"
#include "core/hash.h"

#define STACK_TREE 44 /* size of a hash as text, with the NUL */
#define STACK_TEXT 128
/* the link was written by an older version of strata and has no TOP */
#define STACK_TOP_UNKNOWN UINT_MAX

struct stack {
	unsigned base, generation, top;
	struct hash tree;
};

/*
 * Write a hash to 'out' as a text that can be a file name: base64 with '-' and '_'.  Returns 'out'.
 */
const char *stack_tree_text(const struct hash *tree, char out[STACK_TREE]);
bool stack_tree_parse(const char *text, struct hash *tree);

/*
 * Read or write the stack in a link.  stack_read returns 1, or 0 if the link does not exist.
 * stack_write replaces the link, and syncs the directory if 'durable' is true.
 */
int stack_read(int dirfd, const char *name, struct stack *stack, struct err *err);
int stack_write(
	int dirfd, const char *name, const struct stack *stack, bool durable, struct err *err);

/*
 * stack_read_text and stack_write_text are like stack_read and stack_write, for a link with any
 * short text.
 */
int stack_read_text(int dirfd, const char *name, char text[STACK_TEXT], struct err *err);
int stack_write_text(int dirfd, const char *name, const char *text, bool durable, struct err *err);
