/*
 * compose_policy - make a policy that allows an action only if both given policies allow the
 * action.
 */
#include <string.h>

#include "ops/policies.h"
#include "ops/policyfile.h"
#include "policy/compose.h"

static const struct param params[] = {
	PARAM(compose_policy_request, parent, TEXT, PARAM_REQUIRED | PARAM_POSITIONAL,
		"the file of the first policy, whose variables win; - is standard input"),
	PARAM(compose_policy_request, child, TEXT, PARAM_REQUIRED | PARAM_POSITIONAL,
		"the file of the second policy; - is standard input"),
	{ 0 },
};

static int check(const void *request, struct err *err)
{
	const struct compose_policy_request *req = request;

	if (!strcmp(req->parent, "-") && !strcmp(req->child, "-"))
		return err_set(
			err, ERR_USAGE, "policy: only one of both policies can be standard input");
	return 0;
}

static int compose_policy(
	struct op_context *ctx, const void *request, void *result, struct err *err)
{
	const struct compose_policy_request *req = request;
	struct policy_result *res = result;
	struct policy parent, child;
	int r = policyfile_read(req->parent, ctx->arena, &parent, err);

	if (r >= 0)
		r = policyfile_read(req->child, ctx->arena, &child, err);
	return r < 0 ? r : compose_policies(&parent, &child, ctx->arena, &res->policy, err);
}

static void result_json(struct json *out, const void *result)
{
	policy_write_members(out, &((const struct policy_result *)result)->policy);
}

const struct op op_compose_policy = {
	.name = "policy compose",
	.summary = "the policy that allows only what two policies allow",
	.flags = OP_NO_ENV | OP_ANYWHERE | OP_LOCAL,
	.params = params,
	.request_size = sizeof(struct compose_policy_request),
	.result_size = sizeof(struct policy_result),
	.result = "fs:any net:any exec:any env:any limits:any trust:text",
	.check = check,
	.run = compose_policy,
	.result_json = result_json,
};
