/*
 * stack - which directories an overlay consists of, as a small file.
 *
 *	strata-stack 1
 *	tree HEX        what the lower layers show
 *	generation N    the upper is upper-N, its work directory ovl-N
 *	lower PATH      topmost first; relative to the environment, or absolute
 *
 * It is replaced as a whole, so an overlay is the old one or the new one.
 */
#pragma once
#include "core/err.h"
#include "core/hash.h"

#define STACK_LOWER_MAX 8
#define STACK_PATH_MAX 4096
#define STACK_BYTES_MAX ((size_t)STACK_LOWER_MAX * (STACK_PATH_MAX + 8) + 256)

struct stack {
	struct hash tree;
	unsigned generation;
	size_t n_lower;
	char *lower[STACK_LOWER_MAX]; /* owned */
};

void stack_release(struct stack *stack);
/* ERR_LIMIT when there are too many, ERR_INVALID for a path the file cannot hold. */
int stack_push(struct stack *stack, const char *path, struct err *err);

/* 1 read, 0 there is no such file. */
int stack_read(int dirfd, const char *name, struct stack *stack, struct err *err);
/* Durable when it returns. */
int stack_write(int dirfd, const char *name, const struct stack *stack, struct err *err);
