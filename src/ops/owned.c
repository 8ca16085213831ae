/*
 * owned - describes, for clients, the operations that only the owner of a workspace performs.  The
 * functions that perform these operations are in owner/methods.c.
 */
#include "ops/requests.h"
#include "ops/table.h"

static const struct param cancel_params[] = {
	PARAM(cancel_request, id, VALUE, PARAM_REQUIRED, "the id of the request to cancel"),
	{ 0 },
};

const struct op op_cancel = {
	.name = "cancel",
	.summary = "end a request of the same connection",
	.flags = OP_OWNER | OP_AT_ONCE | OP_WRITES,
	.params = cancel_params,
	.request_size = sizeof(struct cancel_request),
	.result = "cancelled:bool",
};

static const struct param kill_params[] = {
	PARAM(kill_request, process, COUNT, PARAM_REQUIRED, "the process, by its number in 'ps'"),
	PARAM(kill_request, signal, VALUE, 0, "number or name; TERM unless given"),
	{ 0 },
};

const struct op op_kill = {
	.name = "kill",
	.summary = "send a signal to a command that runs in the workspace",
	.flags = OP_OWNER | OP_AT_ONCE | OP_WRITES,
	.params = kill_params,
	.request_size = sizeof(struct kill_request),
	.result = "process:int signal:int",
};

static const struct param relay_params[] = {
	PARAM(relay_request, operation, TEXT, PARAM_REQUIRED, "the operation's name"),
	{ 0 },
};

const struct op op_relay = {
	.name = "relay",
	.summary = "do an operation for another strata, on its descriptors",
	.flags = OP_OWNER | OP_INTERNAL | OP_WRITES,
	.params = relay_params,
	.request_size = sizeof(struct relay_request),
	.result = "status:int signal?:int",
};

static const struct param signal_params[] = {
	PARAM(kill_request, signal, VALUE, PARAM_REQUIRED, "number or name"),
	{ 0 },
};

const struct op op_relay_signal = {
	.name = "relay.signal",
	.summary = "pass a signal on to the operation that was relayed",
	.flags = OP_OWNER | OP_AT_ONCE | OP_INTERNAL | OP_WRITES,
	.params = signal_params,
	.request_size = sizeof(struct kill_request),
};

const struct op op_subscribe = {
	.name = "subscribe",
	.summary = "turn on events for this connection",
	.flags = OP_OWNER | OP_AT_ONCE,
	.result = "subscribed:bool head:text",
};
