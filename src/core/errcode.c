#include "core/errcode.h"

#include <errno.h>
#include <stdbool.h>

struct meaning {
	int exit;
	enum rpc_code rpc, query;
};

static const struct meaning *meaning_of(const struct err *err)
{
	static const struct meaning table[] = {
		[0] = { ERRCODE_FAILED, RPC_INTERNAL, RPC_INTERNAL },
		[ERR_SYSTEM] = { ERRCODE_FAILED, RPC_INTERNAL, RPC_QUERY_FAILED },
		[ERR_NOT_FOUND] = { ERRCODE_FAILED, RPC_NO_REF, RPC_QUERY_NO_PATH },
		[ERR_INVALID] = { ERRCODE_FAILED, RPC_PARAMS, RPC_PARAMS },
		[ERR_CORRUPT] = { ERRCODE_FAILED, RPC_DAMAGED, RPC_QUERY_FAILED },
		[ERR_DENIED] = { ERRCODE_FAILED, RPC_DENIED, RPC_QUERY_NO_PATH },
		[ERR_UNSUPPORTED] = { ERRCODE_FAILED, RPC_UNSUPPORTED, RPC_QUERY_FAILED },
		[ERR_LIMIT] = { ERRCODE_FAILED, RPC_LIMIT, RPC_PARAMS },
		[ERR_BUSY] = { ERRCODE_FAILED, RPC_BUSY, RPC_QUERY_FAILED },
		[ERR_USAGE] = { ERRCODE_USAGE, RPC_PARAMS, RPC_NO_METHOD },
	};

	return &table[err->code];
}

int errcode_status(const struct err *err)
{
	return meaning_of(err)->exit;
}

enum rpc_code errcode_rpc(const struct err *err)
{
	return meaning_of(err)->rpc;
}

enum rpc_code errcode_query(const struct err *err)
{
	/*
	 * A call that timed out or was cancelled has not failed by itself, so such a call gets a
	 * code of its own.
	 */
	bool ended = err->errno_value == ETIMEDOUT || err->errno_value == ECANCELED;

	return err->code == ERR_SYSTEM && ended ? RPC_QUERY_ENDED : meaning_of(err)->query;
}
