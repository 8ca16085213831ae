/*
 * rpc - JSON-RPC 2.0: one request a line in, answers and notifications out.
 */
#pragma once
#include "core/errcode.h"
#include "core/json.h"
#include "core/jsonread.h"

/* A longer line is refused. */
#define RPC_LINE_MAX JSONREAD_SIZE_MAX

struct rpc_request {
	struct jsonread *whole;
	const struct jsonread *id;     /* NULL: a notification */
	const struct jsonread *params; /* an object, or NULL */
	const char *method;
};

void rpc_request_release(struct rpc_request *request);

/* RPC_NONE, or why it is no request; then id is set where it could be made out. */
enum rpc_code rpc_read(struct str line, struct rpc_request *request, struct err *err);

/* {"jsonrpc":"2.0","id":ID, and the result object is open; rpc_end closes it. */
void rpc_begin(struct json *out, const struct jsonread *id);
void rpc_end(struct json *out);
/* A whole answer; err may have a hint.  candidates may be NULL. */
void rpc_error(struct json *out, const struct jsonread *id, enum rpc_code code,
	const struct err *err, const char *const *candidates, size_t n_candidates);
/* {"jsonrpc":"2.0","method":METHOD, and the params object is open; rpc_end closes it. */
void rpc_notify(struct json *out, const char *method);
