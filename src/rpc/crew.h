/*
 * crew - processes that answer requests, so that several are answered at a time.
 *
 * A request that takes too long, or that crashes its process, ends that process and nothing else.
 * A process keeps its registry from one request to the next, and idle processes are used in a fixed
 * order, so that requests find warm caches.  A process is started only when it is needed, and ends
 * when it was not needed for a while.  All processes end with this one.
 *
 * The crew never blocks: the caller polls the descriptors of crew_poll, and then calls crew_handle.
 */
#pragma once
#include <poll.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "core/errcode.h"
#include "rpc/crewwork.h"

#define CREW_MAX 8

/* A request on its way. */
struct crew_job {
	struct crew_job *next; /* for the owner of the job */
	struct buf frame;      /* a struct crewwork_ask with its texts */
	bool answered;         /* whether its reply is wanted */
	int64_t since;         /* when it came */
	int64_t seconds;       /* its deadline */
};

struct crew_job *crew_job_new(const struct answerer_request *request, bool answered);
void crew_job_free(struct crew_job *job);
struct str crew_job_id(const struct crew_job *job);

struct crew_worker {
	pid_t pid; /* 0: there is no such process */
	int fd;
	struct crew_job *job;
	size_t sent;    /* of the frame of the job */
	struct buf in;  /* the reply so far */
	bool refused;   /* the job has been answered with an error */
	int64_t end_at; /* when the process is killed if nothing comes from it, or ended if idle */
};

struct crew {
	const struct answerer_source *source;
	struct crew_worker workers[CREW_MAX];
	_Atomic uint32_t *cancelled; /* one for each worker, in shared memory */
	struct crew_worker *large;   /* the only one whose reply may take much memory now */
	uint32_t serial;
	int64_t moved;          /* when a job was last given away or done */
	int null;               /* the standard input of the processes */
	int hidden[2];          /* descriptors that the processes must not have; -1: none */
	pid_t doomed[CREW_MAX]; /* processes that were killed and may not be gone; 0: none */
	/* Called with a reply, which begins at start; it may take the buffer's memory over. */
	void (*reply)(void *arg, struct buf *line, size_t start);
	void *arg;
};

/* Initialise a crew without processes.  The caller sets hidden, reply and arg. */
int crew_init(struct crew *crew, const struct answerer_source *source, struct err *err);
/* Kill all processes. */
void crew_release(struct crew *crew);

/*
 * Give a job to an idle process, or to a new one.  Returns true if the crew has taken the job over,
 * false if the job has to wait.  A job that no process can take is answered with an error.
 */
bool crew_give(struct crew *crew, struct crew_job *job);
/* Answer a job with an error, unless its reply is not wanted. */
void crew_refuse(
	struct crew *crew, const struct crew_job *job, enum rpc_code code, const struct err *err);
/* Whether no process has a job. */
bool crew_is_idle(const struct crew *crew);
/* Answer the jobs with this id with an error, and stop them.  Returns how many there were. */
size_t crew_cancel(struct crew *crew, struct str id);

/*
 * Fill in what to poll for, one element for each of the CREW_MAX workers.  room says whether there
 * is room for a large reply.
 */
void crew_poll(const struct crew *crew, bool room, struct pollfd *fds);
/*
 * Returns when crew_handle has work although no descriptor is ready, or when crew_give may take the
 * job waiting, which is NULL if none waits.
 */
int64_t crew_wake(const struct crew *crew, const struct crew_job *waiting);
/* Send and receive what is ready in fds, and end what takes too long. */
void crew_handle(struct crew *crew, const struct pollfd *fds);
