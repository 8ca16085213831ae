/* rpc - JSON-RPC 2.0: reads requests, each from one line, and writes answers and notifications. */
#pragma once
#include "core/errcode.h"
#include "core/json.h"
#include "core/jsonread.h"

/* Maximum length of a line.  A longer line is refused. */
#define RPC_LINE_MAX JSONREAD_SIZE_MAX

struct rpc_request {
	struct jsonread *whole;
	const struct jsonread *id;     /* NULL: the request is a notification */
	const struct jsonread *params; /* an object, or NULL */
	const char *method;
};

void rpc_request_release(struct rpc_request *request);

/*
 * Parse a line into *request.  Returns RPC_NONE if the line is a valid request, and otherwise the
 * reason why it is invalid.  If the line has a valid id, request->id is set in both cases.
 */
enum rpc_code rpc_read(struct str line, struct rpc_request *request, struct err *err);

/* Begin an answer: write {"jsonrpc":"2.0","id":ID,"result":{.  rpc_end closes the brackets. */
void rpc_begin(struct json *out, const struct jsonread *id);
void rpc_end(struct json *out);
/* Write a whole answer with an error.  The error may have a hint.  candidates may be NULL. */
void rpc_error(struct json *out, const struct jsonread *id, enum rpc_code code,
	const struct err *err, const char *const *candidates, size_t n_candidates);
/*
 * Begin a request: write {"jsonrpc":"2.0","id":ID,"method":METHOD,"params":{.  rpc_end closes the
 * brackets.
 */
void rpc_ask(struct json *out, int64_t id, const char *method);
/* Begin a notification, which is a request without an id.  No answer to a notification is sent. */
void rpc_notify(struct json *out, const char *method);
