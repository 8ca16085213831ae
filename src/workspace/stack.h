/*
 * stack - which layers an overlay stands on, as the target of a symbolic link.
 *
 *	BASE.GENERATION.TREE
 *
 * BASE is the number of a base (layers.h), TREE what the layers below the upper
 * show, and the upper is upper-GENERATION.  It leads nowhere: a link this short
 * takes no block of its own, and is replaced as a whole, so an
 * overlay is the old one or the new one.
 */
#pragma once
#include <stdbool.h>

#include "core/err.h"
#include "core/hash.h"

#define STACK_TREE 44 /* a hash as text, with its end */
#define STACK_TEXT 128

struct stack {
	unsigned base, generation;
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
