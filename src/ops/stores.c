/*
 * stores - get a number that changes when a program writes to a file through a memory mapping.
 *
 * The kernel does not report such a write to a watcher.  So the owner of a workspace gets the
 * number now and then, and compares it with the previous number.  The operation is not in the table
 * of operations (table.c), because only owners use it.
 */
#include <inttypes.h>
#include <stdio.h>

#include "core/own.h"
#include "ops/requests.h"
#include "ops/table.h"

static int do_stores(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	struct stores_result *result = out;
	owned(mapped_release) struct mapped mapped = { 0 };

	env_mapped(ctx->env, &mapped);
	uint64_t state = mapped_state(&mapped, workspace_live(ctx->env->workspace));
	if (state)
		snprintf(result->state, sizeof(result->state), "%016" PRIx64, state);
	return 0;
}

static void result_json(struct json *out, const void *result)
{
	const struct stores_result *res = result;

	json_text(out, "state", res->state);
}

const struct op op_stores = {
	.name = "stores",
	.access = ENV_LOOK,
	.result_size = sizeof(struct stores_result),
	.run = do_stores,
	.result_json = result_json,
};
