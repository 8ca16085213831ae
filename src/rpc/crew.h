/*
 * crew - runs processes that answer requests, several at a time.
 *
 * If a request takes too long or crashes its process, only this process ends.  A process keeps its
 * registry from one request to the next.  Idle processes are used in a fixed order, so that
 * requests find warm caches.  A process is started only when it is needed.  A process that was idle
 * for a while is ended, except the process of the first worker.  All processes end with the calling
 * process.
 *
 * The crew never blocks.  The caller must poll the descriptors of crew_poll, and then call
 * crew_handle.
 */
#pragma once
#include <stdatomic.h>
#include <sys/types.h>

#include "rpc/crewwork.h"
#include "rpc/peer.h"

#define CREW_MAX 8

/* A request that has no complete reply yet. */
struct crew_job {
	struct crew_job *next; /* for use by the owner of the job */
	struct buf frame;      /* a struct crewwork_ask and its texts */
	bool answered;         /* false: its reply is not sent */
	int64_t since;         /* time when the job arrived */
	int64_t seconds;       /* time that the job may take */
};

struct crew_job *crew_job_new(const struct answerer_request *request, bool answered);
void crew_job_free(struct crew_job *job);
struct str crew_job_id(const struct crew_job *job);

struct crew_worker {
	pid_t pid; /* 0: the worker has no process */
	int fd;
	struct crew_job *job;
	size_t sent;    /* bytes of the job's frame that have been sent */
	struct buf in;  /* the reply so far */
	bool refused;   /* the job has been answered with an error */
	int64_t end_at; /* time to kill a process that sends nothing, or to end an idle process */
};

struct crew {
	const struct answerer_source *source;
	struct crew_worker workers[CREW_MAX];
	/* serial number of the cancelled request of each worker, in shared memory */
	_Atomic uint32_t *cancelled;
	struct crew_worker *large; /* the only worker whose reply may take much memory now */
	uint32_t serial;
	int64_t moved;          /* time when a job was last begun or ended */
	int null;               /* the standard input of the processes */
	pid_t doomed[CREW_MAX]; /* processes that were killed and may still exist; 0: none */
	struct peer *peer;      /* the peer that gets the replies */
};

/* Initialise a crew without processes.  'source' and 'peer' are borrowed. */
int crew_init(struct crew *crew, const struct answerer_source *source, struct peer *peer,
	struct err *err);
/* Kill all processes. */
void crew_release(struct crew *crew);

/*
 * Give a job to an idle process or to a new one.  Returns false if the job has to wait.  Otherwise
 * returns true, and the crew owns the job.  If there is no process and none can be started, the
 * crew answers the job with an error and frees it.
 */
bool crew_give(struct crew *crew, struct crew_job *job);
/* Answer a job with an error.  A job whose reply is not wanted gets no answer. */
void crew_refuse(
	struct crew *crew, const struct crew_job *job, enum rpc_code code, const struct err *err);
/* Answer a job with the error of a cancelled request. */
void crew_refuse_cancelled(struct crew *crew, const struct crew_job *job);
/* Whether no process has a job. */
bool crew_is_idle(const struct crew *crew);
/* Stop the jobs that have this id, and answer each job with an error.  Returns their number. */
size_t crew_cancel(struct crew *crew, struct str id);

/*
 * Fill in fds for poll(2), one element for each of the CREW_MAX workers.  'room' says whether the
 * caller has room for a large reply.
 */
void crew_poll(const struct crew *crew, bool room, struct pollfd *fds);
/*
 * Returns the time at which crew_handle must be called even if no descriptor is ready.  'waiting'
 * is a job that waits, or NULL.  The time is no later than the time at which crew_give may take
 * this job.
 */
int64_t crew_wake(const struct crew *crew, const struct crew_job *waiting);
/* Send and receive what is possible according to fds, and end processes whose time has run out. */
void crew_handle(struct crew *crew, const struct pollfd *fds);
