/* retain - apply retention: thin out old history. */
#include "core/own.h"
#include "core/when.h"
#include "ops/requests.h"

static const struct op_param params[] = {
	{ "keep", 0, OP_COUNT, 0, offsetof(struct retain_request, keep) },
	{ "max_bytes", 0, OP_BYTES, 0, offsetof(struct retain_request, max_bytes) },
	{ "dry_run", 0, OP_FLAG, 0, offsetof(struct retain_request, dry_run) },
	{ NULL, 0, 0, 0, 0 },
};

static int list_dropped(void *arg, const struct node *node, struct err *err)
{
	struct common_node row = { .node = node };

	return op_emit(arg, &row, err);
}

static int run(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct retain_request *req = request;
	struct retention_options options = {
		.keep = req->keep ? (uint64_t)req->keep : RETENTION_KEEP,
		.max_bytes = req->max_bytes,
		.now = when_now(),
		.dry_run = req->dry_run,
	};

	return retention_run(&ctx->env->history, &options, list_dropped, ctx, out, err);
}

static void result_json(struct json *out, const void *result)
{
	const struct retention_result *res = result;

	json_uint(out, "kept", res->kept);
	json_uint(out, "dropped_count", res->dropped);
	json_bool(out, "over_limit", res->over_limit);
}

const struct op op_retain = {
	.name = "retain",
	.flags = OP_WRITES,
	.access = ENV_STORE,
	.params = params,
	.request_size = sizeof(struct retain_request),
	.result_size = sizeof(struct retention_result),
	.rows = "dropped",
	.run = run,
	.row_json = common_node_row_json,
	.result_json = result_json,
};
