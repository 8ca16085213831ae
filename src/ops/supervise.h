/*
 * supervise - owning a workspace until told to end, with an agent (supervise, shell) or without
 * (daemon).  The process that owns is the face's: ctx->owner is the way to it.
 */
#pragma once
#include "ops/op.h"

struct supervise_request {
	struct param_texts argv; /* the agent; none: a daemon */
	const char *cwd;
	struct param_texts env;
	const char *user;
	const char *net;
	bool host_sockets;
	struct param_texts bind;
	bool leaves; /* see owner.h */
	int64_t keep;
	uint64_t max_bytes;
};
struct supervise_result {
	int status;
};

int supervise_run(struct op_context *ctx, const void *request, void *result, struct err *err);
