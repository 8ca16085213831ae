/* errcode - the numbers by which other programs see an error: exit statuses and JSON-RPC codes. */
#pragma once
#include "core/err.h"

enum errcode_exit { ERRCODE_DONE = 0, ERRCODE_FAILED = 1, ERRCODE_USAGE = 2 };

enum rpc_code {
	RPC_NONE = 0,
	RPC_PARSE = -32700,
	RPC_INVALID = -32600,
	RPC_NO_METHOD = -32601,
	RPC_PARAMS = -32602,
	RPC_INTERNAL = -32603,
	/* Only the query protocol has these codes. */
	RPC_QUERY_FAILED = -32001,
	RPC_QUERY_NO_PATH = -32002,
	RPC_QUERY_ENDED = -32003,
	RPC_NO_RESOURCE = -32002, /* only the Model Context Protocol has this code */
	/* Only the control socket has these codes. */
	RPC_NO_REF = -32010,
	RPC_DENIED = -32011,
	RPC_BUSY = -32012,
	RPC_LIMIT = -32013,
	RPC_DAMAGED = -32014,
	RPC_UNSUPPORTED = -32015,
	RPC_CANCELLED = -32016,
};

/* The exit status of a command that fails with this error. */
int errcode_status(const struct err *err);
/*
 * The JSON-RPC code of an error: errcode_rpc on the control socket, errcode_query in the query
 * protocol.
 */
enum rpc_code errcode_rpc(const struct err *err);
enum rpc_code errcode_query(const struct err *err);
