#include "mcp/toolcall.h"

#include <string.h>

#include "core/own.h"
#include "mcp/exectool.h"
#include "mcp/ownercall.h"
#include "ops/exec.h"
#include "ops/requests.h"
#include "ops/resultview.h"
#include "ops/table.h"
#include "owner/owner.h"
#include "owner/rpc.h"

/* Maximum size of the text of a result.  The document of the result is never cut. */
#define TEXT_MAX ((size_t)100 << 10)

/* ------------------------------------------------------------------------ replies */

/* Write the member "content", which has only one text. */
static void write_content(struct json *out, const struct buf *text)
{
	json_open(out, "content", '[');
	json_open(out, NULL, '{');
	json_text(out, "type", "text");
	json_str(out, "text", (struct str){ text->data, text->len });
	json_close(out);
	json_close(out);
}

static void write_text(struct json *out, const struct op *op, const struct jsonread *result)
{
	owned(buf_release) struct buf text = BUF_INIT, notes = BUF_INIT;

	if (op == &op_exec)
		exectool_describe(&text, &notes, result);
	else
		resultview_add(&text, &notes, op, result);
	if (text.len > TEXT_MAX) {
		buf_addf(&notes, "%zu bytes of this text are left out; structuredContent has all\n",
			text.len - TEXT_MAX);
		buf_truncate(&text, TEXT_MAX);
	}
	if (text.len && text.data[text.len - 1] != '\n' && notes.len)
		buf_addc(&text, '\n');
	if (!text.len && !notes.len)
		buf_adds(&text, "done: nothing to show\n");
	buf_add(&text, notes.data, notes.len);
	write_content(out, &text);
}

void toolcall_write_result(struct json *out, const struct jsonread *id, const struct op *op,
	struct str members, const struct jsonread *result)
{
	rpc_begin(out, id);
	write_text(out, op, result);
	json_open(out, "structuredContent", '{');
	if (members.len)
		json_members(out, members);
	json_close(out);
	json_bool(out, "isError", false);
	rpc_end(out);
}

void toolcall_write_failure(
	struct json *out, const struct jsonread *id, struct str what, struct str remedy)
{
	owned(buf_release) struct buf text = BUF_INIT;

	buf_add(&text, what.ptr, what.len);
	if (remedy.len)
		buf_addf(&text, "\nRemedy: %.*s", (int)remedy.len, remedy.ptr);
	rpc_begin(out, id);
	write_content(out, &text);
	json_bool(out, "isError", true);
	rpc_end(out);
}

static void send_failure(const struct request *request, const struct err *err)
{
	owned(json_release) struct json out = JSON_INIT;

	toolcall_write_failure(&out, request->id, str_of(err->text), str_of(err->hint));
	request_send(request, &out);
}

/* ----------------------------------------------------------------- one tool call */

struct toolcall {
	struct request *request;
	const struct op *op;
	const char *workspace;
	void *given; /* request struct of the operation */
	struct exectool_output output;
	struct json result; /* an object */
};

static void toolcall_release(struct toolcall *call)
{
	exectool_release(&call->output);
	json_release(&call->result);
}

static void on_progress(void *arg, const char *stage, uint64_t done, uint64_t total)
{
	request_progress(arg, (double)done, (double)total, stage);
}

static void on_notice(void *arg, const char *lines)
{
	request_log(arg, OUTGOING_NOTICE, str_of(lines));
}

/*
 * Check the parameters of a command, and add the policy of the server.  An environment variable
 * without a value is refused: the value would come from this process, which may know secrets.
 */
static int prepare_exec(struct toolcall *call, struct err *err)
{
	struct exec_request *exec = call->given;

	if (!exec->argv.count == !exec->shell)
		return err_set(err, ERR_USAGE, "give either 'argv' or 'shell'");
	for (size_t i = 0; i < exec->place.env.count; i++)
		if (!strchr(exec->place.env.list[i], '='))
			return err_set(err, ERR_DENIED,
				"env: '%.100s' has no value: give NAME=VALUE",
				exec->place.env.list[i]);
	exec->place.policy = call->request->settings->policy;
	return exec_take_shell(exec, &call->request->arena, err);
}

static int read_arguments(struct toolcall *call, struct err *err)
{
	struct request *request = call->request;
	const struct tool *tool = request->tool;
	const struct jsonread *arguments = NULL;
	struct param_reader reader = {
		.name = tool->name,
		.params = tool->params,
		.arena = &request->arena,
		.request = arena_alloc(&request->arena, tool->request_size),
	};

	if (jsonread_get_object(request->params, "arguments", &arguments) == JSONREAD_WRONG_TYPE)
		return err_set(err, ERR_INVALID, "'arguments' must be an object");
	if (param_read(&reader, arguments, err) < 0)
		return -(int)err->code;
	call->given = reader.request;
	call->workspace = toolset_where(tool, reader.request) ?: request->settings->workspace;
	return call->op == &op_exec ? prepare_exec(call, err) : 0;
}

/* Take the result or the error from the answer of an owner, or of the child that ran a command. */
static int take_answer(struct toolcall *call, const struct buf *answer, struct err *err)
{
	struct str text = { answer->data, answer->len }, message = STR("no reason"), hint;
	owned(jsonread_freep) struct jsonread *whole =
		jsonread_new_max(text, REQUEST_RESULT_MAX + 4096, err);
	const struct jsonread *result = whole ? jsonread_member(whole, "result") : NULL;
	const struct jsonread *error = whole ? jsonread_member(whole, "error") : NULL;

	if (!whole)
		return -(int)err->code;
	for (size_t i = 0; result && i < jsonread_count(result); i++)
		jsonread_write(
			&call->result, jsonread_key(result, i).ptr, jsonread_item(result, i));
	if (result)
		return 0;
	if (error)
		(void)jsonread_get_str(error, "message", &message);
	err_set(err, ERR_SYSTEM, "%.*s", (int)message.len, message.ptr);
	const struct jsonread *data = error ? jsonread_member(error, "data") : NULL;
	if (data && jsonread_get_str(data, "hint", &hint) == JSONREAD_FOUND)
		err_hint(err, "%.*s", (int)hint.len, hint.ptr);
	return -(int)err->code;
}

static int ask_owner(struct toolcall *call, int owner, struct err *err)
{
	owned(buf_release) struct buf answer = BUF_INIT;

	if (ownercall_run(
		    call->request, owner, call->op, call->given, &call->output, &answer, err) < 0)
		return -(int)err->code;
	return take_answer(call, &answer, err);
}

static int perform(struct toolcall *call, struct err *err)
{
	const struct mcp_settings *settings = call->request->settings;
	owned(buf_release) struct buf answer = BUF_INIT;
	struct report report = REPORT_INIT;
	struct op_context ctx = {
		.root = settings->root,
		.workspace = call->workspace,
		.arena = &call->request->arena,
		.report = &report,
		.progress = on_progress,
		.notice = on_notice,
		.arg = call->request,
	};
	struct err no_owner = { 0 };

	if (settings->root && op_is_relayed(call->op)) {
		owned_fd int owner = owner_dial(settings->root, call->workspace, &no_owner);

		if (owner >= 0)
			return ask_owner(call, owner, err);
	}
	if (call->op != &op_exec)
		return op_answer(call->op, &ctx, call->given, &call->result, err);
	int r = exectool_run(call->request, &ctx, call->given, &call->output, &answer, err);
	return r < 0 ? r : take_answer(call, &answer, err);
}

void toolcall_run(struct request *request)
{
	owned(toolcall_release) struct toolcall call = {
		.request = request,
		.op = request->tool->op,
		.result = JSON_INIT,
	};
	owned(json_release) struct json out = JSON_INIT;
	struct err err = { 0 };

	call.result.out.max = REQUEST_RESULT_MAX;
	json_open(&call.result, NULL, '{');
	int r = read_arguments(&call, &err);
	if (r >= 0)
		r = perform(&call, &err);
	if (r < 0) {
		send_failure(request, &err);
		return;
	}
	if (call.op == &op_exec)
		exectool_add(&call.result, &call.output);
	json_close(&call.result);
	struct str text = json_written(&call.result), members = { text.ptr + 1, text.len - 2 };
	owned(jsonread_freep) struct jsonread *result =
		jsonread_new_max(text, REQUEST_RESULT_MAX + 4096, &err);
	if (!result) {
		send_failure(request, &err);
		return;
	}
	toolcall_write_result(&out, request->id, call.op, members, result);
	request_send(request, &out);
}
