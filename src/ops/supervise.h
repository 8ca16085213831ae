/*
 * supervise - owning a workspace until told to end, with an agent (supervise, shell) or without
 * (daemon).  The process that owns is the face's: ctx->owner is the way to it.
 */
#pragma once
#include "ops/requests.h"

struct supervise_request {
	struct param_texts argv; /* the agent; none: a daemon */
	struct exec_place place;
	bool leaves;  /* programs that the agent left running outlive the owner */
	int64_t keep; /* for retention; 0: the default */
	uint64_t max_bytes;
};
struct supervise_result {
	int status;
};

int supervise_run(struct op_context *ctx, const void *request, void *result, struct err *err);
