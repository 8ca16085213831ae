/*
 * answerer - turns one request of the query protocol into one line of reply.
 *
 * Every failure becomes an error reply.  A whole reply has at most METHOD_REPLY_MAX bytes.
 */
#pragma once
#include "core/json.h"
#include "query/registry.h"

/* A source of snapshots. */
struct answerer_source {
	/*
	 * Bring the registry up to date.  This function is called before each request.  At the
	 * first call the registry is empty.  Between two calls nothing else changes the registry.
	 * If the function fails, the reply is its error.
	 */
	int (*refresh)(void *arg, struct registry *registry, struct err *err);
	void *arg;
	const struct restoreroots *restore; /* as in struct method_context */
};

struct answerer {
	struct registry registry; /* released by the owner of the answerer */
	const struct answerer_source *source;
	/* the same function as in struct method_context */
	bool (*cancelled)(void *arg);
	void *arg;
};

/* The parts of a request, as envelope_read finds them. */
struct answerer_request {
	struct str id, method, params;
};

/* Append the reply to out.  No object may be open in out. */
void answerer_reply(
	struct answerer *answerer, const struct answerer_request *request, struct json *out);
