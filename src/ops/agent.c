/*
 * agent - answer the requests that a program sends as lines of JSON-RPC.  The code of the methods
 * is in query/, and the code of the server is in rpc/.
 */
#include "core/own.h"
#include "ops/hostquery.h"
#include "ops/op.h"
#include "ops/querysources.h"
#include "rpc/queryserver.h"

struct agent_request {
	struct families_options families;
	struct hostquery_options host;
};

static const struct param params[] = {
	FAMILIES_PARAMS(agent_request, families),
	HOSTQUERY_PARAMS(agent_request, host),
	{ 0 },
};

static int check(const void *request, struct err *err)
{
	const struct agent_request *req = request;

	return hostquery_check("agent", &req->host, &req->families, err);
}

static int do_agent(struct op_context *ctx, const void *request, void *result, struct err *err)
{
	const struct agent_request *req = request;
	owned(querysources_close) struct querysources sources = { 0 };
	owned(registry_release) struct registry registry = { 0 };
	struct answerer_source source = {
		.refresh = querysources_refresh,
		.arg = &sources,
		.restore = &sources.restore,
	};

	if (req->host.name)
		return hostquery_relay(ctx, &req->host, &req->families, err);
	int r = querysources_init(&sources, ctx, &req->families, err);
	/* If a folder cannot be read, fail now, and not in the reply to each request. */
	if (r >= 0)
		r = families_add(&req->families, &registry, err);
	return r < 0 ? r : queryserver_run(&source, err);
}

const struct op op_agent = {
	.name = "agent",
	.summary = "answer queries of a program, as lines of JSON-RPC",
	.flags = OP_NO_ENV | OP_LOCAL | OP_ANYWHERE,
	.params = params,
	.request_size = sizeof(struct agent_request),
	.check = check,
	.run = do_agent,
};
