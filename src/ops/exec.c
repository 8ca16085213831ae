/*
 * exec - run a command in the environment and commit its changes.
 *
 * The workspace is locked while the sandbox is set up, and again for the commit.  While the command
 * runs, the workspace is not locked.  So another process may commit the unfinished live tree, and a
 * checkout kills the command.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ops/childwork.h"
#include "ops/confined.h"
#include "ops/denied.h"
#include "ops/exec.h"
#include "ops/newnode.h"
#include "ops/recovery.h"
#include "ops/running.h"
#include "ops/shape.h"
#include "ops/variables.h"

#define START_TRIES 5

static const struct param params[] = {
	EXEC_PLACE_PARAMS(exec_request),
	PARAM(exec_request, timeout, COUNT, 0, "seconds after which the command is ended"),
	PARAM(exec_request, timeout_ms, COUNT, 0, "the same in milliseconds"),
	PARAM(exec_request, shell, TEXT, 0, "a line for /bin/sh, instead of a command"),
	PARAM(exec_request, no_commit, FLAG, 0, "make no node"),
	PARAM(exec_request, trace, FLAG, 0,
		"keep with the node which files the command read and wrote"),
	PARAM(exec_request, quiet, FLAG, 0, "do not print the node", .letter = 'q'),
	PARAM(exec_request, argv, TEXTS, PARAM_AFTER_DASHES, "the command and its arguments"),
	{ 0 },
};

static bool wants_no_net(const struct exec_request *req)
{
	return req->place.net && !strcmp(req->place.net, "none");
}

static int check_request(const struct exec_request *req, struct err *err)
{
	if (!req->argv.count)
		return err_set(err, ERR_USAGE, "exec: argv is missing (see 'strata help exec')");
	if (req->place.net && strcmp(req->place.net, "host") && strcmp(req->place.net, "none"))
		return err_set(err, ERR_USAGE, "--net is 'host' or 'none'");
	if (req->place.host_sockets && wants_no_net(req))
		return err_set(err, ERR_USAGE,
			"--host-sockets needs the machine's network: not with --net none");
	if (req->timeout > EXEC_TIMEOUT_MAX || req->timeout_ms > EXEC_TIMEOUT_MAX * 1000)
		return err_set(err, ERR_USAGE, "--timeout is at most %lld seconds",
			(long long)EXEC_TIMEOUT_MAX);
	if (req->trace && req->no_commit)
		return err_set(
			err, ERR_USAGE, "--trace needs a node to belong to: not with --no-commit");
	if (req->place.cwd && req->place.cwd[0] != '/')
		return err_set(err, ERR_USAGE, "--cwd is a path in the environment, from '/'");
	return 0;
}

int exec_take_shell(struct exec_request *req, struct arena *arena, struct err *err)
{
	if (!req->shell)
		return 0;
	if (req->argv.count)
		return err_set(err, ERR_USAGE, "exec: give either --shell or a command, not both");
	const char **argv = arena_alloc(arena, 3 * sizeof(*argv));
	argv[0] = "/bin/sh";
	argv[1] = "-c";
	argv[2] = req->shell;
	req->argv = (struct param_texts){ argv, 3 };
	req->shell = NULL;
	return 0;
}

/* One attempt to run the command. */
struct job {
	struct op_context *ctx;
	const struct exec_request *req;
	struct env *env;
	struct running_net net;
	struct nodetrace_new *trace;
	struct confined *confined;
	const char *degraded;
};

static void release_env(void *arg)
{
	struct job *job = arg;

	env_let_go(job->env);
}

/*
 * Tell the user, before the command runs, which parts of the policy are not enforced.  Also tell
 * the user if denials cannot be written to the place that the user named.
 */
static void tell_shortcomings(const struct job *job)
{
	struct op_context *ctx = job->ctx;
	struct exec_result so_far = { 0 };

	if (!ctx->notice)
		return;
	confined_report(job->confined, ctx->arena, &so_far);
	const char *loss = confined_describe_loss(job->confined, ctx->arena);
	if (*so_far.unenforced)
		ctx->notice(ctx->arg, so_far.unenforced);
	if (loss)
		ctx->notice(ctx->arg, loss);
}

static int restrict_command(struct job *job, struct sandbox_command *command, struct err *err)
{
	if (confined_restrict(job->confined, job->ctx->arena, command, err) < 0)
		return -(int)err->code;
	tell_shortcomings(job);
	return 0;
}

/* Make namespaces for this command alone, if the command has binds or a policy. */
static int make_space(struct job *job, struct sandbox *sandbox, struct sandbox_command *command,
	struct commandspace *space, struct err *err)
{
	struct commandspace_plan plan = { .binds = job->req->binds };
	struct confined *confined = job->confined;

	if (!confined->active)
		tell_shortcomings(job);
	plan.binds.hidden = job->env->root;
	if (!plan.binds.n && !confined->active)
		return 0;
	if ((plan.binds.n && bindspec_check(&plan.binds, err) < 0) ||
		(confined->active &&
			confined_prepare(confined, job->env, sandbox, &plan, err) < 0) ||
		commandspace_make(sandbox, &plan, space, err) < 0)
		return -(int)err->code;
	command->space = space;
	return confined->active ? restrict_command(job, command, err) : 0;
}

/*
 * Remove the stubs that a killed warden has left.  A failure is ignored, because the next command
 * also removes such stubs.
 */
static void remove_stubs(struct job *job, const struct sandbox *sandbox)
{
	struct bindspecs binds = job->req->binds;
	struct err later = { 0 };

	binds.hidden = job->env->root;
	(void)confined_remove_stubs(job->confined, job->env, sandbox, &binds, &later);
}

/* Run the command, with its binds and under its policy, if there are any. */
static int run_in_space(struct job *job, struct sandbox *sandbox,
	const struct sandbox_command *command, struct sandbox_result *result, struct err *err)
{
	struct sandbox_command spaced = *command;
	struct commandspace space = COMMANDSPACE_INIT;
	int r = make_space(job, sandbox, &spaced, &space, err);

	if (r < 0)
		result->failure = r == -ERR_UNSUPPORTED && job->confined->active
					  ? SANDBOX_UNCONFINED
					  : SANDBOX_FAILED;
	else
		r = sandbox_run(sandbox, &spaced, result, err);
	if (!confined_settle(job->confined, &space, result))
		remove_stubs(job, sandbox);
	commandspace_release(&space);
	return r;
}

static int run_command(
	struct job *job, struct sandbox *sandbox, struct sandbox_result *result, struct err *err)
{
	const struct exec_request *req = job->req;
	const struct policy *policy = job->confined->active ? &job->confined->policy : NULL;
	struct op_context *ctx = job->ctx;
	const char **argv = arena_alloc(ctx->arena, (req->argv.count + 1) * sizeof(*argv));
	struct sandbox_command command = {
		.argv = argv,
		.cwd = req->place.cwd,
		.user = req->place.user,
		.timeout_ms = req->timeout_ms ? req->timeout_ms : req->timeout * 1000,
		.tty = isatty(STDIN_FILENO),
	};
	int r = variables_make(&req->place, policy, ctx->arena, &command.env, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < req->argv.count; i++)
		argv[i] = req->argv.list[i];
	argv[req->argv.count] = NULL;
	nodetrace_wrap(job->trace, &command);
	return run_in_space(job, sandbox, &command, result, err);
}

/* Attach to the sandbox of the workspace, release the locks, and run the command. */
static int run_directly(struct job *job, struct sandbox_result *result, struct err *err)
{
	struct sandbox sandbox = SANDBOX_INIT;
	int r = running_take(job->env, &job->net, &sandbox, err);

	env_let_go(job->env);
	if (r < 0)
		return r;
	job->degraded = arena_strdup(job->ctx->arena, sandbox.degraded);
	r = run_command(job, &sandbox, result, err);
	sandbox_detach(&sandbox);
	return r;
}

/* The result of a child that runs the command. */
struct child_end {
	struct sandbox_result sandbox;
	char degraded[sizeof(((struct sandbox *)0)->degraded)];
};

static int run_in_child(void *arg, int parent, void *result, struct err *err)
{
	struct job *job = arg;
	struct child_end *end = result;
	struct sandbox sandbox = SANDBOX_INIT;
	int r = running_leave(job->env, err);

	if (r >= 0)
		r = running_take(job->env, &job->net, &sandbox, err);
	if (r < 0)
		return r;
	childwork_ready(parent);
	memcpy(end->degraded, sandbox.degraded, sizeof(end->degraded));
	r = run_command(job, &sandbox, &end->sandbox, err);
	sandbox_detach(&sandbox);
	return r;
}

/*
 * Run the command from a child.  The child enters the user namespace in which programs run.  This
 * process stays outside of that namespace, because it must capture the live tree as an ordinary
 * user sees it.
 */
static int run_by_child(struct job *job, struct sandbox_result *result, struct err *err)
{
	struct childwork work = {
		.run = run_in_child,
		.ready = release_env,
		.arg = job,
		.size = sizeof(struct child_end),
	};
	struct child_end *end = arena_alloc(job->ctx->arena, sizeof(*end));
	int r = childwork_run(&work, end, err);

	*result = end->sandbox;
	job->degraded = end->degraded;
	return r;
}

/* Open the environment before the command, or take its locks again after the command. */
static int open_env(struct op_context *ctx, struct env *env, struct err *err)
{
	int r = env->root ? env_take_again(env, ENV_WRITE, ctx->report, err)
			  : env_open(env, ctx->root, ctx->workspace, ENV_WRITE, "exec", ctx->report,
				    err);

	return r < 0 ? r : recovery_run(env, ctx->report, err);
}

static int commit_changes(struct op_context *ctx, const struct exec_request *req, struct env *env,
	struct exec_result *result, struct err *err)
{
	struct newnode how = {
		.kind = NODE_EXEC,
		.message = req->message,
		.allow_empty = req->allow_empty || req->trace,
		.op = "exec",
		.command = req->argv,
		.has_status = true,
		.exit_status = result->sandbox.status,
		.binds = &req->binds,
		.duration = result->sandbox.duration_ns,
	};
	int r = open_env(ctx, env, err);

	if (r < 0)
		return r;
	ctx->env = env;
	r = newnode_commit_row(ctx, &how, &result->node, &result->made, err);
	ctx->env = NULL;
	return r;
}

/*
 * Attach the trace to the node.  A failure is reported but does not fail the operation, because a
 * node without its trace is better than no node.
 */
static void attach_trace(struct op_context *ctx, struct env *env, struct nodetrace_new *trace,
	struct exec_result *result)
{
	struct err err = { 0 };

	if (trace->fd >= 0 && nodetrace_attach(env, trace, result->node.node->id, &err) < 0)
		result->untraced = arena_strdup(ctx->arena, err.text);
}

/*
 * Whether a kill was requested while this process waited for the workspace.  Such a request is a
 * signal, which is blocked until the command runs (sandbox_run.h).  A request other than a kill
 * stays pending for the command.
 */
static bool is_killed_already(struct exec_result *result)
{
	const struct timespec at_once = { 0 };
	siginfo_t info;
	sigset_t set;

	sigemptyset(&set);
	if (sigpending(&set) < 0 || !sigismember(&set, SIGUSR1))
		return false;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	if (sigtimedwait(&set, &info, &at_once) < 0)
		return false;
	if (info.si_code != SI_QUEUE || info.si_value.sival_int != SIGKILL) {
		(void)sigqueue(getpid(), SIGUSR1, info.si_value);
		return false;
	}
	result->never = true;
	result->sandbox.signal = SIGKILL;
	result->sandbox.status = 128 + SIGKILL;
	return true;
}

/* Try once to run the command.  Afterwards the environment is open and its locks are released. */
static int try_command(struct op_context *ctx, const struct exec_request *req, struct env *env,
	struct nodetrace_new *trace, struct confined *confined, struct exec_result *result,
	struct err *err)
{
	struct job job = {
		.ctx = ctx,
		.req = req,
		.env = env,
		.net = { wants_no_net(req), req->place.host_sockets },
		.trace = trace,
		.confined = confined,
	};
	int r = open_env(ctx, env, err);

	result->sandbox = (struct sandbox_result){ 0 };
	if (r >= 0 && is_killed_already(result)) {
		env_let_go(env);
		return 0;
	}
	if (r >= 0 && req->trace && trace->fd < 0)
		r = nodetrace_begin(env, trace, err);
	if (r >= 0)
		r = running_prepare(env, &job.net, err);
	if (r < 0)
		return r;
	r = running_needs_child(env) ? run_by_child(&job, &result->sandbox, err)
				     : run_directly(&job, &result->sandbox, err);
	env_let_go(env);
	result->degraded = job.degraded;
	confined_report(confined, ctx->arena, result);
	return r;
}

static int run_and_commit(struct op_context *ctx, const struct exec_request *req, struct env *env,
	struct nodetrace_new *trace, struct confined *confined, struct exec_result *result,
	struct err *err)
{
	int r;

	/*
	 * If a checkout ended the sandbox exactly when this process entered it, try again after the
	 * checkout.
	 */
	int tries = START_TRIES;
	do {
		r = try_command(ctx, req, env, trace, confined, result, err);
	} while (r < 0 && result->sandbox.ended && --tries);
	/*
	 * A second try fails for an ordinary user.  This process cannot leave the user namespace of
	 * the old sandbox to enter that of the new sandbox.
	 */
	if (r < 0 && tries < START_TRIES && result->sandbox.failure == SANDBOX_FAILED) {
		err_set(err, ERR_BUSY,
			"the workspace was rolled back while the command was being started");
		return err_hint(err, "try again");
	}
	if (result->sandbox.failure && result->sandbox.failure != SANDBOX_FAILED) {
		result->why = *err;
		return 0;
	}
	if (r < 0 || req->no_commit || result->never)
		return r;
	struct err later = { 0 };
	/* The command has run, so its result is reported even if the commit fails. */
	if (commit_changes(ctx, req, env, result, &later) < 0)
		result->uncommitted = arena_strdup(ctx->arena, later.text);
	else
		attach_trace(ctx, env, trace, result);
	/* If no node was made, drop the denials.  Otherwise the next node would get them. */
	if (confined->active && !result->made && !result->uncommitted)
		denied_drop(env);
	return 0;
}

int exec_run(struct op_context *ctx, const struct exec_request *request, struct exec_result *result,
	struct err *err)
{
	struct nodetrace_new trace = NODETRACE_NEW_INIT;
	struct confined confined = CONFINED_INIT;
	struct exec_request req = *request;
	struct env env = ENV_INIT;
	int r = exec_take_shell(&req, ctx->arena, err);

	result->report = ctx->report;
	if (r >= 0)
		r = check_request(&req, err);
	if (r >= 0)
		r = bindspec_read(
			req.place.bind.list, req.place.bind.count, ctx->arena, &req.binds, err);
	if (r >= 0)
		r = confined_read(&req.place, &req.argv, ctx->arena, &confined, err);
	if (r >= 0)
		r = run_and_commit(ctx, &req, &env, &trace, &confined, result, err);
	confined_release(&confined);
	nodetrace_drop(&env, &trace);
	env_close(&env);
	sandbox_bury();
	return r;
}

static int do_exec(struct op_context *ctx, const void *request, void *out, struct err *err)
{
	return exec_run(ctx, request, out, err);
}

void exec_result_json(struct json *out, const void *result)
{
	static const struct treediff_counts none;
	const struct exec_result *res = result;

	json_int(out, "exit_status",
		res->sandbox.failure ? res->sandbox.failure : res->sandbox.status);
	json_number(out, "signal", res->sandbox.signal, res->sandbox.signal);
	json_bool(out, "timed_out", res->sandbox.timed_out);
	json_text(out, "error", res->sandbox.failure ? res->why.text : NULL);
	shape_counts(out, res->made ? &res->node.node->counts : &none);
	if (res->made) {
		json_open(out, "node", '{');
		noderow_json(out, &res->node);
		json_close(out);
	} else {
		json_none(out, "node");
	}
	json_text(out, "uncommitted", res->uncommitted);
	json_text(out, "untraced", res->untraced);
	shape_lines(out, "unenforced", res->unenforced);
	shape_denials(out, res->denials, res->n_denials);
	shape_report(out, res->report);
}

const struct op op_exec = {
	.name = "exec",
	.summary = "run a command in the environment",
	.advice = "Give 'shell' for a line with pipes and variables, or 'argv' for a "
		  "program with its arguments. The output comes with the result, and a node "
		  "is made of what the command changed.",
	.flags = OP_NO_ENV | OP_WRITES | OP_EXECUTES,
	.params = params,
	.request_size = sizeof(struct exec_request),
	.result_size = sizeof(struct exec_result),
	.result = EXEC_SHAPE,
	.run = do_exec,
	.result_json = exec_result_json,
};

const struct op op_spawn = {
	.name = "spawn",
	.summary = "start a command in the environment, without waiting for its end",
	.flags = OP_OWNER | OP_WRITES | OP_EXECUTES,
	.params = params,
	.request_size = sizeof(struct exec_request),
	.result = "process:int",
};
