#include "rpc/crew.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/at.h"
#include "core/child.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/when.h"
#include "query/method.h"
#include "rpc/envelope.h"

#define PIECE 65536 /* bytes of one read; a reply with more bytes counts as large */
#define REPLY_MAX (METHOD_REPLY_MAX + PIECE)
#define NEVER INT64_MAX
/*
 * A process that reaches its deadline reports an error itself.  A process that is stuck in a system
 * call is killed this long after its deadline.
 */
#define GRACE (1 * WHEN_SECOND)
#define CANCEL_GRACE (WHEN_SECOND / 2) /* time between a cancellation and the kill */
#define STALL (10 * WHEN_SECOND)       /* longest time between two pieces of a reply */
#define IDLE (30 * WHEN_SECOND)        /* time after which an idle process is ended */
/*
 * If no job begins or ends for this time, another process is started for the oldest waiting job.
 * Short requests are answered faster by one process with warm caches than by several new processes.
 */
#define START_AFTER WHEN_MS

/* --------------------------------------------------------------------- jobs */

struct crew_job *crew_job_new(const struct answerer_request *request, bool answered)
{
	struct crew_job *job = mem_zalloc(sizeof(*job));
	struct crewwork_ask ask = {
		.id = (uint32_t)request->id.len,
		.method = (uint32_t)request->method.len + 1,
		.params = (uint32_t)request->params.len,
	};

	job->frame = (struct buf)BUF_INIT;
	buf_add(&job->frame, &ask, sizeof(ask));
	buf_add(&job->frame, request->id.ptr, request->id.len);
	buf_add(&job->frame, request->method.ptr, request->method.len);
	buf_addc(&job->frame, '\0');
	buf_add(&job->frame, request->params.ptr, request->params.len);
	job->answered = answered;
	job->since = when_monotonic();
	job->seconds = method_seconds(crew_job_id(job).ptr + ask.id);
	return job;
}

void crew_job_free(struct crew_job *job)
{
	if (!job)
		return;
	buf_release(&job->frame);
	free(job);
}

static struct crewwork_ask *ask_of(const struct crew_job *job)
{
	return (struct crewwork_ask *)(void *)job->frame.data;
}

struct str crew_job_id(const struct crew_job *job)
{
	return (struct str){ job->frame.data + sizeof(struct crewwork_ask), ask_of(job)->id };
}

void crew_refuse(
	struct crew *crew, const struct crew_job *job, enum rpc_code code, const struct err *err)
{
	owned(json_release) struct json out = JSON_INIT;

	if (!job->answered)
		return;
	envelope_refuse(&out, crew_job_id(job), code, err, STR(""));
	peer_reply(crew->peer, &out.out, 0);
}

void crew_refuse_cancelled(struct crew *crew, const struct crew_job *job)
{
	struct err err = { 0 };

	err_set_number(&err, ECANCELED, "cancelled");
	crew_refuse(crew, job, RPC_QUERY_ENDED, &err);
}

/* ---------------------------------------------------------------- processes */

int crew_init(
	struct crew *crew, const struct answerer_source *source, struct peer *peer, struct err *err)
{
	*crew = (struct crew){ .source = source, .peer = peer, .null = -1 };
	for (size_t i = 0; i < CREW_MAX; i++)
		crew->workers[i] = (struct crew_worker){ .fd = -1, .in = BUF_INIT };
	crew->null = at_open_given("/dev/null", O_RDONLY, 0, err);
	if (crew->null < 0)
		return crew->null;
	void *shared = mmap(NULL, CREW_MAX * sizeof(*crew->cancelled), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return err_errno(err, "shared memory");
	crew->cancelled = shared;
	return 0;
}

static void reap_doomed(struct crew *crew)
{
	for (size_t i = 0; i < CREW_MAX; i++)
		if (crew->doomed[i] && waitpid(crew->doomed[i], NULL, WNOHANG) != 0)
			crew->doomed[i] = 0;
}

/* Forget a worker whose process has ended or was killed. */
static void clear_worker(struct crew *crew, struct crew_worker *worker)
{
	if (crew->large == worker)
		crew->large = NULL;
	crew_job_free(worker->job);
	close_fd(&worker->fd);
	buf_release(&worker->in);
	*worker = (struct crew_worker){ .fd = -1, .in = BUF_INIT };
}

/*
 * Kill a worker.  This function does not wait for the process, since a process that is blocked in
 * the kernel may not end soon.
 */
static void kill_worker(struct crew *crew, struct crew_worker *worker)
{
	(void)kill(worker->pid, SIGKILL);
	reap_doomed(crew);
	for (size_t i = 0; i < CREW_MAX; i++)
		if (!crew->doomed[i]) {
			crew->doomed[i] = worker->pid;
			break;
		}
	clear_worker(crew, worker);
	reap_doomed(crew);
}

void crew_release(struct crew *crew)
{
	for (size_t i = 0; i < CREW_MAX; i++)
		if (crew->workers[i].pid)
			kill_worker(crew, &crew->workers[i]);
	if (crew->cancelled)
		(void)munmap(crew->cancelled, CREW_MAX * sizeof(*crew->cancelled));
	close_fd(&crew->null);
}

/*
 * In the child: answer requests.  The child keeps neither the streams of the peer nor the sockets
 * of other children.
 */
static void become_worker(struct crew *crew, size_t index, int fd)
{
	(void)signal(SIGPIPE, SIG_DFL);
	for (size_t i = 0; i < CREW_MAX; i++)
		close_fd(&crew->workers[i].fd);
	peer_leave(crew->peer);
	(void)dup2(crew->null, STDIN_FILENO);
	crewwork_main(fd, &crew->cancelled[index], crew->source);
}

static int start_worker(struct crew *crew, size_t index, struct err *err)
{
	struct crew_worker *worker = &crew->workers[index];
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return err_errno(err, "make a socket");
	owned_fd int ours = ends[0], theirs = ends[1];
	pid_t pid = child_fork();
	if (pid < 0)
		return err_errno(err, "start a process");
	if (pid == 0) {
		close_fd(&ours);
		become_worker(crew, index, theirs);
	}
	worker->pid = pid;
	worker->fd = take_fd(&ours);
	return 0;
}

/*
 * Handle a process that has ended too early or has sent a wrong reply: kill it, and answer its job
 * with an error.
 */
static void bury_worker(struct crew *crew, struct crew_worker *worker)
{
	struct err err = { 0 };

	(void)kill(worker->pid, SIGKILL);
	int status = child_wait(worker->pid);
	if (WIFSIGNALED(status))
		err_set(&err, ERR_SYSTEM, "the process that answered this was killed by signal %d",
			WTERMSIG(status));
	else
		err_set(&err, ERR_SYSTEM, "the process that answered this ended with status %d",
			WEXITSTATUS(status));
	if (worker->job && !worker->refused)
		crew_refuse(crew, worker->job, RPC_INTERNAL, &err);
	clear_worker(crew, worker);
}

/* -------------------------------------------------------------- giving jobs */

static void send_frame(struct crew *crew, struct crew_worker *worker)
{
	const struct buf *frame = &worker->job->frame;
	ssize_t n = send(worker->fd, frame->data + worker->sent, frame->len - worker->sent,
		MSG_DONTWAIT | MSG_NOSIGNAL);

	/*
	 * An error is ignored here.  If the process has ended, the function 'receive' notices it.
	 */
	if (n > 0)
		worker->sent += (size_t)n;
}

static void begin_job(struct crew *crew, struct crew_worker *worker, struct crew_job *job)
{
	ask_of(job)->serial = ++crew->serial ?: ++crew->serial;
	worker->job = job;
	worker->sent = 0;
	worker->refused = false;
	crew->moved = when_monotonic();
	worker->end_at = crew->moved + job->seconds * WHEN_SECOND + GRACE;
	send_frame(crew, worker);
}

/* Returns the time at which another process may be started for a waiting job. */
static int64_t start_at(const struct crew *crew, const struct crew_job *job)
{
	return (crew->moved > job->since ? crew->moved : job->since) + START_AFTER;
}

bool crew_give(struct crew *crew, struct crew_job *job)
{
	struct err err = { 0 };
	size_t vacant = CREW_MAX, n = 0;

	for (size_t i = CREW_MAX; i-- > 0;)
		if (!crew->workers[i].pid)
			vacant = i;
	for (size_t i = 0; i < CREW_MAX; i++) {
		n += crew->workers[i].pid != 0;
		if (!crew->workers[i].pid || crew->workers[i].job)
			continue;
		begin_job(crew, &crew->workers[i], job);
		return true;
	}
	if (vacant == CREW_MAX || (n && when_monotonic() < start_at(crew, job)))
		return false;
	if (start_worker(crew, vacant, &err) >= 0) {
		begin_job(crew, &crew->workers[vacant], job);
		return true;
	}
	crew->moved = when_monotonic();
	if (n)
		return false;
	crew_refuse(crew, job, RPC_INTERNAL, &err);
	crew_job_free(job);
	return true;
}

bool crew_is_idle(const struct crew *crew)
{
	for (size_t i = 0; i < CREW_MAX; i++)
		if (crew->workers[i].job)
			return false;
	return true;
}

size_t crew_cancel(struct crew *crew, struct str id)
{
	size_t n = 0;

	for (size_t i = 0; i < CREW_MAX; i++) {
		struct crew_worker *worker = &crew->workers[i];

		if (!worker->job || worker->refused || worker->in.len ||
			!str_eq(crew_job_id(worker->job), id))
			continue;
		atomic_store(&crew->cancelled[i], ask_of(worker->job)->serial);
		worker->refused = true;
		worker->end_at = when_monotonic() + CANCEL_GRACE;
		crew_refuse_cancelled(crew, worker->job);
		n++;
	}
	return n;
}

/* ---------------------------------------------------------- receiving replies */

/*
 * Returns the length of the reply that a worker is sending, including the struct before the reply,
 * or 0 if the length is not known yet.
 */
static uint64_t reply_length(const struct crew_worker *worker)
{
	struct crewwork_reply reply;

	if (worker->in.len < sizeof(reply))
		return 0;
	memcpy(&reply, worker->in.data, sizeof(reply));
	return sizeof(reply) + reply.length;
}

/* Whether the rest of a large reply has to wait until there is room for it. */
static bool must_wait(const struct crew *crew, const struct crew_worker *worker, bool room)
{
	if (reply_length(worker) <= PIECE || crew->large == worker)
		return false;
	return crew->large || !room;
}

static void end_job(struct crew *crew, struct crew_worker *worker)
{
	if (worker->job->answered && !worker->refused)
		peer_reply(crew->peer, &worker->in, sizeof(struct crewwork_reply));
	if (crew->large == worker)
		crew->large = NULL;
	crew_job_free(worker->job);
	worker->job = NULL;
	if (worker->in.cap > 4 * (size_t)PIECE)
		buf_release(&worker->in);
	buf_clear(&worker->in);
	crew->moved = when_monotonic();
	worker->end_at = worker == crew->workers ? NEVER : crew->moved + IDLE;
}

static void receive(struct crew *crew, struct crew_worker *worker)
{
	uint64_t length = reply_length(worker);
	char *room = buf_reserve(&worker->in, length > PIECE ? length - worker->in.len : PIECE);
	ssize_t n = recv(worker->fd, room, worker->in.cap - worker->in.len - 1, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		bury_worker(crew, worker);
		return;
	}
	worker->in.len += (size_t)n;
	worker->end_at = when_monotonic() + STALL;
	length = reply_length(worker);
	/* A process must not send anything except the reply to its job. */
	if (!worker->job || length > REPLY_MAX || (length && worker->in.len > length))
		bury_worker(crew, worker);
	else if (length && worker->in.len == length)
		end_job(crew, worker);
	else if (length > PIECE && !crew->large)
		crew->large = worker;
}

void crew_poll(const struct crew *crew, bool room, struct pollfd *fds)
{
	for (size_t i = 0; i < CREW_MAX; i++) {
		const struct crew_worker *worker = &crew->workers[i];
		bool unsent = worker->job && worker->sent < worker->job->frame.len;
		short events = unsent ? POLLOUT : 0;

		if (!must_wait(crew, worker, room))
			events |= POLLIN;
		fds[i] = (struct pollfd){ .fd = worker->fd, .events = events };
	}
}

int64_t crew_wake(const struct crew *crew, const struct crew_job *waiting)
{
	int64_t wake = NEVER;
	bool vacant = false;

	for (size_t i = 0; i < CREW_MAX; i++) {
		const struct crew_worker *worker = &crew->workers[i];

		vacant |= !worker->pid;
		if (worker->pid && worker->end_at < wake)
			wake = worker->end_at;
	}
	if (waiting && vacant && start_at(crew, waiting) < wake)
		wake = start_at(crew, waiting);
	return wake;
}

/* End a process whose time has run out. */
static void end_worker(struct crew *crew, struct crew_worker *worker)
{
	struct err err = { 0 };

	err_set_number(&err, ETIMEDOUT, "timed out");
	if (worker->job && !worker->refused)
		crew_refuse(crew, worker->job, RPC_QUERY_ENDED, &err);
	kill_worker(crew, worker);
}

void crew_handle(struct crew *crew, const struct pollfd *fds)
{
	int64_t now = when_monotonic();

	reap_doomed(crew);
	for (size_t i = 0; i < CREW_MAX; i++) {
		struct crew_worker *worker = &crew->workers[i];

		if (!worker->pid)
			continue;
		if (fds[i].revents & POLLOUT)
			send_frame(crew, worker);
		if (fds[i].revents & ~POLLOUT)
			receive(crew, worker);
		else if (!(fds[i].events & POLLIN))
			worker->end_at = NEVER; /* the process waits until there is room */
		else if (worker->job && worker->end_at == NEVER)
			worker->end_at = now + STALL;
		else if (now >= worker->end_at)
			end_worker(crew, worker);
	}
}
