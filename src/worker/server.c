#include "worker/server.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/thread.h"
#include "worker/fileops.h"
#include "worker/frame.h"
#include "worker/globwalk.h"
#include "worker/grepfiles.h"

#define REPLY_FRAME 512 /* maximum bytes of a reply, without its content and id */

/* A request that is being worked on. */
struct job {
	struct ticket ticket;
	struct arena arena;
	struct wire_request request;
	struct job *next; /* next job in the list of jobs with an id */
	bool taken;       /* a thread works on the job */
};

struct server {
	struct gate *gate;
	int out;
	pthread_mutex_t sending; /* held while a frame is sent */
	pthread_mutex_t mutex;   /* protects the members below */
	pthread_cond_t changed;
	struct job *jobs; /* jobs with an id; the oldest comes first */
	size_t waiting;
	bool over;
	pthread_t threads[SERVER_THREADS];
	size_t n_threads;
};

static void free_job(struct job *job)
{
	arena_release(&job->arena);
	free(job);
}

/* ------------------------------------------------------------------ replies */

static void set_error(
	struct wire_reply *reply, enum wire_code code, const struct err *err, struct arena *arena)
{
	const char *text = err->hint[0] ? arena_printf(arena, "%s; %s", err->text, err->hint)
					: arena_strdup(arena, err->text);

	*reply = (struct wire_reply){ .kind = WIRE_ERROR, .code = code, .message = str_of(text) };
}

/* Make the reply to a request that has failed. */
static void set_failure(struct wire_reply *reply, const struct err *err, struct arena *arena)
{
	enum wire_code code = err->code == ERR_DENIED    ? WIRE_POLICY_DENIED
			      : err->code == ERR_INVALID ? WIRE_PROTOCOL
							 : WIRE_IO;
	int number = err->code == ERR_NOT_FOUND ? ENOENT
		     : err->code == ERR_LIMIT   ? E2BIG
						: err->errno_value;

	set_error(reply, code, err, arena);
	if (code == WIRE_IO)
		reply->error = strerrorname_np(number) ?: "EIO";
}

static int send_frame(struct server *server, struct buf *out, const struct wire_reply *reply)
{
	struct err err = { 0 };

	frame_begin(out);
	wire_write_reply(out, reply);
	(void)pthread_mutex_lock(&server->sending);
	int r = frame_send(server->out, out, &err);
	(void)pthread_mutex_unlock(&server->sending);
	return r;
}

/*
 * Send a reply.  If the peer has closed the connection, the server notices this when it reads the
 * next request.
 */
static void send_reply(struct server *server, struct wire_reply *reply, struct str id)
{
	owned(buf_release) struct buf out = FRAME_BUF_INIT;

	reply->id = id;
	if (send_frame(server, &out, reply) != -ERR_LIMIT)
		return;
	struct wire_reply error = {
		.kind = WIRE_ERROR,
		.code = WIRE_IO,
		.message = STR("the reply is larger than a frame"),
		.error = "EMSGSIZE",
		.id = id,
	};
	(void)send_frame(server, &out, &error);
}

void server_refuse(int out, const struct err *why)
{
	owned(arena_release) struct arena arena = { 0 };
	owned(buf_release) struct buf frame = FRAME_BUF_INIT;
	struct wire_reply reply;
	struct err ignored = { 0 };

	set_error(&reply, WIRE_INTERNAL, why, &arena);
	frame_begin(&frame);
	wire_write_reply(&frame, &reply);
	(void)frame_send(out, &frame, &ignored);
}

/* ------------------------------------------------------------------ requests */

static int get_env(struct fileops *ops, const struct wire_request *request,
	struct wire_reply *reply, struct err *err)
{
	size_t n = request->n_names;

	*reply = (struct wire_reply){ .kind = WIRE_GET_ENV, .n_values = n };
	reply->values = arena_alloc(ops->arena, (n + 1) * sizeof(*reply->values));
	for (size_t i = 0; i < n; i++) {
		const char *value = getenv(request->names[i].ptr);

		if (value)
			reply->values[i] = str_of(value);
	}
	return 0;
}

static int say_pong(struct fileops *ops, const struct wire_request *request,
	struct wire_reply *reply, struct err *err)
{
	*reply = (struct wire_reply){ .kind = WIRE_PONG };
	return 0;
}

static int (*const answers[])(struct fileops *ops, const struct wire_request *request,
	struct wire_reply *reply, struct err *err) = {
	[WIRE_PING] = say_pong,
	[WIRE_SHUTDOWN] = say_pong,
	[WIRE_READ] = fileops_read,
	[WIRE_WRITE] = fileops_write,
	[WIRE_EDIT] = fileops_edit,
	[WIRE_GLOB] = globwalk_run,
	[WIRE_GREP] = grepfiles_run,
	[WIRE_STAT] = fileops_stat,
	[WIRE_GET_ENV] = get_env,
};

static void answer(struct server *server, struct job *job)
{
	struct err err = { 0 };
	struct wire_reply reply = { 0 };
	struct fileops ops = {
		.gate = server->gate,
		.ticket = &job->ticket,
		.arena = &job->arena,
		.room = FRAME_MAX - REPLY_FRAME - job->request.id.len,
	};
	int r = ticket_check(&job->ticket, &err);

	if (r >= 0)
		r = answers[job->request.kind](&ops, &job->request, &reply, &err);
	if (r < 0)
		set_failure(&reply, &err, &job->arena);
	send_reply(server, &reply, job->request.id);
}

/* ------------------------------------------------------------------- threads */

static struct job *next_job(const struct server *server)
{
	struct job *job = server->jobs;

	while (job && job->taken)
		job = job->next;
	return job;
}

static void remove_job(struct server *server, struct job *job)
{
	struct job **link = &server->jobs;

	while (*link != job)
		link = &(*link)->next;
	*link = job->next;
}

static void *work(void *arg)
{
	struct server *server = arg;

	(void)pthread_mutex_lock(&server->mutex);
	for (;;) {
		struct job *job = next_job(server);

		if (!job && server->over)
			break;
		if (!job) {
			(void)pthread_cond_wait(&server->changed, &server->mutex);
			continue;
		}
		job->taken = true;
		server->waiting--;
		(void)pthread_mutex_unlock(&server->mutex);
		answer(server, job);
		(void)pthread_mutex_lock(&server->mutex);
		remove_job(server, job);
		free_job(job);
		(void)pthread_cond_broadcast(&server->changed);
	}
	(void)pthread_mutex_unlock(&server->mutex);
	return NULL;
}

/* Pass a job to the threads.  Returns false if there is no thread. */
static bool submit(struct server *server, struct job *job)
{
	struct err ignored = { 0 };

	(void)pthread_mutex_lock(&server->mutex);
	while (server->waiting >= SERVER_WAITING_MAX)
		(void)pthread_cond_wait(&server->changed, &server->mutex);
	if (server->n_threads < SERVER_THREADS &&
		thread_start(&server->threads[server->n_threads], work, server, &ignored) >= 0)
		server->n_threads++;
	bool has_thread = server->n_threads > 0;
	if (has_thread) {
		struct job **last = &server->jobs;

		while (*last)
			last = &(*last)->next;
		*last = job;
		server->waiting++;
		(void)pthread_cond_broadcast(&server->changed);
	}
	(void)pthread_mutex_unlock(&server->mutex);
	return has_thread;
}

/* Cancel the jobs that have this id.  If 'id' is NULL, cancel all jobs in the list. */
static void cancel(struct server *server, const struct str *id)
{
	(void)pthread_mutex_lock(&server->mutex);
	for (struct job *job = server->jobs; job; job = job->next)
		if (!id || str_eq(job->request.id, *id))
			job->ticket.cancelled = true;
	(void)pthread_mutex_unlock(&server->mutex);
}

static void wait_for_all(struct server *server)
{
	(void)pthread_mutex_lock(&server->mutex);
	while (server->jobs)
		(void)pthread_cond_wait(&server->changed, &server->mutex);
	(void)pthread_mutex_unlock(&server->mutex);
}

static void end_threads(struct server *server)
{
	(void)pthread_mutex_lock(&server->mutex);
	server->over = true;
	(void)pthread_cond_broadcast(&server->changed);
	(void)pthread_mutex_unlock(&server->mutex);
	for (size_t i = 0; i < server->n_threads; i++)
		(void)pthread_join(server->threads[i], NULL);
}

/* ---------------------------------------------------------------- connection */

/*
 * Handle one request.  Returns 1 if this was the last request.  A negative error means that the
 * connection must end.
 */
static int take_request(struct server *server, struct str frame, struct err *err)
{
	struct job *job = mem_zalloc(sizeof(*job));
	enum wire_code fault;
	bool last = false;
	int r = wire_read_request(frame, &job->arena, &job->request, &fault, err);

	ticket_init(&job->ticket, server->out);
	if (r < 0 && fault != WIRE_INTERNAL) {
		struct wire_reply reply;

		set_error(&reply, fault, err, &job->arena);
		send_reply(server, &reply, job->request.id);
		r = 0;
	} else if (r >= 0 && job->request.kind == WIRE_CANCEL) {
		cancel(server, &job->request.id);
	} else if (r >= 0) {
		last = job->request.kind == WIRE_SHUTDOWN;
		if (last)
			wait_for_all(server);
		if (!last && job->request.id.len && submit(server, job))
			return 0;
		answer(server, job);
	}
	free_job(job);
	return r < 0 ? r : last;
}

static void report_fault(struct server *server, const struct err *err)
{
	owned(arena_release) struct arena arena = { 0 };
	struct wire_reply reply;

	cancel(server, NULL);
	set_error(&reply, WIRE_PROTOCOL, err, &arena);
	send_reply(server, &reply, STR(""));
}

int server_run(struct gate *gate, int in, int out)
{
	struct server server = {
		.gate = gate,
		.out = out,
		.sending = PTHREAD_MUTEX_INITIALIZER,
		.mutex = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
	};
	owned(frame_reader_release) struct frame_reader reader;
	int r = 0, ended = 0;

	frame_reader_init(&reader, in);
	do {
		struct err err = { 0 };
		struct str frame;

		r = frame_read(&reader, &frame, &err);
		if (r > 0)
			ended = r = take_request(&server, frame, &err);
		else
			ended = 1;
		if (r < 0)
			report_fault(&server, &err);
	} while (!ended);
	end_threads(&server);
	return r < 0;
}
