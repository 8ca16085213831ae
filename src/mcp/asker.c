#include "mcp/asker.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/mem.h"
#include "core/own.h"
#include "mcp/toolcall.h"
#include "ops/op.h"
#include "ops/table.h"
#include "owner/loop.h"
#include "owner/rpc.h"
#include "query/method.h"
#include "rpc/envelope.h"
#include "rpc/linereader.h"
#include "rpc/outbox.h"

#define REPLY_MAX (2 * METHOD_REPLY_MAX)

/* A question that still waits for its reply. */
struct question {
	struct question *next;
	int64_t number;    /* id of the question in the request to the agent */
	struct sink *sink; /* NULL: nobody waits for the reply any more */
	char *id;          /* as JSON */
	const struct op *op;
};

struct asker {
	struct task task; /* must be the first member */
	struct asker *next;
	struct server *server;
	char *host; /* NULL: this machine */
	int fd;     /* -1: the agent has ended */
	struct loop_event *reading, *writing;
	struct linereader lines;
	struct outbox outbox;
	struct question *questions;
	int64_t last_number;
};

/* ------------------------------------------------------------------- the agent */

/*
 * Write the options of the agent as JSON.  An agent of this machine has the options of this server.
 * An agent of another host has only one option: the name of the host.
 */
static void write_options(struct json *out, const struct server *server, const char *host)
{
	const struct families_options *families = server->families;

	json_open(out, NULL, '{');
	if (host) {
		json_text(out, "host", host);
	} else {
		json_texts(out, "provider", families->providers.list, families->providers.count);
		json_texts(out, "folder", families->folders.list, families->folders.count);
		json_texts(out, "allow_restore", families->restore.list, families->restore.count);
		json_bool(out, "trust_mountpoints", families->trust_mountpoints);
	}
	json_close(out);
}

static int serve(const struct server *server, const char *host, struct err *err)
{
	struct arena arena = { 0 };
	struct report report = REPORT_INIT;
	struct json options = JSON_INIT;
	struct param_reader reader = {
		.name = "agent",
		.params = op_agent.params,
		.arena = &arena,
		.request = arena_alloc(&arena, op_agent.request_size),
	};
	struct op_context ctx = {
		.root = server->settings.root,
		.workspace = server->settings.workspace,
		.arena = &arena,
		.report = &report,
	};

	write_options(&options, server, host);
	struct jsonread *object = jsonread_new(json_written(&options), err);
	int r = object ? param_read(&reader, object, err) : -(int)err->code;
	return r < 0 ? r : op_run(&op_agent, &ctx, reader.request, NULL, err);
}

static _Noreturn void serve_and_exit(const struct server *server, const char *host, int fd)
{
	const int std[3] = { fd, fd, STDERR_FILENO };
	owned(json_release) struct json out = JSON_INIT;
	struct err err = { 0 };

	if (task_set_fds(std, NULL, 0, &err) < 0 || serve(server, host, &err) >= 0)
		_exit(0);
	/* The last line, without an id, says why the agent has ended. */
	rpc_error(&out, NULL, RPC_INTERNAL, &err, NULL, 0);
	struct str text = json_written(&out);
	_exit(write(STDOUT_FILENO, text.ptr, text.len) < 0 ? 1 : 0);
}

static void free_if_ended(struct asker *asker)
{
	struct asker **slot = &asker->server->askers;

	if (asker->task.pid || asker->fd >= 0)
		return;
	while (*slot != asker)
		slot = &(*slot)->next;
	*slot = asker->next;
	linereader_release(&asker->lines);
	free(asker->host);
	free(asker);
}

/* -------------------------------------------------------------------- questions */

static struct question *take_question(struct asker *asker, int64_t number)
{
	struct question **slot = &asker->questions;

	while (*slot && (*slot)->number != number)
		slot = &(*slot)->next;
	struct question *question = *slot;
	if (question)
		*slot = question->next;
	return question;
}

static void free_question(struct question *question)
{
	free(question->id);
	free(question);
}

/* Write a reply with the message, the hint and the other texts of an error. */
static void write_error(struct json *out, const struct jsonread *id, const struct jsonread *error)
{
	const struct jsonread *data = error ? jsonread_member(error, "data") : NULL;
	owned(buf_release) struct buf text = BUF_INIT;
	struct str message = STR("no reason is known"), hint = STR("");

	if (error)
		(void)jsonread_get_str(error, "message", &message);
	buf_add(&text, message.ptr, message.len);
	for (size_t i = 0; data && i < jsonread_count(data); i++) {
		const struct jsonread *value = jsonread_item(data, i);
		struct str key = jsonread_key(data, i);

		if (jsonread_type(value) != JSONREAD_STRING)
			continue;
		struct str words = jsonread_str(value);
		if (str_eq(key, STR("hint")))
			hint = words;
		else if (words.len)
			buf_addf(&text, "\n%s: %.*s", key.ptr, (int)words.len, words.ptr);
	}
	toolcall_write_failure(out, id, (struct str){ text.data, text.len }, hint);
}

static void send_reply(const struct question *question, struct str line,
	const struct jsonread *message, const struct jsonread *error)
{
	owned(json_release) struct json out = JSON_INIT;
	struct err ignored = { 0 };
	owned(jsonread_freep) struct jsonread *id = jsonread_new(str_of(question->id), &ignored);
	const struct jsonread *result = message ? jsonread_member(message, "result") : NULL;

	if (!question->sink)
		return;
	if (result && jsonread_type(result) == JSONREAD_OBJECT) {
		struct str raw = jsonread_raw(result, line);

		toolcall_write_result(
			&out, id, question->op, (struct str){ raw.ptr + 1, raw.len - 2 }, result);
	} else {
		write_error(&out, id, error);
	}
	mcpserver_send(question->sink, &out);
}

/* Reply to all questions of an agent that has ended.  'error' has the reason, or is NULL. */
static void fail_questions(struct asker *asker, const struct jsonread *error)
{
	struct question *question;

	while ((question = asker->questions)) {
		asker->questions = question->next;
		send_reply(question, STR(""), NULL, error);
		free_question(question);
	}
	mcpserver_answered(asker->server);
}

static void take_line(struct asker *asker, struct str line)
{
	struct err ignored = { 0 };
	owned(jsonread_freep) struct jsonread *message =
		jsonread_new_max(line, REPLY_MAX, &ignored);
	const struct jsonread *error = message ? jsonread_member(message, "error") : NULL;
	int64_t number;

	if (!message)
		return;
	if (jsonread_get_int(message, "id", &number) != JSONREAD_FOUND) {
		fail_questions(asker, error);
		return;
	}
	struct question *question = take_question(asker, number);
	if (!question)
		return;
	send_reply(question, line, message, error);
	free_question(question);
	mcpserver_answered(asker->server);
}

static void write_now(struct asker *asker)
{
	struct err ignored = { 0 };

	if (outbox_flush(&asker->outbox, &ignored) < 0)
		return;
	loop_switch(asker->writing, outbox_left(&asker->outbox) > 0);
}

static void on_writable(void *arg)
{
	write_now(arg);
}

/* Whether a client that waits for a reply reads too slowly. */
static bool is_held_back(const struct asker *asker)
{
	for (const struct question *at = asker->questions; at; at = at->next)
		if (at->sink && at->sink->is_full(at->sink))
			return true;
	return false;
}

/* Take the replies that have arrived, until too many bytes wait for a client to read them. */
static void take_lines(struct asker *asker)
{
	enum linereader_found found = LINEREADER_LINE;
	struct str line;

	while (found == LINEREADER_LINE && !is_held_back(asker)) {
		found = linereader_next(&asker->lines, &line);
		if (found == LINEREADER_LINE)
			take_line(asker, line);
	}
	loop_switch(asker->reading, found != LINEREADER_LINE);
	if (found != LINEREADER_END)
		return;
	loop_event_free(&asker->reading);
	loop_event_free(&asker->writing);
	outbox_release(&asker->outbox);
	close_fd(&asker->fd);
	/* The replies may make room for another question, which must not go to this agent. */
	fail_questions(asker, NULL);
	free_if_ended(asker);
}

static void on_readable(void *arg)
{
	struct asker *asker = arg;
	struct err ignored = { 0 };

	if (linereader_fill(&asker->lines, asker->fd, &ignored) < 0)
		linereader_end(&asker->lines);
	take_lines(asker);
}

static void on_end(struct task *task, int status)
{
	struct asker *asker = (struct asker *)(void *)task;

	task->pid = 0;
	free_if_ended(asker);
}

/* ------------------------------------------------------------------------ asking */

static struct asker *find(const struct server *server, const char *host)
{
	struct asker *asker = server->askers;

	while (asker && (asker->fd < 0 || !asker->host != !host ||
				(host && strcmp(asker->host, host) != 0)))
		asker = asker->next;
	return asker;
}

static struct asker *start(struct server *server, const char *host, struct err *err)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
		err_errno(err, "make a socket");
		return NULL;
	}
	owned_fd int ours = ends[0], theirs = ends[1];
	struct asker *asker = mem_zalloc(sizeof(*asker));
	asker->task.ended = on_end;
	int r = task_start(&server->tasks, &asker->task, TASK_SESSION, err);
	if (r == 0)
		serve_and_exit(server, host, theirs);
	if (r < 0) {
		free(asker);
		return NULL;
	}
	asker->server = server;
	asker->host = host ? mem_strdup(host) : NULL;
	asker->fd = take_fd(&ours);
	linereader_init(&asker->lines, REPLY_MAX);
	outbox_init(&asker->outbox, asker->fd);
	asker->reading = loop_fd(server->loop, asker->fd, LOOP_READ, on_readable, asker);
	asker->writing = loop_fd(server->loop, asker->fd, LOOP_WRITE, on_writable, asker);
	asker->next = server->askers;
	server->askers = asker;
	return asker;
}

static void send_line(struct asker *asker, struct json *line)
{
	json_close(line);
	(void)json_end(line);
	outbox_add(&asker->outbox, &line->out, 0);
	write_now(asker);
}

static void begin_line(struct json *out, int64_t number, const char *method)
{
	json_open(out, NULL, '{');
	json_text(out, "jsonrpc", "2.0");
	if (number)
		json_int(out, "id", number);
	json_text(out, "method", method);
}

int asker_ask(struct server *server, struct sink *sink, const struct request *request,
	const char *host, const struct jsonread *arguments, struct err *err)
{
	struct asker *asker = find(server, host) ?: start(server, host, err);
	owned(json_release) struct json line = JSON_INIT;

	if (!asker)
		return -(int)err->code;
	begin_line(&line, ++asker->last_number, request->tool->op->name);
	json_open(&line, "params", '{');
	for (size_t i = 0; arguments && i < jsonread_count(arguments); i++)
		if (!str_eq(jsonread_key(arguments, i), STR("host")))
			jsonread_write(
				&line, jsonread_key(arguments, i).ptr, jsonread_item(arguments, i));
	json_close(&line);
	/* The arguments may have become longer, since a byte that is not UTF-8 needs an escape. */
	if (json_written(&line).len >= ENVELOPE_LINE_MAX)
		return err_set(err, ERR_LIMIT, "the arguments have more than %zu bytes",
			ENVELOPE_LINE_MAX);
	struct question *question = mem_zalloc(sizeof(*question));
	*question = (struct question){
		.next = asker->questions,
		.number = asker->last_number,
		.sink = sink,
		.id = jsonread_text(request->id),
		.op = request->tool->op,
	};
	asker->questions = question;
	send_line(asker, &line);
	return 0;
}

/* ------------------------------------------------------------------------ ending */

static void cancel(struct asker *asker, struct question *question)
{
	owned(json_release) struct json line = JSON_INIT;

	question->sink = NULL;
	begin_line(&line, 0, "$/cancel");
	json_open(&line, "params", '{');
	json_int(&line, "id", question->number);
	json_close(&line);
	send_line(asker, &line);
}

bool asker_cancel(struct server *server, const struct sink *sink, const struct jsonread *id)
{
	owned_mem char *wanted = jsonread_text(id);

	for (struct asker *asker = server->askers; asker; asker = asker->next)
		for (struct question *at = asker->questions; at; at = at->next)
			if (at->sink == sink && !strcmp(at->id, wanted)) {
				cancel(asker, at);
				return true;
			}
	return false;
}

bool asker_is_full(const struct server *server)
{
	size_t n = 0;

	for (const struct asker *asker = server->askers; asker; asker = asker->next)
		for (const struct question *at = asker->questions; at; at = at->next)
			n++;
	return n >= ASKER_QUESTIONS_MAX;
}

void asker_resume(struct server *server)
{
	for (struct asker *asker = server->askers, *next; asker; asker = next) {
		next = asker->next;
		if (asker->fd >= 0 && !loop_is_set(asker->reading))
			take_lines(asker);
	}
}

bool asker_has(const struct server *server, const struct sink *sink)
{
	for (const struct asker *asker = server->askers; asker; asker = asker->next)
		for (const struct question *at = asker->questions; at; at = at->next)
			if (at->sink == sink)
				return true;
	return false;
}

void asker_orphan(struct server *server, const struct sink *sink)
{
	for (struct asker *asker = server->askers; asker; asker = asker->next)
		for (struct question *at = asker->questions; at; at = at->next)
			if (at->sink == sink)
				cancel(asker, at);
}

void asker_end_all(struct server *server)
{
	while (server->askers) {
		struct asker *asker = server->askers;
		struct question *question;

		while ((question = asker->questions)) {
			asker->questions = question->next;
			free_question(question);
		}
		if (asker->task.pid)
			(void)kill(asker->task.pid, SIGKILL);
		asker->task.pid = 0;
		loop_event_free(&asker->reading);
		loop_event_free(&asker->writing);
		if (asker->fd >= 0)
			outbox_release(&asker->outbox);
		close_fd(&asker->fd);
		free_if_ended(asker);
	}
}
