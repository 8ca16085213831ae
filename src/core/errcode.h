/*
 * errcode - what an error is outside of this program: an exit status, a code of JSON-RPC.
 */
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
	/* The query protocol's own. */
	RPC_QUERY_FAILED = -32001,
	RPC_QUERY_NO_PATH = -32002,
	RPC_QUERY_ENDED = -32003,
	/* The control socket's own. */
	RPC_NO_REF = -32010,
	RPC_DENIED = -32011,
	RPC_BUSY = -32012,
	RPC_LIMIT = -32013,
	RPC_DAMAGED = -32014,
	RPC_UNSUPPORTED = -32015,
	RPC_CANCELLED = -32016,
};

/* The status of a command that fails with this. */
int errcode_status(const struct err *err);
/* On the control socket, and in the query protocol. */
enum rpc_code errcode_rpc(const struct err *err);
enum rpc_code errcode_query(const struct err *err);
