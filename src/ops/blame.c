/*
 * blame - find the node that last changed a path, and the command that made the change, if the
 * command is known.  For a text file, also find the node that each line comes from.  Only HEAD and
 * its ancestors are searched.
 */
#include "ops/refview.h"
#include "ops/requests.h"

static const struct param params[] = {
	PARAM(path_request, path, TEXT, PARAM_REQUIRED | PARAM_POSITIONAL, "the path to ask about"),
	{ 0 },
};

struct blaming {
	struct op_context *ctx;
	char last[NODE_ID];
	bool found, present;
};

static int note_version(void *arg, const struct lineage_version *version, struct err *err)
{
	struct blaming *blaming = arg;

	memcpy(blaming->last, version->snapshot->name, sizeof(blaming->last));
	blaming->found = true;
	blaming->present = version->present;
	return 0;
}

static int emit_line(void *arg, const struct lineage_line *line, struct err *err)
{
	return op_emit(((struct blaming *)arg)->ctx, line, err);
}

static int do_blame(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct path_request *req = request;
	struct blame_result *result = out;
	struct blaming blaming = { .ctx = ctx };
	struct strata_provider provider;

	result->path = refview_path(ctx, str_of(req->path));
	strata_provider_init(&provider, &ctx->env->history, ctx->env->row.head);
	int r = lineage_run(&provider.provider, result->path, note_version, &blaming, err);
	if (r < 0)
		return r;
	if (!blaming.found)
		return err_set(
			err, ERR_NOT_FOUND, "no node on the way to HEAD ever had '%s'", req->path);
	struct node *node = arena_alloc(ctx->arena, sizeof(*node));
	r = history_get(&ctx->env->history, blaming.last, ctx->arena, node, err);
	if (r > 0)
		r = noderow_fill(ctx, ctx->arena, node, &result->last, err);
	if (r >= 0)
		r = nodetrace_get(ctx->env, node->id, ctx->arena, &result->trace, err);
	if (r < 0)
		return r;
	result->found = true;
	result->present = blaming.present;
	return blaming.present
		       ? lineage_blame(&provider.provider, result->path, emit_line, &blaming, err)
		       : 0;
}

static void row_json(struct json *out, const void *row)
{
	const struct lineage_line *line = row;

	json_text(out, "node", line->snapshot);
	json_uint(out, "line", line->line);
	json_str(out, "text", line->text);
}

static void result_json(struct json *out, const void *result)
{
	const struct blame_result *res = result;

	json_str(out, "path", res->path);
	json_bool(out, "present", res->present);
	json_open(out, "last", '{');
	noderow_json(out, &res->last);
	nodetrace_json(out, &res->trace);
	json_close(out);
}

const struct op op_blame = {
	.name = "blame",
	.summary = "who last changed a path, and each of its lines",
	.advice = "Tells for each line which node brought it.",
	.access = ENV_READ,
	.params = params,
	.request_size = sizeof(struct path_request),
	.result_size = sizeof(struct blame_result),
	.rows = "lines",
	.row = "{node:text line:int text:text}",
	.result = "path:text present:bool last:{" NODEROW_SHAPE NODETRACE_SHAPE "}",
	.run = do_blame,
	.row_json = row_json,
	.result_json = result_json,
};
