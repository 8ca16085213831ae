#include "mcp/stdio.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/mem.h"
#include "core/own.h"
#include "mcp/asker.h"
#include "mcp/calls.h"
#include "mcp/session.h"
#include "owner/loop.h"
#include "owner/rpc.h"
#include "rpc/linereader.h"
#include "rpc/outbox.h"

#define FULL ((size_t)1 << 20) /* number of unread bytes above which further messages wait */
#define COMPLETE_MS 10000      /* longest time to complete requests after the client has gone */
#define LOOK_MS 200            /* interval between two checks whether the client still reads */

struct stdio {
	struct sink sink; /* must be the first member */
	struct server *server;
	struct session session;
	int in, out;
	bool never_waits; /* the input is a file or device that cannot be polled */
	struct loop_event *reading, *writing; /* writing is NULL if the output cannot be polled */
	/* timer of the checks whether the client still reads; used after the end of the input */
	struct loop_event *looking;
	struct linereader lines;
	struct outbox outbox;
	struct buf waiting; /* a message that has to wait */
	bool ended;         /* the input has ended */
	bool lost;          /* the client has closed its end of the output */
};

static void stop_if_done(struct stdio *stdio)
{
	bool busy = calls_has(stdio->server, &stdio->sink) ||
		    asker_has(stdio->server, &stdio->sink) || session_waits(&stdio->session);

	if (stdio->lost ||
		(stdio->ended && !busy && !stdio->waiting.len && !outbox_left(&stdio->outbox)))
		loop_stop(stdio->server->loop);
}

static void write_now(struct stdio *stdio)
{
	struct err ignored = { 0 };

	if (outbox_flush(&stdio->outbox, &ignored) < 0) {
		stdio->lost = true;
		loop_stop(stdio->server->loop);
	}
	if (stdio->writing)
		loop_switch(stdio->writing, !stdio->lost && outbox_left(&stdio->outbox));
}

static void switch_reading(struct stdio *stdio, bool on)
{
	if (stdio->never_waits && on)
		loop_set(stdio->reading, 0);
	else
		loop_switch(stdio->reading, on);
}

static void send_message(struct sink *sink, struct str message)
{
	struct stdio *stdio = (struct stdio *)(void *)sink;
	owned(buf_release) struct buf copy = BUF_INIT;

	buf_add(&copy, message.ptr, message.len);
	outgoing_replace_bytes(&copy);
	outbox_add(&stdio->outbox, &copy, 0);
	write_now(stdio);
}

static bool is_full(const struct sink *sink)
{
	const struct stdio *stdio = (const struct stdio *)(const void *)sink;

	return outbox_left(&stdio->outbox) >= FULL;
}

static void refuse_long_line(struct stdio *stdio)
{
	owned(json_release) struct json out = JSON_INIT;
	struct err err = { 0 };

	err_set(&err, ERR_LIMIT, "a message is longer than %zu bytes", RPC_LINE_MAX);
	rpc_error(&out, NULL, RPC_PARSE, &err, NULL, 0);
	mcpserver_send(&stdio->sink, &out);
}

/* Take the messages that have arrived, until one of them has to wait. */
static void take_lines(struct stdio *stdio)
{
	enum linereader_found found = LINEREADER_LINE;
	struct str line;

	if (stdio->waiting.len) {
		struct str first = { stdio->waiting.data, stdio->waiting.len };

		if (!session_take(&stdio->session, &stdio->sink, first))
			return;
		buf_clear(&stdio->waiting);
	}
	while (!stdio->waiting.len && !is_full(&stdio->sink) && found != LINEREADER_MORE &&
		found != LINEREADER_END) {
		found = linereader_next(&stdio->lines, &line);
		if (found == LINEREADER_LONG)
			refuse_long_line(stdio);
		if (found == LINEREADER_LINE && !session_take(&stdio->session, &stdio->sink, line))
			buf_add(&stdio->waiting, line.ptr, line.len);
	}
	stdio->ended = found == LINEREADER_END;
	switch_reading(stdio, found == LINEREADER_MORE);
}

/*
 * Check whether the client has closed the output, as happens when the client is killed.  Without
 * this check, the server would not notice the closed output before it writes the next message.
 * That may be a long time after the end of the input.  The check is repeated at regular intervals
 * until all requests are answered.
 */
static void look_at_output(void *arg)
{
	struct stdio *stdio = arg;
	struct pollfd out = { .fd = stdio->out };

	stdio->lost |= poll(&out, 1, 0) > 0 && out.revents & (POLLERR | POLLHUP);
	stop_if_done(stdio);
	loop_set(stdio->looking, LOOK_MS);
}

static void on_readable(void *arg)
{
	struct stdio *stdio = arg;
	struct err ignored = { 0 };

	if (linereader_fill(&stdio->lines, stdio->in, &ignored) < 0)
		linereader_end(&stdio->lines);
	take_lines(stdio);
	stop_if_done(stdio);
	if (stdio->lines.ended)
		loop_set(stdio->looking, LOOK_MS);
}

static void on_writable(void *arg)
{
	struct stdio *stdio = arg;

	write_now(stdio);
	if (!is_full(&stdio->sink)) {
		calls_resume(stdio->server, &stdio->sink);
		asker_resume(stdio->server);
	}
	take_lines(stdio);
	stop_if_done(stdio);
}

/* Called when a request was answered: a message that waited may be taken now. */
static void on_answered(void *arg)
{
	struct stdio *stdio = arg;

	session_resume(&stdio->session);
	take_lines(stdio);
	stop_if_done(stdio);
}

/* Called when a request was answered after the client has gone. */
static void on_completed(void *arg)
{
	struct stdio *stdio = arg;

	if (!stdio->server->calls)
		loop_stop(stdio->server->loop);
}

static void on_overtime(void *arg)
{
	loop_stop(((struct stdio *)arg)->server->loop);
}

/*
 * Complete the requests that write, after the client has gone.  If this takes too long, this
 * function returns, and the caller kills the processes of the requests.  The next command of strata
 * then completes or undoes their work.
 */
static void complete_requests(struct stdio *stdio)
{
	struct server *server = stdio->server;
	struct loop_event *limit = loop_timer(server->loop, on_overtime, stdio);
	struct err ignored = { 0 };

	loop_event_free(&stdio->reading);
	loop_event_free(&stdio->writing);
	loop_event_free(&stdio->looking);
	session_release(&stdio->session);
	server->answered = on_completed;
	asker_orphan(server, &stdio->sink);
	calls_orphan(server, &stdio->sink);
	loop_set(limit, COMPLETE_MS);
	if (server->calls)
		(void)loop_run(server->loop, &ignored);
	server->answered = NULL;
	loop_event_free(&limit);
}

/* Whether an event loop can wait for a descriptor.  It cannot wait for regular files or devices. */
static bool can_wait(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || isatty(fd));
}

static void release(struct stdio *stdio)
{
	loop_event_free(&stdio->reading);
	loop_event_free(&stdio->writing);
	loop_event_free(&stdio->looking);
	linereader_release(&stdio->lines);
	outbox_release(&stdio->outbox);
	buf_release(&stdio->waiting);
	close_fd(&stdio->in);
	close_fd(&stdio->out);
}

static int open_streams(struct stdio *stdio, struct err *err)
{
	stdio->in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	stdio->out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	outbox_init(&stdio->outbox, stdio->out);
	/* Only messages may get to the client, so other output goes to standard error. */
	if (stdio->in < 0 || stdio->out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return err_errno(err, "standard input and output");
	return 0;
}

static void watch_streams(struct stdio *stdio, struct loop *loop)
{
	stdio->looking = loop_timer(loop, look_at_output, stdio);
	if (can_wait(stdio->in)) {
		stdio->reading = loop_fd(loop, stdio->in, LOOP_READ, on_readable, stdio);
	} else {
		stdio->never_waits = true;
		stdio->reading = loop_timer(loop, on_readable, stdio);
		loop_set(stdio->reading, 0);
	}
	if (can_wait(stdio->out)) {
		stdio->writing = loop_fd(loop, stdio->out, LOOP_WRITE, on_writable, stdio);
		loop_switch(stdio->writing, false);
	}
}

int stdio_serve(struct server *server, struct err *err)
{
	struct stdio *stdio = mem_zalloc(sizeof(*stdio));

	*stdio = (struct stdio){
		.sink = { send_message, is_full }, .server = server, .waiting = BUF_INIT
	};
	linereader_init(&stdio->lines, RPC_LINE_MAX);
	session_init(&stdio->session, server);
	int r = open_streams(stdio, err);
	if (r >= 0) {
		watch_streams(stdio, server->loop);
		server->answered = on_answered;
		server->arg = stdio;
		r = loop_run(server->loop, err);
		complete_requests(stdio);
	}
	release(stdio);
	free(stdio);
	return r;
}
