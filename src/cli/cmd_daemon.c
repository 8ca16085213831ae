/* daemon - be the owner of a workspace: make nodes of changes, and serve the control socket. */
#include "cli/owning.h"
#include "ops/table.h"

const struct command cmd_daemon = {
	.name = "daemon",
	.op = &op_daemon,
	.live = true,
	.result = owning_result,
};
