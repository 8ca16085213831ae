/*
 * judge - the files that the test of a tournament consists of.
 *
 * A candidate that may rewrite its own test passes whatever it did.  So the files of the test are
 * taken from the base before the test is run.  They are the paths that the user gives, and these
 * paths in the command lines of the test and of the score, if the base has them:
 *
 *	- the script that an interpreter is given (sh FILE, python3 FILE),
 *	- a program named by a path, if it is a script or its name says that it tests,
 *	- every other path whose name says the same (tests/, spec/x, check.mk), and all below it.
 *
 * Other paths in a command line (gcc main.c) count as the work under test, and the candidate's
 * version is used.
 */
#pragma once
#include "ops/op.h"

#define JUDGE_PATHS_MAX 32

struct judge {
	const char *paths[JUDGE_PATHS_MAX]; /* relative to the root; in ctx->arena */
	size_t n;
};

struct judge_search {
	const char *base;                /* id of the base */
	const char *lines[2];            /* command lines of test and score; NULL: none */
	const struct param_texts *given; /* paths that the user gives */
};
/*
 * Find the files of the test.  The environment must be open.  Fails with ERR_INVALID if the base
 * lacks a path that the user gives.
 */
int judge_find(struct op_context *ctx, const struct judge_search *search, struct judge *judge,
	struct err *err);
