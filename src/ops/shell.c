#include "ops/shell.h"

#include "ops/exec.h"

static const struct op_param params[] = {
	{ "cwd", 0, OP_TEXT, 0, offsetof(struct exec_request, cwd) },
	{ "env", 0, OP_TEXTS, 0, offsetof(struct exec_request, env) },
	{ "user", 0, OP_TEXT, 0, offsetof(struct exec_request, user) },
	{ "net", 0, OP_TEXT, 0, offsetof(struct exec_request, net) },
	{ "host_sockets", 0, OP_FLAG, 0, offsetof(struct exec_request, host_sockets) },
	{ "bind", 0, OP_TEXTS, 0, offsetof(struct exec_request, bind) },
	{ NULL, 0, 0, 0, 0 },
};

/* What is there decides, and only inside can it be found out without being led astray. */
#define FIND_SHELL "[ -x /bin/bash ] && exec /bin/bash -i; exec /bin/sh -i"

struct op_texts shell_argv(void)
{
	static const char *argv[] = { "/bin/sh", "-c", FIND_SHELL };

	return (struct op_texts){ argv, sizeof(argv) / sizeof(argv[0]) };
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
