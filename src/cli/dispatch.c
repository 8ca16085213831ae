#include "cli/dispatch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/owning.h"
#include "cli/relay.h"
#include "core/at.h"
#include "core/errcode.h"
#include "core/own.h"

/* The operation that is run for this command line. */
struct running {
	const struct command *command;
	const struct op *op;
	const void *request;
	/* NULL: this process is a task of an owner, and runs the operation for a client */
	const struct op_owner *owner;
	struct output *out;
};

static int on_row(void *arg, const void *row, struct err *err)
{
	struct running *running = arg;
	struct output *out = running->out;

	output_table_clear(out);
	if (out->json) {
		op_json_row(running->op, &out->writer, row);
		if (out->jsonl && json_end(&out->writer) < 0)
			return err_errno(err, "standard output");
	} else if (running->command->row) {
		running->command->row(out, running->request, row);
	}
	if (running->command->live)
		fflush(stdout);
	if (ferror(stdout))
		return err_errno(err, "standard output");
	return 0;
}

static int on_data(void *arg, const void *bytes, uint64_t len, struct err *err)
{
	static const char zeros[65536];

	while (len) {
		size_t n = bytes || len < sizeof(zeros) ? (size_t)len : sizeof(zeros);

		if (fwrite(bytes ? bytes : zeros, 1, n, stdout) != n)
			return err_errno(err, "standard output");
		len -= n;
	}
	return 0;
}

static void on_progress(void *arg, const char *stage, uint64_t done, uint64_t total)
{
	output_progress(((struct running *)arg)->out, stage, done, total);
}

static void on_notice(void *arg, const char *lines)
{
	output_lines(lines);
}

static void on_watch(void *arg, const void *state)
{
	struct running *running = arg;

	output_table_clear(running->out);
	if (state)
		running->command->watch(running->out, running->request, state);
	fflush(stderr);
}

static void begin_json(struct running *running)
{
	struct output *out = running->out;

	out->writer.sink = output_json;
	if (out->jsonl)
		return;
	out->writer.pretty = true;
	json_open(&out->writer, NULL, '{');
	op_json_begin(running->op, &out->writer);
}

static int end_json(struct running *running, const void *result, struct err *err)
{
	struct output *out = running->out;

	if (out->jsonl)
		return 0;
	op_json_end(running->op, &out->writer, result);
	json_close(&out->writer);
	return json_end(&out->writer) < 0 ? err_errno(err, "standard output") : 0;
}

/*
 * Run the operation with standard output sent to standard error, because standard output is
 * reserved for the result.
 */
static int run_aside(struct running *running, struct op_context *ctx, void *result, struct err *err)
{
	owned_fd int ours = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	if (ours < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return err_errno(err, "standard output");
	int r = op_run(running->op, ctx, running->request, result, err);
	return dup2(ours, STDOUT_FILENO) < 0 && r >= 0 ? err_errno(err, "standard output") : r;
}

static int run_op(struct running *running, struct op_context *ctx, struct err *err)
{
	struct output *out = running->out;
	void *result = arena_alloc(ctx->arena, running->op->result_size + 1);
	int r, status = ERRCODE_DONE;

	if (out->json)
		begin_json(running);
	r = out->json && running->command->aside
		    ? run_aside(running, ctx, result, err)
		    : op_run(running->op, ctx, running->request, result, err);
	output_progress(out, NULL, 0, 0);
	if (r >= 0 && out->json)
		r = end_json(running, result, err);
	if (r >= 0 && running->command->result)
		status = running->command->result(out, running->request, result);
	if (fflush(stdout) && r >= 0)
		r = err_errno(err, "standard output");
	output_report(ctx->report);
	return r < 0 ? r : status;
}

struct globals {
	const char *root;
	const char *workspace;
};

/*
 * If strata itself has failed and command->failed is set, print the error and return
 * command->failed.  Otherwise, and for ERR_USAGE, return r.
 */
static int apply_failed_status(const struct command *command, int r, const struct err *err)
{
	if (r >= 0 || !command->failed || err->code == ERR_USAGE)
		return r;
	output_error(err);
	return command->failed;
}

/* Run the operation, and print its rows, its progress and its result. */
static int perform_and_print(struct running running, const struct options *options,
	const char *root, const char *workspace, struct arena *arena, struct err *err)
{
	owned(output_release) struct output out;
	struct report report = REPORT_INIT;

	output_init(&out);
	out.json = options->json;
	out.jsonl = options->jsonl;
	running.out = &out;
	struct op_context ctx = {
		.root = root,
		.workspace = workspace,
		.arena = arena,
		.report = &report,
		.row = on_row,
		.data = out.json ? NULL : on_data,
		.progress = out.bar ? on_progress : NULL,
		.notice = on_notice,
		.watch = out.bar && running.command->watch ? on_watch : NULL,
		.owner = running.owner,
		.in_order = out.json && !out.jsonl,
		.arg = &running,
	};
	int r = run_op(&running, &ctx, err);
	report_release(&report);
	return apply_failed_status(running.command, r, err);
}

/*
 * Whether an owner can run the operation.  The owner gets only the standard descriptors.  So the
 * request must not name any other descriptor.
 */
static bool can_be_relayed(const struct running *running)
{
	return op_is_relayed(running->op) &&
	       !param_with_descriptor(running->op->params, running->request);
}

/*
 * Let the owner of the workspace run the operation.  Returns 1 and sets *status to the exit status.
 * Returns 0 if this process has to run the operation itself.
 */
static int have_it_done(const struct running *running, const struct options *options,
	const char *root, const char *workspace, int *status, struct err *err)
{
	struct relay relay = {
		.op = running->command->op,
		.request = running->request,
		.root = root,
		.workspace = workspace,
		.json = options->json,
		.jsonl = options->jsonl,
	};

	return root && can_be_relayed(running) ? relay_run(&relay, status, err) : 0;
}

static int run_command(const struct command *command, const struct globals *globals, int argc,
	char **argv, struct err *err)
{
	owned(arena_release) struct arena arena = { 0 };
	struct options options = { 0 };
	void *request = arena_alloc(&arena, command->op->request_size + 1);
	int status, r = options_parse(command->op, argc, argv, &arena, request, &options, err);

	if (r < 0)
		return r;
	if (options.help) {
		char *help[] = { (char *)"help", argv[0], NULL };

		return command_find("help")->run(2, help, err);
	}
	if (options.json && command->raw && command->raw(request))
		return err_set(err, ERR_USAGE,
			"%s: --json and data share standard output; use a file", command->name);
	struct running running = {
		.command = command,
		.op = command->op,
		.request = request,
		.owner = &owning,
	};
	if (command->choose && command->choose(request))
		running.op = command->choose(request);
	owned_mem char *root = env_locate(globals->root, err);
	if (!root && !(running.op->flags & OP_ANYWHERE))
		return -(int)err->code;
	if (command->before)
		command->before();
	r = command->confirm ? command->confirm(request, root, err) : 0;
	if (r < 0)
		return r;
	r = have_it_done(&running, &options, root, globals->workspace, &status, err);
	if (r != 0)
		return r < 0 ? apply_failed_status(command, r, err) : status;
	return perform_and_print(running, &options, root, globals->workspace, &arena, err);
}

/* Parse the options before the command.  Returns the index of the command, or a negative error. */
static int parse_globals(int argc, char **argv, struct globals *globals, struct err *err)
{
	int at = 1;

	for (; at < argc && argv[at][0] == '-' && argv[at][1]; at++) {
		const char *text = argv[at];
		const char **slot = NULL;

		if (!strcmp(text, "--help") || !strcmp(text, "-h") || !strcmp(text, "--version"))
			return at;
		if (!strcmp(text, "--root") || !strncmp(text, "--root=", 7))
			slot = &globals->root;
		else if (!strcmp(text, "-w"))
			slot = &globals->workspace;
		else
			return err_set(err, ERR_USAGE,
				"unknown option '%.100s' before the command (see 'strata help')",
				text);
		const char *equals = text[1] == '-' ? strchr(text, '=') : NULL;
		if (!equals && at + 1 >= argc)
			return err_set(err, ERR_USAGE, "a value is missing after '%s'", text);
		*slot = equals ? equals + 1 : argv[++at];
	}
	return at;
}

static int dispatch(int argc, char **argv, struct err *err)
{
	struct globals globals = { .workspace = getenv("STRATA_WORKSPACE") };
	int at = parse_globals(argc, argv, &globals, err);

	if (at < 0)
		return at;
	if (!globals.workspace || !*globals.workspace)
		globals.workspace = ENV_MAIN;
	if (at >= argc)
		return err_set(err, ERR_USAGE, "a command is missing (see 'strata help')");
	const char *name = argv[at];
	if (!strcmp(name, "--help") || !strcmp(name, "-h"))
		name = "help";
	if (!strcmp(name, "--version"))
		name = "version";
	const struct command *command = command_find(name);
	if (!command)
		return err_set(err, ERR_USAGE, "no command '%.100s' (see 'strata help')", name);
	const struct command *member =
		at + 1 < argc ? command_find_in(command->group, argv[at + 1]) : NULL;
	if (member) {
		/* help and messages use argv[at + 1] as the name of the command */
		argv[at + 1] = argv[at];
		return run_command(member, &globals, argc - at - 1, argv + at + 1, err);
	}
	if (command->run)
		return command->run(argc - at, argv + at, err);
	return run_command(command, &globals, argc - at, argv + at, err);
}

/* Returns the exit status of strata for the result r of a function. */
static int exit_status_of(int r, const struct err *err)
{
	if (r >= 0)
		return r;
	output_error(err);
	return errcode_status(err);
}

int dispatch_run(int argc, char **argv)
{
	struct err err = { 0 };

	return exit_status_of(dispatch(argc, argv, &err), &err);
}

int dispatch_relayed(const struct op *op, const struct relayedop *relayed)
{
	owned(arena_release) struct arena arena = { 0 };
	void *request = arena_alloc(&arena, op->request_size + 1);
	struct options options = { .json = relayed->json, .jsonl = relayed->jsonl };
	struct running running = {
		.command = command_find(op->name),
		.op = op,
		.request = request,
	};
	struct param_reader reader = {
		.name = op->name,
		.params = op->params,
		.arena = &arena,
		.request = request,
	};
	struct err err = { 0 };
	int r = param_read(&reader, relayed->request, &err);

	if (r >= 0)
		r = perform_and_print(
			running, &options, relayed->root, relayed->workspace, &arena, &err);
	return exit_status_of(r, &err);
}
