/*
 * grant, revoke - change what running commands under a policy may do.
 *
 * The wardens of the commands decide (confine/grants.h).  Any process of the same user outside of
 * the sandbox can send requests to the wardens, so the workspace needs no owner process.
 */
#include <fcntl.h>

#include "confine/grantsocket.h"
#include "core/at.h"
#include "core/own.h"
#include "ops/requests.h"
#include "ops/switchuser.h"
#include "ops/table.h"

#define SELECTING                                                                                  \
	PARAM(grantwire_request, pid, COUNT, 0,                                                    \
		"only the command that this process of 'ps' belongs to"),                          \
		PARAM(grantwire_request, command, TEXT, 0,                                         \
			"only commands of this name, with or without its directory")

static const struct param grant_params[] = {
	PARAM(grantwire_request, path, TEXT, 0, "a file or directory that fs.grantable covers"),
	PARAM(grantwire_request, mode, TEXT, 0,
		"with path: read, or write, which includes reading"),
	PARAM(grantwire_request, host, TEXT, 0, "or a host that net.grantable has, with its port"),
	SELECTING,
	{ 0 },
};

static const struct param revoke_params[] = {
	PARAM(grantwire_request, path, TEXT, 0, "a path as it was granted"),
	PARAM(grantwire_request, host, TEXT, 0, "or a host as it was granted"),
	SELECTING,
	{ 0 },
};

struct changing {
	struct op_context *ctx;
	struct grant_result *result;
	int64_t asked;    /* number of commands whose wardens have answered */
	struct err first; /* the first refusal of a warden */
};

static int take_answer(void *arg, const struct grantwire_answer *answer, struct err *err)
{
	struct changing *changing = arg;

	changing->asked++;
	changing->result->changed += answer->changed;
	changing->result->refused += answer->err.code != 0;
	if (answer->err.code && !changing->first.code)
		changing->first = answer->err;
	return op_emit(changing->ctx, answer, err);
}

static int refuse_nobody(
	const struct env *env, const struct grantwire_request *request, struct err *err)
{
	if (request->pid || request->command)
		return err_set(err, ERR_NOT_FOUND,
			"no such command runs under a policy in workspace '%s'", env->row.name);
	return err_set(err, ERR_NOT_FOUND, "no command runs under a policy in workspace '%s'",
		env->row.name);
}

static int change(struct op_context *ctx, const struct grantwire_request *request,
	struct grant_result *result, struct err *err)
{
	struct changing changing = { .ctx = ctx, .result = result };
	struct env *env = ctx->env;
	owned_fd int run = at_open(env->rootfd, "run", O_RDONLY | O_DIRECTORY, err);

	result->request = request;
	/* A warden answers only processes of its own user. */
	if (run < 0 || switchuser_to_owner(env->rootfd, env->root, err) < 0 ||
		grantsocket_ask(
			run, env->row.name, request, ctx->arena, take_answer, &changing, err) < 0)
		return -(int)err->code;
	if (!changing.asked)
		return refuse_nobody(env, request, err);
	if (result->refused == changing.asked) {
		*err = changing.first;
		return -(int)err->code;
	}
	return 0;
}

static int do_grant(struct op_context *ctx, const void *request, void *result, struct err *err)
{
	return change(ctx, request, result, err);
}

static int do_revoke(struct op_context *ctx, const void *request, void *result, struct err *err)
{
	struct grantwire_request *revoked = arena_alloc(ctx->arena, sizeof(*revoked));

	*revoked = *(const struct grantwire_request *)request;
	revoked->revoke = true;
	return change(ctx, revoked, result, err);
}

static int check_grant(const void *request, struct err *err)
{
	return grantwire_check(request, err);
}

static void row_json(struct json *out, const void *row)
{
	const struct grantwire_answer *answer = row;

	json_texts(out, "argv", answer->argv.list, answer->argv.count);
	json_bool(out, "changed", answer->changed);
	json_text(out, "rule", answer->rule);
	json_text(out, "error", answer->err.code ? answer->err.text : NULL);
}

static void result_json(struct json *out, const void *result)
{
	const struct grant_result *res = result;
	const struct grantwire_request *request = res->request;

	json_text(out, "path", request ? request->path : NULL);
	json_text(out, "host", request ? request->host : NULL);
	json_text(out, "mode",
		!request || !request->path || request->revoke ? NULL : request->mode ?: "read");
	json_int(out, "changed", res->changed);
	json_int(out, "refused", res->refused);
}

#define ROW "{argv:[text] changed:bool rule:text? error:text?}"
#define RESULT "path:text? host:text? mode:text? changed:int refused:int"

/* The members that both operations have. */
#define SHARED                                                                                     \
	.flags = OP_WRITES | OP_OWNERLESS | OP_PERSON, .access = ENV_READ,                         \
	.request_size = sizeof(struct grantwire_request),                                          \
	.result_size = sizeof(struct grant_result), .rows = "commands", .row = ROW,                \
	.result = RESULT, .check = check_grant, .row_json = row_json, .result_json = result_json

const struct op op_grant = {
	.name = "grant",
	.summary = "allow more to commands that run under a policy, within what it says",
	.params = grant_params,
	.run = do_grant,
	SHARED,
};

const struct op op_revoke = {
	.name = "revoke",
	.summary = "take back what was granted to commands that run",
	.params = revoke_params,
	.run = do_revoke,
	SHARED,
};
