/* cp - copy files into the live tree, or out of the live tree or a node. */
#include <string.h>

#include "ops/copyin.h"
#include "ops/copyout.h"
#include "ops/shape.h"

static const struct param params[] = {
	PARAM(cp_request, from, TEXT, PARAM_REQUIRED | PARAM_POSITIONAL,
		"REF:PATH, or a path of this machine; - is standard input"),
	PARAM(cp_request, to, TEXT, PARAM_REQUIRED | PARAM_POSITIONAL,
		"the other one; - is standard output"),
	{ 0 },
};

/* Whether an argument has the form REF:PATH, with a colon and no slash before the colon. */
static bool is_ref(const char *text, struct str *ref, struct str *path)
{
	ref_split(str_of(text), ref, path);
	return ref->len && ref->len < strlen(text) && !memchr(ref->ptr, '/', ref->len);
}

/*
 * Reading a node needs no lock.  Before the live tree is read, it is captured.  The capture writes
 * to the workspace, and so needs the lock of the workspace.
 */
static enum env_access access_for(const void *request)
{
	const struct cp_request *req = request;
	struct str ref, path;

	return is_ref(req->from, &ref, &path) && !str_eq(ref, STR("work")) ? ENV_READ : ENV_WRITE;
}

static int copy_in(struct op_context *ctx, const struct cp_request *req, struct str ref,
	struct str path, struct cp_result *result, struct err *err)
{
	if (!str_eq(ref, STR("work"))) {
		err_set(err, ERR_INVALID, "'%s' is in a node, and nodes never change", req->to);
		return err_hint(err, "copy to 'work:PATH'");
	}
	result->into = true;
	result->ref = "work";
	result->host = req->from;
	return copyin_run(ctx, req->from, path, result, err);
}

static int copy_out(struct op_context *ctx, const struct cp_request *req, struct str name,
	struct str path, struct cp_result *result, struct err *err)
{
	struct ref ref;
	struct hash tree;
	int r = env_resolve(ctx->env, arena_str(ctx->arena, name).ptr, &ref, err);

	if (r >= 0)
		r = env_tree(ctx->env, &ref, &tree, err);
	if (r < 0)
		return r;
	result->ref = ref.work ? "work" : arena_strdup(ctx->arena, ref.id);
	result->host = req->to;
	return copyout_run(ctx, &tree, path, req->to, result, err);
}

static int do_cp(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	const struct cp_request *req = request;
	struct cp_result *result = out;
	struct str from_ref, from_path, to_ref, to_path;
	bool from = is_ref(req->from, &from_ref, &from_path);
	bool to = is_ref(req->to, &to_ref, &to_path);

	result->report = ctx->report;
	if (from == to)
		return err_set(err, ERR_USAGE,
			"cp: one of the two is REF:PATH, the other a path of this machine%s",
			from ? " ('./NAME' where it has a colon)" : "");
	return from ? copy_out(ctx, req, from_ref, from_path, result, err)
		    : copy_in(ctx, req, to_ref, to_path, result, err);
}

static void result_json(struct json *out, const void *result)
{
	const struct cp_result *res = result;

	json_text(out, "ref", res->ref);
	json_str(out, "path", res->path);
	json_text(out, "host", res->host);
	json_uint(out, "entries", res->entries);
	json_uint(out, "bytes", res->bytes);
	if (res->into)
		shape_counts(out, &res->changes);
	shape_report(out, res->report);
}

const struct op op_cp = {
	.name = "cp",
	.summary = "copy files into the live tree, or out of it or of a node",
	.flags = OP_LOCAL | OP_WRITES,
	.access = ENV_WRITE,
	.access_for = access_for,
	.params = params,
	.request_size = sizeof(struct cp_request),
	.result_size = sizeof(struct cp_result),
	.result = "ref:text path:text host:text? entries:int bytes:int " SHAPE_OPTIONAL_COUNTS
		SHAPE_REPORT,
	.run = do_cp,
	.result_json = result_json,
};
