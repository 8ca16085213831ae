/* mcp - serve a client of the Model Context Protocol, such as a coding agent. */
#include <string.h>

#include "ops/requests.h"

static const struct param params[] = {
	PARAM_AS("env", mcp_request, environment, TEXT, 0,
		"the directory of the environment, instead of --root"),
	PARAM(mcp_request, hosts, TEXT, 0, "the hosts file"),
	PARAM(mcp_request, read_only, FLAG, 0, "offer only tools that read"),
	PARAM(mcp_request, allow_write, FLAG, 0, "offer all tools, such as checkout and exec"),
	PARAM(mcp_request, policy, TEXT, 0, "the file of a policy that commands run under"),
	FAMILIES_PARAMS(mcp_request, families),
	{ 0 },
};

static int check(const void *request, struct err *err)
{
	const struct mcp_request *req = request;

	if (req->read_only && (req->allow_write || req->families.restore.count))
		return err_set(err, ERR_USAGE,
			"mcp: --read-only excludes --allow-write and --allow-restore");
	if (req->policy && !req->allow_write)
		return err_set(
			err, ERR_USAGE, "mcp: --policy is for commands, which need --allow-write");
	if (req->policy && !strcmp(req->policy, "-"))
		return err_set(err, ERR_USAGE,
			"mcp: --policy must be a file: standard input has the protocol");
	return families_check(&req->families, err);
}

static int do_mcp(struct op_context *ctx, const void *request, void *result, struct err *err)
{
	if (!ctx->owner)
		return err_set(err, ERR_UNSUPPORTED, "only the command line serves MCP");
	return ctx->owner->mcp(ctx, request, err);
}

const struct op op_mcp = {
	.name = "mcp",
	.summary = "serve a model over the Model Context Protocol",
	.flags = OP_NO_ENV | OP_LOCAL | OP_ANYWHERE,
	.params = params,
	.request_size = sizeof(struct mcp_request),
	.check = check,
	.run = do_mcp,
};
