/* check_policy - check whether a file holds a valid policy. */
#include "ops/policies.h"
#include "ops/policyfile.h"
#include "ops/shape.h"

static const struct param params[] = {
	PARAM(check_policy_request, file, TEXT, PARAM_REQUIRED | PARAM_POSITIONAL,
		"the file of the policy; - is standard input"),
	{ 0 },
};

static int check_policy(struct op_context *ctx, const void *request, void *result, struct err *err)
{
	const struct check_policy_request *req = request;
	struct policy_result *res = result;

	return policyfile_read(req->file, ctx->arena, &res->policy, err);
}

static void result_json(struct json *out, const void *result)
{
	const struct policy_result *res = result;

	json_bool(out, "ok", true);
	json_text(out, "preset", res->policy.preset);
	json_texts(out, "warnings", res->policy.warnings.list, res->policy.warnings.n);
}

const struct op op_check_policy = {
	.name = "policy check",
	.summary = "whether a file holds a policy",
	.flags = OP_NO_ENV | OP_ANYWHERE | OP_LOCAL,
	.params = params,
	.request_size = sizeof(struct check_policy_request),
	.result_size = sizeof(struct policy_result),
	.result = "ok:bool preset:text? warnings:[text]",
	.run = check_policy,
	.result_json = result_json,
};
