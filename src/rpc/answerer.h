/*
 * answerer - turns one request of the query protocol into one line of reply.
 *
 * Whatever goes wrong becomes an error reply.  The reply as a whole keeps to METHOD_REPLY_MAX.
 */
#pragma once
#include "core/json.h"
#include "query/registry.h"

/* Where the snapshots come from. */
struct answerer_source {
	/*
	 * Bring the registry up to date.  This is called before each request; the registry is empty
	 * at the first call, and stays as it is until the next call.  If it fails, the request
	 * fails with this error.
	 */
	int (*refresh)(void *arg, struct registry *registry, struct err *err);
	void *arg;
};

struct answerer {
	struct registry registry; /* released by the owner of the answerer */
	const struct answerer_source *source;
	/* As in struct method_context. */
	bool (*cancelled)(void *arg);
	void *arg;
};

/* A request as an envelope has it. */
struct answerer_request {
	struct str id, method, params;
};

/* Append the reply to out, which has no open object. */
void answerer_reply(
	struct answerer *answerer, const struct answerer_request *request, struct json *out);
