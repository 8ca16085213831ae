/*
 * judge - the files that the test of a tournament consists of.
 *
 * If a candidate could rewrite its own test, it would pass the test even with a wrong result.  So
 * the files of the test are taken from the base before the test is run.  The user can name such
 * files.  The following paths in the command lines of the test and of the score also count as files
 * of the test, if the base has them:
 *
 *	- the script that an interpreter is given (sh FILE, python3 FILE),
 *	- a program that is given as a path, if it is a script or has the name of a test,
 *	- every other path with the name of a test (tests/, spec/x, check.mk), with all files
 *	  below this path.
 *
 * Any other path in a command line (gcc main.c) counts as work of the candidate, and the
 * candidate's version is used.
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
 * does not have a path that the user gives.
 */
int judge_find(struct op_context *ctx, const struct judge_search *search, struct judge *judge,
	struct err *err);
