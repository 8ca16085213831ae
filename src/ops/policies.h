/* policies - request and result of the operations on policies (strata-policy(1)). */
#pragma once
#include "ops/op.h"
#include "policy/verdict.h"

/* Request of 'check'. */
struct check_policy_request {
	const char *file;
};

/* Request of 'compose'. */
struct compose_policy_request {
	const char *parent, *child;
};

/* Result of 'check' and 'compose'. */
struct policy_result {
	struct policy policy;
};

/* Request, row and result of 'explain'. */
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
	struct policy policy;          /* the policy after policy_resolve */
	struct policy_list statements; /* without a subject: the whole policy in words */
};
