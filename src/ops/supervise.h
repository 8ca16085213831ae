/*
 * supervise - own a workspace until told to end, with an agent (supervise, shell) or without
 * (daemon).  ctx->owner does this work, because its code is in a layer above operations.
 */
#pragma once
#include "ops/requests.h"

struct supervise_request {
	struct param_texts argv; /* the agent and its arguments; empty: a daemon */
	struct exec_place place;
	bool leaves;  /* programs that the agent left running outlive the owner */
	int64_t keep; /* for retention; 0: the default */
	uint64_t max_bytes;
};
struct supervise_result {
	int status;
};

int supervise_run(struct op_context *ctx, const void *request, void *result, struct err *err);
