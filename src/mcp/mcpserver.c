#include "mcp/mcpserver.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>

#include "core/at.h"
#include "core/own.h"
#include "mcp/asker.h"
#include "mcp/calls.h"
#include "mcp/stdio.h"
#include "ops/policyfile.h"
#include "ops/requests.h"
#include "owner/loop.h"

void mcpserver_send(struct sink *sink, const struct json *message)
{
	sink->send(sink, json_written(message));
}

void mcpserver_answered(struct server *server)
{
	if (server->answered)
		server->answered(server->arg);
}

static void on_child(void *arg)
{
	struct server *server = arg;

	task_reap(&server->tasks);
}

static void on_end_signal(void *arg)
{
	loop_stop(((struct server *)arg)->loop);
}

static int serve(struct server *server, struct err *err)
{
	static const int ends[] = { SIGTERM, SIGINT, SIGHUP };
	struct loop_event *events[4] = { loop_signal(server->loop, SIGCHLD, on_child, server) };

	for (int i = 0; i < 3; i++)
		events[i + 1] = loop_signal(server->loop, ends[i], on_end_signal, server);
	(void)signal(SIGPIPE, SIG_IGN);
	int r = stdio_serve(server, err);
	calls_end_all(server);
	asker_end_all(server);
	for (int i = 0; i < 4; i++)
		loop_event_free(&events[i]);
	return r;
}

/*
 * Find the environment, and check that it can be opened.  A server that finds no environment
 * answers questions only, unless an environment was named.
 */
static int find_environment(struct server *server, const struct op_context *ctx,
	const struct mcp_request *request, struct err *err)
{
	const char *root = request->environment ?: ctx->root;
	struct env env;

	server->settings.workspace = ctx->workspace;
	if (!request->environment && !env_exists(root))
		return 0;
	int r = env_open(&env, root, ctx->workspace, ENV_READ, "mcp", ctx->report, err);
	if (r < 0)
		return r;
	env_close(&env);
	server->settings.root = root;
	return 0;
}

/*
 * Check the policy, and make its path absolute.  The owner of a workspace reads the file for each
 * command, and may have another working directory.
 */
static int find_policy(
	struct server *server, const char *file, struct arena *arena, struct err *err)
{
	struct policy policy;

	if (!file)
		return 0;
	if (policyfile_read(file, arena, &policy, err) < 0)
		return -(int)err->code;
	owned_fd int fd = at_open_given(file, O_PATH, 0, err);
	owned_mem char *path = fd < 0 ? NULL : at_path_of(fd, err);
	if (!path)
		return -(int)err->code;
	server->settings.policy = arena_strdup(arena, path);
	return 0;
}

int mcpserver_run(struct op_context *ctx, const struct mcp_request *request, struct err *err)
{
	struct server server = { .families = &request->families };

	if (find_environment(&server, ctx, request, err) < 0 ||
		find_policy(&server, request->policy, ctx->arena, err) < 0)
		return -(int)err->code;
	if (request->hosts && setenv("STRATA_HOSTS", request->hosts, 1) < 0)
		return err_errno(err, "set STRATA_HOSTS");
	struct tool_rights rights = {
		.environment = server.settings.root,
		.adds = !request->read_only,
		.writes = request->allow_write,
		.restores = request->families.restore.count,
		.confined = request->policy,
	};
	server.loop = loop_new(err);
	if (!server.loop)
		return -(int)err->code;
	toolset_init(&server.settings.tools, &rights);
	int r = serve(&server, err);
	toolset_release(&server.settings.tools);
	loop_free(server.loop);
	return r;
}
