#include "rpc/queryserver.h"

#include "rpc/crew.h"
#include "rpc/peer.h"

/* No request is read while this many jobs wait, or while the waiting jobs have this many bytes. */
#define QUEUE_JOBS_MAX 1024
#define QUEUE_BYTES_MAX ((size_t)4 << 20)

struct server {
	struct peer peer;
	struct crew crew;
	struct crew_job *first, **last; /* the queue */
	size_t n_jobs, n_bytes;
};

/* ------------------------------------------------------------------ the queue */

static void add_job(struct server *server, struct crew_job *job)
{
	*server->last = job;
	server->last = &job->next;
	server->n_jobs++;
	server->n_bytes += job->frame.len;
}

/* Take the job at *slot out of the queue. */
static struct crew_job *take_job(struct server *server, struct crew_job **slot)
{
	struct crew_job *job = *slot;

	*slot = job->next;
	if (server->last == &job->next)
		server->last = slot;
	job->next = NULL;
	server->n_jobs--;
	server->n_bytes -= job->frame.len;
	return job;
}

static void give_jobs(struct server *server)
{
	while (server->first) {
		struct crew_job *job = server->first, *next = job->next;
		size_t bytes = job->frame.len;

		if (!crew_give(&server->crew, job))
			return;
		/* now the crew owns the job, or has freed it */
		server->first = next;
		if (!next)
			server->last = &server->first;
		server->n_jobs--;
		server->n_bytes -= bytes;
	}
}

static size_t cancel_waiting(struct server *server, struct str id)
{
	size_t n = 0;

	for (struct crew_job **slot = &server->first; *slot;) {
		if (!str_eq(crew_job_id(*slot), id)) {
			slot = &(*slot)->next;
			continue;
		}
		struct crew_job *job = take_job(server, slot);
		crew_refuse_cancelled(&server->crew, job);
		crew_job_free(job);
		n++;
	}
	return n;
}

/* ----------------------------------------------------- the functions of the peer */

static void take_request(void *arg, const struct envelope *envelope)
{
	struct server *server = arg;
	struct answerer_request request = {
		.id = { envelope->id.data, envelope->id.len },
		.method = envelope->method,
		.params = envelope->params,
	};

	add_job(server, crew_job_new(&request, envelope->answered));
	give_jobs(server);
}

static size_t cancel_requests(void *arg, struct str id)
{
	struct server *server = arg;

	return cancel_waiting(server, id) + crew_cancel(&server->crew, id);
}

static enum peer_load measure_load(const void *arg)
{
	const struct server *server = arg;

	if (server->n_jobs >= QUEUE_JOBS_MAX || server->n_bytes >= QUEUE_BYTES_MAX)
		return PEER_FULL;
	return server->first || !crew_is_idle(&server->crew) ? PEER_BUSY : PEER_IDLE;
}

static size_t poll_crew(void *arg, size_t unsent, struct pollfd *fds, int64_t *wake)
{
	struct server *server = arg;

	crew_poll(&server->crew, !unsent, fds);
	*wake = crew_wake(&server->crew, server->first);
	return CREW_MAX;
}

static void handle_crew(void *arg, const struct pollfd *fds)
{
	struct server *server = arg;

	crew_handle(&server->crew, fds);
	give_jobs(server);
}

static const struct peer_face face = {
	.request = take_request,
	.cancel = cancel_requests,
	.load = measure_load,
	.poll = poll_crew,
	.handle = handle_crew,
};

int queryserver_run(const struct answerer_source *source, struct err *err)
{
	struct server server = { .last = &server.first };
	int r = peer_open(&server.peer, &face, &server, err);

	if (r < 0)
		return r;
	r = crew_init(&server.crew, source, &server.peer, err);
	if (r >= 0)
		r = peer_serve(&server.peer, err);
	while (server.first)
		crew_job_free(take_job(&server, &server.first));
	crew_release(&server.crew);
	peer_close(&server.peer);
	return r;
}
