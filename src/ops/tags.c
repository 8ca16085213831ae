/* tags - all tags. */
#include "ops/requests.h"

static int list_tag(void *arg, const char *name, const char *id, struct err *err)
{
	struct tag_row row = { name, id };

	return op_emit(arg, &row, err);
}

static int do_tags(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	return history_tags(&ctx->env->history, NULL, list_tag, ctx, err);
}

static void row_json(struct json *out, const void *row)
{
	const struct tag_row *tag = row;

	json_open(out, NULL, '{');
	json_text(out, "name", tag->name);
	json_text(out, "node", tag->id);
	json_close(out);
}

const struct op op_tags = {
	.name = "tags",
	.summary = "all tags and their nodes",
	.access = ENV_READ,
	.rows = "tags",
	.row = "{name:text node:text}",
	.run = do_tags,
	.row_json = row_json,
};
