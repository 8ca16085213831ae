/* tag, tags - show, set or delete one tag; list all tags. */
#include <string.h>

#include "ops/requests.h"

static const struct param params[] = {
	PARAM(tag_request, name, TEXT, PARAM_POSITIONAL, "the tag; all are listed unless given"),
	PARAM(tag_request, ref, TEXT, PARAM_POSITIONAL, "the node to tag; HEAD unless given"),
	PARAM_AS("delete", tag_request, remove, FLAG, 0, "delete the tag; its node stays",
		.letter = 'd'),
	{ 0 },
};

static int set_tag(struct op_context *ctx, const struct tag_request *req, struct tag_result *result,
	struct err *err)
{
	struct ref ref;
	int r;

	if (!history_tag_ok(req->name)) {
		err_set(err, ERR_INVALID, "'%.80s' cannot be a tag", req->name);
		return err_hint(err, "no blanks, none of ~^:@{}\\, not HEAD, work or a node id");
	}
	r = env_resolve(ctx->env, req->ref, &ref, err);
	if (r >= 0 && ref.work)
		r = err_set(err, ERR_INVALID, "'work' is no node yet; commit first");
	if (r >= 0)
		r = history_tag_set(&ctx->env->history, req->name, ref.id, err);
	if (r >= 0)
		memcpy(result->id, ref.id, sizeof(result->id));
	return r;
}

static int do_tag(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct tag_request *req = request;
	struct tag_result *result = out;
	int r;

	result->name = req->name;
	if (!req->name)
		return err_set(err, ERR_USAGE, "tag: -d needs the name of a tag");
	if (req->remove && req->ref)
		return err_set(err, ERR_USAGE, "-d takes a tag's name and nothing else");
	if (req->ref)
		return set_tag(ctx, req, result, err);
	r = history_tag_get(&ctx->env->history, req->name, result->id, err);
	if (r < 0)
		return r;
	if (req->remove) {
		if (r == 0)
			return err_set(err, ERR_NOT_FOUND, "no tag '%s'", req->name);
		result->removed = true;
		return history_tag_delete(&ctx->env->history, req->name, err);
	}
	/*
	 * If the tag exists, 'tag NAME' shows the tag.  Otherwise 'tag NAME' makes the tag at HEAD.
	 */
	if (r > 0)
		return 0;
	struct tag_request at_head = { .name = req->name, .ref = "HEAD" };
	return set_tag(ctx, &at_head, result, err);
}

static void result_json(struct json *out, const void *result)
{
	const struct tag_result *res = result;

	json_text(out, "name", res->name);
	json_text(out, "node", res->id);
	json_bool(out, "deleted", res->removed);
}

const struct op op_tag = {
	.name = "tag",
	.summary = "list, show, set or delete tags",
	.advice = "With a name it sets a tag, which also keeps the node from being thinned "
		  "out.",
	.flags = OP_WRITES | OP_ELSE_READ | OP_REPEATABLE,
	.access = ENV_STORE,
	.params = params,
	.request_size = sizeof(struct tag_request),
	.result_size = sizeof(struct tag_result),
	.result = "name:text node:text deleted:bool",
	.run = do_tag,
	.result_json = result_json,
};

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

	json_text(out, "name", tag->name);
	json_text(out, "node", tag->id);
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
