/* policies - request and result of the operations on policies (strata-policy(1)). */
#pragma once
#include "ops/op.h"
#include "policy/verdict.h"

/* check */
struct check_policy_request {
	const char *file;
};

/* compose */
struct compose_policy_request {
	const char *parent, *child;
};

/* Result of check and compose. */
struct policy_result {
	struct policy policy;
};

/* explain */
struct explain_policy_request {
	const char *file;
	const char *subject; /* a path, or HOST[:PORT]; NULL: the whole policy */
	const char *home, *workspace;
	bool write;
};

struct explain_policy_row {
	const char *access; /* "read", "write", "connect" */
	const char *subject;
	int port; /* 0: subject is a path */
	struct verdict verdict;
};

struct explain_policy_result {
	struct policy policy;          /* after policy_resolve */
	struct policy_list statements; /* the whole policy in words, if there is no subject */
};
