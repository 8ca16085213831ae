#include "cli/execution.h"

#include <string.h>

#include "ops/requests.h"

#define STATUS_UNCOMMITTED 1

bool execution_is_raw(const void *request)
{
	return true;
}

static void print_degraded(const char *text)
{
	while (text && *text) {
		size_t len = strcspn(text, "\n");

		fprintf(stderr, "strata: %.*s\n", (int)len, text);
		text += len + (text[len] == '\n');
	}
}

int execution_print(struct output *out, const void *request, const void *result)
{
	const struct exec_request *req = request;
	const struct exec_result *res = result;

	if (!req->quiet)
		print_degraded(res->degraded);
	if (res->sandbox.failure) {
		output_error(&res->why);
		return res->sandbox.failure;
	}
	if (res->sandbox.timed_out)
		fprintf(stderr, "strata: the command took longer than %lld s\n",
			(long long)req->timeout);
	if (res->made && !req->quiet)
		fprintf(stderr, "node %s\n", res->node.node->id);
	if (res->uncommitted)
		fprintf(stderr, "strata: what changed is in no node: %s\n", res->uncommitted);
	if (res->untraced)
		fprintf(stderr, "strata: there is no trace: %s\n", res->untraced);
	return res->uncommitted && !res->sandbox.status ? STATUS_UNCOMMITTED : res->sandbox.status;
}
