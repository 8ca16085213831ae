/*
 * owning - what daemon and supervise share: they own a workspace until they end.
 */
#pragma once
#include "cli/command.h"

struct owning_request {
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
struct owning_result {
	int status;
};

int owning_run(struct op_context *ctx, const void *request, void *result, struct err *err);
int owning_result(struct output *out, const void *request, const void *result);
/* An event: a line as it goes over the control socket. */
void owning_row_json(struct json *out, const void *row);
