#include "owner/call.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/text.h"
#include "core/when.h"
#include "ops/requests.h"
#include "ops/shape.h"
#include "ops/table.h"
#include "owner/loop.h"
#include "owner/owner_priv.h"
#include "owner/relayedop.h"

#define OUTPUT_SIZE 49152 /* maximum number of bytes of a command's output in one notification */

/* ----------------------------------------------------------------- in the task */

/* The answer that a task builds and sends to the owner. */
struct answering {
	struct json out;
	int fd;
};

static _Noreturn void answer_and_exit(struct answering *answering)
{
	struct str text = json_written(&answering->out);

	_exit(at_write_all(answering->fd, text.ptr, text.len) < 0 ? 1 : 0);
}

/*
 * Print lines for the user on standard error.  The task that runs the agent has the owner's
 * standard error.
 */
static void say_notice(void *arg, const char *lines)
{
	while (*lines) {
		size_t len = strcspn(lines, "\n");

		fprintf(stderr, "strata: %.*s%s\n", (int)len, lines,
			isatty(STDERR_FILENO) ? "\r" : "");
		lines += len + (lines[len] == '\n');
	}
}

/*
 * If a parameter of the operation is an ambiguous beginning of a node id, list the ids that begin
 * with it.  Returns the number of ids in the list.
 */
static size_t find_candidates(struct owner *owner, const struct call_plan *plan,
	struct arena *arena, const char **list, size_t max)
{
	struct err ignored = { 0 };
	char ids[REF_CANDIDATES][NODE_ID];
	struct env env;
	int n = 0;

	if (owner_open_env(owner, &env, &ignored) < 0)
		return 0;
	for (const struct param *p = plan->op->params; n < 2 && p && p->name; p++) {
		const char *text = param_text(p, plan->request);
		size_t len = text ? strspn(text, "0123456789abcdef") : 0;

		if (len < 4 || len >= NODE_ID_LEN)
			continue;
		n = history_prefix(&env.history, arena_str(arena, (struct str){ text, len }).ptr,
			ids, REF_CANDIDATES, &ignored);
	}
	size_t found = n < 2 ? 0 : (size_t)n > max ? max : (size_t)n;
	for (size_t i = 0; i < found; i++)
		list[i] = arena_strdup(arena, ids[i]);
	env_close(&env);
	return found;
}

static _Noreturn void answer_error_and_exit(struct owner *owner, const struct call_plan *plan,
	struct answering *answering, struct arena *arena, const struct err *err)
{
	const char *list[REF_CANDIDATES];
	enum rpc_code code = errcode_rpc(err);
	bool is_ref = err->code == ERR_INVALID || err->code == ERR_NOT_FOUND;
	size_t n = is_ref ? find_candidates(owner, plan, arena, list, REF_CANDIDATES) : 0;

	json_release(&answering->out);
	answering->out = (struct json)JSON_INIT;
	if (n)
		code = RPC_NO_REF;
	rpc_error(&answering->out, plan->id, code, err, code == RPC_NO_REF ? list : NULL, n);
	answer_and_exit(answering);
}

static _Noreturn void run_op_and_exit(struct owner *owner, const struct call_plan *plan, int reply)
{
	struct answering answering = { .out = JSON_INIT, .fd = reply };
	struct arena arena = { 0 };
	struct report report = REPORT_INIT;
	struct op_context ctx = {
		.root = owner->options->root,
		.workspace = owner->options->workspace,
		.arena = &arena,
		.report = &report,
		.notice = plan->kind == CALL_AGENT ? say_notice : NULL,
	};
	struct err err = { 0 };

	answering.out.out.max = CALL_RESULT_MAX;
	rpc_begin(&answering.out, plan->id);
	int r = op_answer(plan->op, &ctx, plan->request, &answering.out, &err);
	if (r < 0)
		answer_error_and_exit(owner, plan, &answering, &arena, &err);
	rpc_end(&answering.out);
	answer_and_exit(&answering);
}

/* Run a relayed operation with the client's umask, environment variables and working directory. */
static int run_relayed(
	struct owner *owner, const struct call_plan *plan, int cwd, int file, struct err *err)
{
	struct arena arena = { 0 };
	struct jsonread *document = NULL;
	struct relayedop relayed = { 0 };

	if (relayedop_read(file, &arena, &document, &relayed, err) < 0)
		return -(int)err->code;
	(void)umask((mode_t)relayed.umask & 0777);
	(void)clearenv();
	for (size_t i = 0; i < relayed.env.count; i++)
		(void)putenv((char *)relayed.env.list[i]);
	if (fchdir(cwd) < 0)
		return err_errno(err, "go to the client's directory");
	return owner->options->relayed(plan->op, &relayed);
}

static _Noreturn void run_relayed_and_exit(
	struct owner *owner, const struct call_plan *plan, int reply, int cwd, int file)
{
	struct answering answering = { .out = JSON_INIT, .fd = reply };
	struct err err = { 0 };
	int status = run_relayed(owner, plan, cwd, file, &err);

	if (status < 0) {
		rpc_error(&answering.out, plan->id, errcode_rpc(&err), &err, NULL, 0);
	} else {
		rpc_begin(&answering.out, plan->id);
		json_int(&answering.out, "status", status);
		rpc_end(&answering.out);
	}
	answer_and_exit(&answering);
}

/* ------------------------------------------------------------------ the owner */

static void close_pipe(struct call_pipe *pipe)
{
	loop_event_free(&pipe->event);
	close_fd(&pipe->fd);
}

static bool is_program(enum call_kind kind)
{
	return kind == CALL_EXEC || kind == CALL_SPAWN || kind == CALL_AGENT;
}

/* Free a call if its process has ended and its pipes are closed. */
static void free_if_ended(struct call *call)
{
	struct call **slot = &call->owner->calls;

	if (call->task.pid || call->reply.fd >= 0 || call->out[0].fd >= 0 || call->out[1].fd >= 0)
		return;
	while (*slot != call)
		slot = &(*slot)->next;
	*slot = call->next;
	buf_release(&call->answer);
	free(call->id);
	free(call->command);
	free(call);
}

static void send_exited(struct call *call, const struct jsonread *answer)
{
	owned(json_release) struct json out = JSON_INIT;
	const struct jsonread *result = answer ? jsonread_member(answer, "result") : NULL;

	rpc_notify(&out, "process.exited");
	json_int(&out, "process", call->number);
	if (result && jsonread_member(result, "exit_status")) {
		jsonread_write(&out, "exit_status", jsonread_member(result, "exit_status"));
		jsonread_write(&out, "signal", jsonread_member(result, "signal"));
	} else {
		json_none(&out, "exit_status");
		json_none(&out, "signal");
	}
	rpc_end(&out);
	client_send_all(call->owner, json_written(&out));
}

static bool is_answer_whole(const struct call *call)
{
	return call->answer.len && call->answer.data[call->answer.len - 1] == '\n';
}

/* Make an answer in place of a task that has ended without sending a whole answer. */
static void make_up_answer(struct call *call)
{
	owned(json_release) struct json out = JSON_INIT;
	struct err ignored = { 0 }, err = { 0 };
	owned(jsonread_freep) struct jsonread *id =
		jsonread_new(str_of(call->id ? call->id : "null"), &ignored);

	if (call->kind == CALL_RELAY && WIFSIGNALED(call->ended)) {
		rpc_begin(&out, id);
		json_int(&out, "status", 128 + WTERMSIG(call->ended));
		json_int(&out, "signal", WTERMSIG(call->ended));
		rpc_end(&out);
	} else {
		err_set(&err, ERR_SYSTEM, "%s was cut off", call->op->name);
		rpc_error(&out, id, RPC_CANCELLED, &err, NULL, 0);
	}
	struct str text = json_written(&out);
	buf_truncate(&call->answer, 0);
	buf_add(&call->answer, text.ptr, text.len);
}

static void send_answer(struct call *call)
{
	struct owner *owner = call->owner;
	struct err ignored = { 0 };

	call->answered = true;
	if (!is_answer_whole(call))
		make_up_answer(call);
	if (call->client && call->id && call->kind != CALL_SPAWN)
		client_send(call->client, (struct str){ call->answer.data, call->answer.len });
	if (call->client && call->kind != CALL_SPAWN)
		client_answered(call->client);
	if (!is_program(call->kind) && !call->done)
		return;
	owned(jsonread_freep) struct jsonread *answer =
		jsonread_new((struct str){ call->answer.data, call->answer.len }, &ignored);
	if (is_program(call->kind))
		send_exited(call, answer);
	if (call->done)
		call->done(owner, answer);
}

/* Finish a call after the task's answer, and all output before it, have arrived. */
static void finish_call(struct call *call)
{
	struct owner *owner = call->owner;
	bool writes = call->writes, asked = writes && !call->done;

	send_answer(call);
	buf_release(&call->answer);
	free_if_ended(call);
	if (writes)
		news_after_operation(owner);
	/*
	 * Also count this operation for retention, since an agent may make all its nodes through
	 * operations.
	 */
	if (asked)
		retainer_count_node(&owner->retainer);
}

static void send_output(struct call_pipe *pipe, struct str bytes)
{
	owned(json_release) struct json out = JSON_INIT;
	struct call *call = pipe->call;
	struct err ignored = { 0 };
	owned(jsonread_freep) struct jsonread *id =
		jsonread_new(str_of(call->id ? call->id : "null"), &ignored);

	rpc_notify(&out, "exec.output");
	jsonread_write(&out, "id", id);
	json_text(&out, "stream", pipe->stream);
	if (text_is_utf8(bytes)) {
		json_str(&out, "text", bytes);
	} else {
		owned(buf_release) struct buf coded = BUF_INIT;

		text_base64(&coded, bytes);
		json_str(&out, "data_b64", (struct str){ coded.data, coded.len });
	}
	rpc_end(&out);
	client_send(call->client, json_written(&out));
}

/*
 * Pass on the output that a command has written to a pipe.  Returns true if the client has to read
 * before more output can be passed on.
 */
static bool pump_pipe(struct call_pipe *pipe)
{
	struct call *call = pipe->call;
	char bytes[OUTPUT_SIZE];

	while (pipe->fd >= 0) {
		if (call->client && client_is_full(call->client)) {
			loop_switch(pipe->event, false);
			return true;
		}
		ssize_t n = read(pipe->fd, bytes, sizeof(bytes));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			loop_switch(pipe->event, true);
			return false;
		}
		if (n <= 0)
			close_pipe(pipe);
		else if (call->client && !call->answered)
			send_output(pipe, (struct str){ bytes, (size_t)n });
	}
	return false;
}

/*
 * Pass on the output of a call, and finish the call when its answer has arrived.  All output that
 * the command wrote before it ended is sent before the answer.  Programs that the command has left
 * running may write more output.  That output is discarded.
 */
static void pump_call(struct call *call)
{
	/*
	 * if the reply pipe is closed, and a relayed operation has sent no whole answer, its task
	 * was killed: wait until the process of the task has ended, since the answer then names the
	 * signal
	 */
	bool waits = call->kind == CALL_RELAY && call->task.pid && !is_answer_whole(call);

	for (int i = 0; i < 2; i++)
		waits |= pump_pipe(&call->out[i]);
	if (call->reply.fd < 0 && !waits && !call->answered)
		finish_call(call);
	else
		free_if_ended(call);
}

static void on_output(void *arg)
{
	pump_call(((struct call_pipe *)arg)->call);
}

static void on_reply(void *arg)
{
	struct call *call = ((struct call_pipe *)arg)->call;
	char *room = buf_reserve(&call->answer, OUTPUT_SIZE);
	ssize_t n = room ? read(call->reply.fd, room, OUTPUT_SIZE) : 0;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0) {
		call->answer.len += (size_t)n;
		return;
	}
	close_pipe(&call->reply);
	pump_call(call);
}

static void on_task_end(struct task *task, int status)
{
	struct call *call = (struct call *)(void *)task;

	task->pid = 0;
	call->ended = status;
	if (call->kind == CALL_RELAY)
		pump_call(call);
	else
		free_if_ended(call);
}

static int watch_pipe(struct call *call, struct call_pipe *pipe, const char *stream, int *ends,
	loop_fn *fn, struct err *err)
{
	int flags = fcntl(ends[0], F_GETFL);

	if (flags < 0 || fcntl(ends[0], F_SETFL, flags | O_NONBLOCK) < 0)
		return err_errno(err, "set up a pipe");
	*pipe = (struct call_pipe){ .call = call, .stream = stream, .fd = take_fd(&ends[0]) };
	pipe->event = loop_fd(call->owner->loop, pipe->fd, LOOP_READ, fn, pipe);
	return 0;
}

struct pipes {
	int reply[2], out[2][2];
};

static int make_pipes(struct pipes *pipes, bool output, struct err *err)
{
	if (pipe2(pipes->reply, O_CLOEXEC) < 0)
		return err_errno(err, "make a pipe");
	for (int i = 0; output && i < 2; i++)
		if (pipe2(pipes->out[i], O_CLOEXEC) < 0)
			return err_errno(err, "make a pipe");
	return 0;
}

static void close_pipes(struct pipes *pipes)
{
	for (int i = 0; i < 2; i++) {
		close_fd(&pipes->reply[i]);
		close_fd(&pipes->out[0][i]);
		close_fd(&pipes->out[1][i]);
	}
}

/*
 * Keep the descriptor that the owner has opened for the agent's denials, if there is one.  Returns
 * the number of kept descriptors, 0 or 1.
 */
static int keep_denials(const struct exec_request *agent, int **kept)
{
	struct exec_policy *policy = agent->place.ready;

	if (!policy || policy->denials < 0)
		return 0;
	*kept = &policy->denials;
	return 1;
}

static _Noreturn void task_main(
	struct owner *owner, const struct call_plan *plan, struct pipes *pipes)
{
	struct client *client = plan->client;
	int std[3] = { -1, pipes->out[0][1], pipes->out[1][1] };
	int cwd = plan->kind == CALL_RELAY ? client->fds[CLIENT_FD_CWD] : -1;
	int file = plan->kind == CALL_RELAY ? client->fds[CLIENT_FD_OPERATION] : -1;
	int *kept[] = { &pipes->reply[1], &cwd, &file };
	struct err err = { 0 };
	int n_kept = cwd < 0 ? 1 : 3;

	for (int i = 0; i < 3 && plan->kind == CALL_RELAY; i++)
		std[i] = client->fds[i];
	for (int i = 0; i < 3 && plan->kind == CALL_AGENT; i++)
		std[i] = i;
	/*
	 * A signal for the command may arrive before the command runs.  So block SIGUSR1 until
	 * then.
	 */
	if (is_program(plan->kind))
		task_block_signal(SIGUSR1);
	if (plan->kind == CALL_AGENT)
		n_kept += keep_denials(plan->request, &kept[n_kept]);
	if (task_set_fds(std, kept, n_kept, &err) < 0)
		_exit(1);
	if (plan->kind == CALL_RELAY)
		run_relayed_and_exit(owner, plan, pipes->reply[1], cwd, file);
	run_op_and_exit(owner, plan, pipes->reply[1]);
}

static char *json_of_argv(const struct param_texts *argv)
{
	owned(json_release) struct json out = JSON_INIT;

	json_texts(&out, NULL, argv->list, argv->count);
	return mem_strdup(json_written(&out).ptr);
}

/* Whether an operation may change the live tree, or leave a program running that may change it. */
static bool changes_tree(const struct op *op)
{
	return op->flags & OP_NO_ENV || op->access == ENV_RESTORE || op->access == ENV_REPLACE ||
	       (op->flags & OP_WRITES && op->access_for);
}

static struct call *new_call(struct owner *owner, const struct call_plan *plan)
{
	struct call *call = mem_zalloc(sizeof(*call));

	call->task.ended = on_task_end;
	call->owner = owner;
	call->kind = plan->kind;
	call->op = plan->op;
	call->client = plan->client;
	call->done = plan->done;
	call->id = plan->id ? jsonread_text(plan->id) : NULL;
	call->number = ++owner->last_number;
	call->began = when_now();
	call->writes = plan->kind != CALL_OP || plan->op->flags & OP_WRITES;
	call->executes = plan->kind == CALL_EXEC ||
			 (plan->kind == CALL_RELAY && plan->op->flags & OP_EXECUTES);
	call->reply.fd = call->out[0].fd = call->out[1].fd = -1;
	call->answer.max = CALL_RESULT_MAX + OUTPUT_SIZE;
	if (is_program(call->kind)) {
		const struct exec_request *req = plan->request;

		call->command = json_of_argv(&req->argv);
	}
	return call;
}

int call_start(
	struct owner *owner, const struct call_plan *plan, struct call **made, struct err *err)
{
	struct pipes pipes = { { -1, -1 }, { { -1, -1 }, { -1, -1 } } };
	bool output = plan->kind == CALL_EXEC || plan->kind == CALL_SPAWN;
	unsigned flags = plan->kind == CALL_AGENT ? 0 : TASK_SESSION;
	int r = make_pipes(&pipes, output, err);
	struct call *call = r < 0 ? NULL : new_call(owner, plan);

	if (r >= 0)
		r = task_start(&owner->tasks, &call->task, flags, err);
	if (r == 0)
		task_main(owner, plan, &pipes);
	if (r < 0) {
		close_pipes(&pipes);
		if (call) {
			free(call->id);
			free(call->command);
			free(call);
		}
		return r;
	}
	call->next = owner->calls;
	owner->calls = call;
	if (is_program(call->kind) || (call->client && changes_tree(plan->op)))
		capturer_note_writer(&owner->capturer, call->number);
	if (plan->client && plan->kind != CALL_SPAWN)
		plan->client->requests++;
	r = watch_pipe(call, &call->reply, NULL, pipes.reply, on_reply, err);
	if (r >= 0 && output)
		r = watch_pipe(call, &call->out[0], "stdout", pipes.out[0], on_output, err);
	if (r >= 0 && output)
		r = watch_pipe(call, &call->out[1], "stderr", pipes.out[1], on_output, err);
	close_pipes(&pipes);
	if (made)
		*made = call;
	return 0;
}

/* --------------------------------------------------------------------- ending */

void call_signal(struct call *call, int sig)
{
	if (call->task.pid)
		(void)sigqueue(call->task.pid, SIGUSR1, (union sigval){ .sival_int = sig });
}

void call_cancel(struct call *call)
{
	if (!call->task.pid)
		return;
	/*
	 * Have the task kill its command.  If the task itself were killed, all programs in the
	 * sandbox would end.
	 */
	if (is_program(call->kind) || call->executes)
		call_signal(call, SIGKILL);
	else if (call->kind == CALL_RELAY)
		/*
		 * signal the process group, because children of the task do parts of the operation
		 */
		(void)kill(-call->task.pid, SIGTERM);
	else
		/* a checkout that has begun ignores this signal */
		(void)kill(call->task.pid, SIGTERM);
}

/*
 * Whether a call is cancelled when its client disconnects.  Every other call makes changes, and is
 * finished once it has begun.
 */
static bool ends_with_client(const struct call *call)
{
	return call->kind == CALL_EXEC || call->kind == CALL_RELAY || !call->writes ||
	       (call->kind == CALL_OP && call->op->flags & OP_STOPS);
}

void call_orphan(struct owner *owner, struct client *client)
{
	for (struct call *call = owner->calls; call; call = call->next) {
		if (call->client != client)
			continue;
		call->client = NULL;
		if (ends_with_client(call))
			call_cancel(call);
		for (int i = 0; i < 2; i++)
			if (call->out[i].event)
				loop_switch(call->out[i].event, true);
	}
}

void call_resume(struct owner *owner, struct client *client)
{
	for (struct call *call = owner->calls, *next; call; call = next) {
		next = call->next;
		if (call->client == client)
			pump_call(call);
	}
}

struct call *call_find(struct owner *owner, int64_t number)
{
	for (struct call *call = owner->calls; call; call = call->next)
		if (call->number == number)
			return call;
	return NULL;
}

void call_end_all(struct owner *owner)
{
	while (owner->calls) {
		struct call *call = owner->calls;

		if (call->task.pid)
			(void)kill(call->task.pid, SIGKILL);
		call->task.pid = 0;
		for (int i = 0; i < 2; i++)
			close_pipe(&call->out[i]);
		close_pipe(&call->reply);
		free_if_ended(call);
	}
}
