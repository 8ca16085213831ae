/*
 * supervise - owns a workspace, with an agent (supervise, shell) or without one (daemon), until a
 * signal or a request ends the ownership.  ctx->owner does this work, because its code is in a
 * layer above the operations.
 */
#pragma once
#include "ops/requests.h"

struct supervise_request {
	struct param_texts argv; /* the agent and its arguments; empty: a daemon */
	struct exec_place place;
	bool leaves;  /* programs that the agent leaves running outlive the owner; else they die */
	int64_t keep; /* number of nodes to keep, for retention; 0: the default */
	uint64_t max_bytes;
};
struct supervise_result {
	int status;
};

int supervise_run(struct op_context *ctx, const void *request, void *result, struct err *err);
