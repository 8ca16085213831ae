#include "ops/shell.h"

#include "ops/exec.h"

static const struct param params[] = {
	PARAM(exec_request, cwd, TEXT, 0,
		"the directory of the environment to start in; / unless given"),
	PARAM(exec_request, env, TEXTS, 0, "NAME=VALUE, or NAME: as it is here"),
	PARAM(exec_request, user, TEXT, 0, "USER[:GROUP] of the environment; root unless given"),
	PARAM(exec_request, net, TEXT, 0, "host (the default) or none"),
	PARAM(exec_request, host_sockets, FLAG, 0,
		"with the machine's network, its abstract sockets as well"),
	PARAM(exec_request, bind, TEXTS, 0,
		"HOST:INSIDE[:ro]: show a file or directory of this machine"),
	{ 0 },
};

/* What is there decides, and only inside can it be found out without being led astray. */
#define FIND_SHELL "[ -x /bin/bash ] && exec /bin/bash -i; exec /bin/sh -i"

struct param_texts shell_argv(void)
{
	static const char *argv[] = { "/bin/sh", "-c", FIND_SHELL };

	return (struct param_texts){ argv, sizeof(argv) / sizeof(argv[0]) };
}

static int run(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	struct exec_request req = *(const struct exec_request *)request;

	req.argv = shell_argv();
	return exec_run(ctx, &req, out, err);
}

const struct op op_shell = {
	.name = "shell",
	.flags = OP_LOCAL | OP_NO_ENV | OP_WRITES,
	.params = params,
	.request_size = sizeof(struct exec_request),
	.result_size = sizeof(struct exec_result),
	.run = run,
	.result_json = exec_result_json,
};
