/*
 * judge - the files by which a tournament tests its candidates.
 *
 * A candidate that may rewrite its own test passes whatever it did.  So what the test is made
 * of is taken from the base before it is run.  Which files those are is read from the command
 * lines of test and score, each as far as it is in the base:
 *
 *	- the script that an interpreter is given (sh FILE, python3 FILE),
 *	- a program named by a path, if it is a script or its name says that it tests,
 *	- every other path whose name says so (tests/, spec/x, check.mk), with all below it,
 *
 * and what the user names.  What is tested must not be taken for the test: a path that only
 * appears in the line (gcc main.c) is left to the candidate.
 */
#pragma once
#include "ops/op.h"

#define JUDGE_PATHS_MAX 32

struct judge {
	const char *paths[JUDGE_PATHS_MAX]; /* from the root, without a leading slash */
	size_t n;
};

/* Where to look, and what to look at; memory is in ctx->arena. */
struct judge_search {
	const char *base;     /* id of the node */
	const char *lines[2]; /* NULL: none */
	const struct param_texts *given;
};
/* In an open environment.  ERR_INVALID for a path that was given and is not in the base. */
int judge_find(struct op_context *ctx, const struct judge_search *search, struct judge *judge,
	struct err *err);
