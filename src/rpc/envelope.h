/*
 * envelope - the outer members of JSON-RPC 2.0 requests and replies of the query protocol.
 *
 * The rules of docs/QUERY.md apply: the reply repeats an id of any type as it was given, a request
 * without an id is a notification, and "params" is an object or missing.  "jsonrpc" is ignored.
 * The parameters remain a text here, because another process parses them and answers the request
 * (crew.h).  That process also refuses strings that cannot be decoded to bytes.
 */
#pragma once
#include "core/errcode.h"
#include "core/json.h"
#include "core/jsonread.h"

#define ENVELOPE_LINE_MAX JSONREAD_SIZE_MAX

struct envelope {
	struct str line;
	struct jsonread *whole; /* the parsed line; holds the bytes of method */
	struct str method;      /* may hold any bytes, but a NUL follows */
	struct str params;      /* an object, as a part of the line; empty if there are none */
	struct buf id;          /* JSON without white space outside of strings */
	bool answered;          /* false for a notification, which never gets a reply */
};

#define ENVELOPE_INIT                                                                              \
	{                                                                                          \
		.id = BUF_INIT                                                                     \
	}

void envelope_release(struct envelope *envelope);
/*
 * Read a line.  The line must stay in memory as long as the envelope.  Returns RPC_NONE, or the
 * code of the error if the line is not a request.  The members 'id' and 'answered' are set even
 * after an error.  If the line has no usable id, 'id' is the text "null", and 'answered' is true.
 * If a notification has wrong "params", 'answered' is false.
 */
enum rpc_code envelope_read(struct str line, struct envelope *envelope, struct err *err);

/*
 * Append the parameter "id" to out, without white space outside of strings.  Returns false if there
 * is no such parameter.
 */
bool envelope_param_id(const struct envelope *envelope, struct buf *out);

/* Begin a reply: write {"jsonrpc":"2.0","id":ID,"result":{.  envelope_end closes both braces. */
void envelope_begin(struct json *out, struct str id);
/* End a reply with a line feed.  Returns -1 if a part of the reply was dropped. */
int envelope_end(struct json *out);
/*
 * Write a whole reply that reports an error.  The error's member "data" has the hint of err, and
 * the members in the parameter 'data', which may be empty.
 */
void envelope_refuse(struct json *out, struct str id, enum rpc_code code, const struct err *err,
	struct str data);
