#include "mcp/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/mem.h"
#include "core/own.h"
#include "owner/loop.h"
#include "owner/rpc.h"
#include "rpc/linereader.h"

#define LINE_BYTES_MAX (2 * REQUEST_RESULT_MAX) /* a reply has its result twice */

struct pending {
	struct task task; /* must be the first member */
	struct pending *next;
	struct server *server;
	struct sink *sink; /* NULL: nobody waits for the reply any more */
	char *id;          /* as JSON */
	/* end the call when its client has gone: the call only reads, or runs a command */
	bool ends;
	bool replied;
	int fd; /* the pipe of the process; -1: closed */
	struct loop_event *event;
	struct linereader lines;
};

static void free_if_ended(struct pending *call)
{
	struct pending **slot = &call->server->calls;
	struct server *server = call->server;

	if (call->task.pid || call->fd >= 0)
		return;
	while (*slot != call)
		slot = &(*slot)->next;
	*slot = call->next;
	linereader_release(&call->lines);
	free(call->id);
	free(call);
	mcpserver_answered(server);
}

/* Send an error as the reply, because the process has ended without sending a reply. */
static void make_up_reply(struct pending *call)
{
	owned(json_release) struct json out = JSON_INIT;
	struct err err = { 0 }, ignored = { 0 };
	owned(jsonread_freep) struct jsonread *id = jsonread_new(str_of(call->id), &ignored);

	err_set(&err, ERR_SYSTEM, "the process that answered this request was killed");
	rpc_error(&out, id, RPC_INTERNAL, &err, NULL, 0);
	mcpserver_send(call->sink, &out);
}

/* Pass on a line, unless the process was killed before it had written the whole line. */
static void pass_line(struct pending *call, struct str line)
{
	static const struct str reply = STR("{\"jsonrpc\":\"2.0\",\"id\":");

	if (!call->sink || line.ptr[line.len] != '\n')
		return;
	call->replied |= str_starts(line, reply);
	call->sink->send(call->sink, (struct str){ line.ptr, line.len + 1 });
}

/* Pass on the lines that have arrived, until too many bytes wait for the client to read them. */
static void pass_lines(struct pending *call)
{
	enum linereader_found found = LINEREADER_LINE;
	struct str line;

	while (found == LINEREADER_LINE && !(call->sink && call->sink->is_full(call->sink))) {
		found = linereader_next(&call->lines, &line);
		if (found == LINEREADER_LINE)
			pass_line(call, line);
	}
	if (found == LINEREADER_LINE) {
		loop_switch(call->event, false);
		return;
	}
	loop_switch(call->event, true);
	if (found != LINEREADER_END)
		return;
	if (call->sink && !call->replied)
		make_up_reply(call);
	loop_event_free(&call->event);
	close_fd(&call->fd);
	free_if_ended(call);
}

static void on_readable(void *arg)
{
	struct pending *call = arg;
	struct err ignored = { 0 };

	if (linereader_fill(&call->lines, call->fd, &ignored) < 0)
		linereader_end(&call->lines);
	pass_lines(call);
}

static void on_end(struct task *task, int status)
{
	struct pending *call = (struct pending *)(void *)task;

	task->pid = 0;
	free_if_ended(call);
}

static _Noreturn void run_and_exit(const struct request *given, calls_answer *answer, int out)
{
	struct request request = *given;
	static const int std[3] = { -1, -1, STDERR_FILENO };
	int *const kept[] = { &out };
	struct err err = { 0 };

	if (task_set_fds(std, kept, 1, &err) < 0)
		_exit(1);
	request.out = out;
	answer(&request);
	_exit(0);
}

int calls_start(struct server *server, struct sink *sink, const struct request *request,
	calls_answer *answer, struct err *err)
{
	unsigned flags = request->tool ? request->tool->op->flags : 0;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(err, "make a pipe");
	owned_fd int in = ends[0], out = ends[1];
	struct pending *call = mem_zalloc(sizeof(*call));
	call->task.ended = on_end;
	int r = task_start(&server->tasks, &call->task, TASK_SESSION, err);
	if (r == 0)
		run_and_exit(request, answer, out);
	if (r < 0) {
		free(call);
		return r;
	}
	call->server = server;
	call->sink = sink;
	call->id = jsonread_text(request->id);
	call->ends = !(flags & OP_WRITES) || flags & (OP_EXECUTES | OP_STOPS);
	call->fd = take_fd(&in);
	linereader_init(&call->lines, LINE_BYTES_MAX);
	call->event = loop_fd(server->loop, call->fd, LOOP_READ, on_readable, call);
	call->next = server->calls;
	server->calls = call;
	return 0;
}

bool calls_are_full(const struct server *server)
{
	size_t n = 0;

	for (const struct pending *call = server->calls; call; call = call->next)
		n++;
	return n >= CALLS_MAX;
}

/*
 * End the process of a call.  If the process runs a command, the command is killed.  If the process
 * has begun a checkout, the checkout is completed first.
 */
static void end_call(struct pending *call)
{
	call->sink = NULL;
	if (call->task.pid)
		(void)kill(call->task.pid, SIGTERM);
	if (call->event)
		loop_switch(call->event, true);
}

bool calls_cancel(struct server *server, const struct sink *sink, const struct jsonread *id)
{
	owned_mem char *wanted = jsonread_text(id);

	for (struct pending *call = server->calls; call; call = call->next) {
		if (call->sink != sink || strcmp(call->id, wanted) != 0)
			continue;
		end_call(call);
		return true;
	}
	return false;
}

bool calls_has(const struct server *server, const struct sink *sink)
{
	for (const struct pending *call = server->calls; call; call = call->next)
		if (call->sink == sink)
			return true;
	return false;
}

void calls_orphan(struct server *server, const struct sink *sink)
{
	for (struct pending *call = server->calls; call; call = call->next) {
		if (call->sink != sink)
			continue;
		if (call->ends)
			end_call(call);
		else
			call->sink = NULL;
	}
}

void calls_resume(struct server *server, const struct sink *sink)
{
	for (struct pending *call = server->calls, *next; call; call = next) {
		next = call->next;
		if (call->sink == sink && call->event && !loop_is_set(call->event))
			pass_lines(call);
	}
}

void calls_end_all(struct server *server)
{
	while (server->calls) {
		struct pending *call = server->calls;

		if (call->task.pid)
			(void)kill(call->task.pid, SIGKILL);
		call->task.pid = 0;
		loop_event_free(&call->event);
		close_fd(&call->fd);
		free_if_ended(call);
	}
}
