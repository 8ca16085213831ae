/*
 * stack - which layers an overlay stands on, as the target of a symbolic link.
 *
 *	BASE.GENERATION.TOP.TREE
 *
 * BASE is the number of a base and TOP that of the topmost layer, 0 for none (layers.h).
 * TREE is what these show together.  The upper directory is upper-GENERATION.
 * The link leads nowhere: one this short takes no block of its own, and is replaced as a
 * whole, so an overlay is the old one or the new one.
 *
 * Environments from before layers formed chains have BASE.GENERATION.TREE.
 */
#pragma once
#include <limits.h>
#include <stdbool.h>

#include "core/err.h"
#include "core/hash.h"

#define STACK_TREE 44 /* a hash as text, with its end */
#define STACK_TEXT 128
#define STACK_TOP_UNKNOWN UINT_MAX /* the link does not say */

struct stack {
	unsigned base, generation, top;
	struct hash tree;
};

/* A hash in the 64 characters that may stand in any name. */
const char *stack_tree_text(const struct hash *tree, char out[STACK_TREE]);
bool stack_tree_parse(const char *text, struct hash *tree);

/* 1 read, 0 there is none. */
int stack_read(int dirfd, const char *name, struct stack *stack, struct err *err);
int stack_write(
	int dirfd, const char *name, const struct stack *stack, bool durable, struct err *err);

/* The same for any short text. */
int stack_read_text(int dirfd, const char *name, char text[STACK_TEXT], struct err *err);
int stack_write_text(int dirfd, const char *name, const char *text, bool durable, struct err *err);
