#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#include "core/at.h"
#include "core/own.h"
#include "sandbox/cgroup.h"
#include "sandbox/message.h"
#include "sandbox/process.h"
#include "sandbox/procfile.h"
#include "sandbox/sandbox_priv.h"

#define MAP_MAX 16384
#define ANSWER_MS 10000 /* for a holder to do what it was asked; it limits itself to less */
#define ASKED_MS 1000   /* for a holder to end in order */
#define BUSY_MS 5000    /* to wait for others to finish freezing or starting */
#define BUSY_STEP_MS 1

/* ----------------------------------------------------------------- messages */

static int no_answer(int r, struct err *err)
{
	if (r == 0)
		return err_set(err, ERR_NOT_FOUND, "the sandbox has ended");
	if (r == -EPROTO) {
		err_set(err, ERR_UNSUPPORTED,
			"the sandbox was started by another version of strata");
		return err_hint(err, "end what runs in it, then try again");
	}
	errno = -r;
	return err_errno(err, "the sandbox's holder does not answer");
}

/* The holder's failure is ours; its text is cut off where ours is. */
static int receive(int fd, struct holder_reply *reply, int *fds, size_t n, struct err *err)
{
	int r = message_receive(fd, reply, sizeof(*reply), fds, n, ANSWER_MS);

	if (r != 1)
		return no_answer(r, err);
	if (reply->result >= 0)
		return reply->result;
	*err = reply->err;
	err->text[sizeof(err->text) - 1] = '\0';
	err->hint[sizeof(err->hint) - 1] = '\0';
	return -(int)err->code;
}

static int ask_once(struct sandbox *sandbox, const struct holder_request *request, struct err *err)
{
	struct holder_reply reply;
	int r = message_send(sandbox->connection, request, sizeof(*request), NULL, 0);

	return r < 0 ? no_answer(r == -EPIPE ? 0 : r, err)
		     : receive(sandbox->connection, &reply, NULL, 0, err);
}

int sandbox_ask(
	struct sandbox *sandbox, enum holder_request_type type, int32_t session, struct err *err)
{
	const struct holder_request request = { .type = type, .session = session };
	const struct timespec step = { .tv_nsec = BUSY_STEP_MS * 1000000L };

	/* The holder says at once that it is busy, so that the pauses are the time. */
	for (int waited = 0;; waited += BUSY_STEP_MS) {
		struct err busy = { 0 };
		int r = ask_once(sandbox, &request, &busy);

		if (r < 0 && (r != -ERR_BUSY || waited >= BUSY_MS))
			*err = busy;
		if (r != -ERR_BUSY || waited >= BUSY_MS)
			return r;
		nanosleep(&step, NULL);
	}
}

void sandbox_tell(struct sandbox *sandbox, enum holder_request_type type)
{
	const struct holder_request request = { .type = type };

	(void)message_send(sandbox->connection, &request, sizeof(request), NULL, 0);
}

/* ----------------------------------------------------------------- starting */

/* Every id this process has, as itself: what is inside has the ids of strata's namespace. */
static int same_ids(const char *own_map, struct buf *out, struct err *err)
{
	owned(buf_release) struct buf own = BUF_INIT;
	unsigned first, above, count;
	int used;

	if (procfile_read(own_map, MAP_MAX, &own, err) < 0)
		return -(int)err->code;
	for (const char *p = own.data;
		p && sscanf(p, "%u %u %u%n", &first, &above, &count, &used) == 3; p += used)
		buf_addf(out, "%u %u %u\n", first, first, count);
	return out->len ? 0 : err_set(err, ERR_UNSUPPORTED, "no ids in '%s'", own_map);
}

static int write_maps(pid_t pid, struct err *err)
{
	static const char *const kinds[] = { "uid_map", "gid_map" };

	for (size_t i = 0; i < 2; i++) {
		owned(buf_release) struct buf ids = BUF_INIT;
		char path[64];

		snprintf(path, sizeof(path), "/proc/self/%s", kinds[i]);
		if (same_ids(path, &ids, err) < 0)
			return -(int)err->code;
		snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, kinds[i]);
		if (procfile_write(path, ids.data, err) < 0)
			return err_context(err, "give the sandbox its ids");
	}
	return 0;
}

/* Put what came where it belongs; false when something is missing. */
static bool sort_fds(const int *came, uint32_t slots, int fds[SANDBOX_FDS])
{
	bool complete = true;

	for (int i = 0; i < SANDBOX_FDS; i++) {
		fds[i] = slots & 1U << i ? *came++ : -1;
		complete &= fds[i] >= 0 || i == SANDBOX_NET || i == SANDBOX_JOBS;
	}
	return complete;
}

static int take_greeting(struct sandbox *out, struct err *err)
{
	int came[SANDBOX_FDS];
	struct holder_reply hello;
	int r = receive(out->connection, &hello, came, SANDBOX_FDS, err);

	if (r < 0)
		return r;
	if (!sort_fds(came, hello.slots, out->fds) || r != HOLDER_VERSION)
		return no_answer(-EPROTO, err);
	hello.degraded[sizeof(hello.degraded) - 1] = '\0';
	memcpy(out->degraded, hello.degraded, sizeof(out->degraded));
	out->host_root = hello.host_root;
	return 0;
}

static int attend(pid_t pid, struct sandbox *out, struct err *err)
{
	struct holder_reply wish;
	int r = receive(out->connection, &wish, NULL, 0, err);

	if (r < 0)
		return r;
	if (write_maps(pid, err) < 0)
		return -(int)err->code;
	sandbox_tell(out, HOLDER_GO);
	return take_greeting(out, err);
}

/* Holders that we started and that have ended, however long ago we left them. */
static void reap_holders(void)
{
	while (waitpid(-1, NULL, __WCLONE | WNOHANG) > 0)
		;
}

/* Without a signal to us when it ends: it is a child to no wait but that above. */
static pid_t clone_holder(bool no_net)
{
	struct clone_args args = {
		.flags = CLONE_NEWPID | (no_net ? CLONE_NEWNET : 0),
	};

	return process_clone(&args);
}

int sandbox_start(const struct sandbox_plan *plan, struct sandbox *out, struct err *err)
{
	struct sandbox sandbox = SANDBOX_INIT;
	int ends[2];

	reap_holders();
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_errno(err, "make a socket pair");
	pid_t pid = clone_holder(plan->no_net);
	if (pid == 0)
		holder_main(plan, ends[1]);
	close_fd(&ends[1]);
	sandbox.connection = ends[0];
	if (pid < 0) {
		err_errno(err, "make a PID namespace");
		close_fd(&sandbox.connection);
		return -(int)err->code;
	}
	if (attend(pid, &sandbox, err) < 0) {
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, __WALL);
		sandbox_detach(&sandbox);
		return err_context(err, "start the sandbox");
	}
	*out = sandbox;
	return 0;
}

/* ---------------------------------------------------------------- attaching */

/* connect to run/NAME.holder: 1, 0 when nobody listens there. */
static int connect_at(int fd, int run, const char *name, struct err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t room = sizeof(address.sun_path);

	if ((size_t)snprintf(
		    address.sun_path, room, "/proc/self/fd/%d/%s" HOLDER_SUFFIX, run, name) >= room)
		return err_set(err, ERR_LIMIT, "the name '%.40s...' is too long", name);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return 1;
	if (errno == ENOENT || errno == ECONNREFUSED)
		return 0;
	return err_errno(err, "reach the sandbox of '%s'", name);
}

/* Whoever hands us namespaces to enter must be ourselves. */
static int check_peer(int fd, const char *name, struct err *err)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return err_errno(err, "see whose sandbox '%s' is", name);
	if (peer.uid == geteuid())
		return 0;
	err_set(err, ERR_DENIED, "the sandbox of '%s' belongs to user %u", name, peer.uid);
	return err_hint(err, "run strata as that user");
}

int sandbox_attach(int run, const char *name, struct sandbox *out, struct err *err)
{
	owned_fd int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sandbox sandbox = SANDBOX_INIT;
	struct err failure = { 0 };

	if (fd < 0)
		return err_errno(err, "make a socket");
	int r = connect_at(fd, run, name, err);
	if (r <= 0)
		return r;
	if (check_peer(fd, name, err) < 0)
		return -(int)err->code;
	sandbox.connection = take_fd(&fd);
	r = take_greeting(&sandbox, &failure);
	if (r < 0) {
		sandbox_detach(&sandbox);
		/* A holder that was just ending has not seen us. */
		if (r == -ERR_NOT_FOUND)
			return 0;
		*err = failure;
		return err_context(err, "the sandbox of '%s'", name);
	}
	*out = sandbox;
	return 1;
}

int sandbox_join(const struct sandbox *sandbox, struct err *err)
{
	int outer = sandbox->fds[SANDBOX_OUTER];

	if (process_is_in(outer, "user"))
		return 0;
	if (setns(outer, CLONE_NEWUSER) < 0)
		return err_errno(err, "join the sandbox's user namespace");
	return 0;
}

int sandbox_open_root(const struct sandbox *sandbox, struct err *err)
{
	int fd = at_open(sandbox->fds[SANDBOX_ROOT], ".", O_RDONLY | O_DIRECTORY, err);

	return fd < 0 ? err_context(err, "open the root of the sandbox") : fd;
}

/* ---------------------------------------------------------------- requests */

int sandbox_freeze(struct sandbox *sandbox, struct err *err)
{
	int r = sandbox_ask(sandbox, HOLDER_FREEZE, 0, err);

	if (r < 0)
		return err_context(err, "freeze");
	sandbox->frozen = true;
	return 0;
}

int sandbox_thaw(struct sandbox *sandbox, struct err *err)
{
	int r = sandbox_ask(sandbox, HOLDER_THAW, 0, err);

	if (r < 0)
		return err_context(err, "thaw");
	sandbox->frozen = false;
	return 0;
}

int sandbox_count(struct sandbox *sandbox, struct err *err)
{
	int r = sandbox_ask(sandbox, HOLDER_COUNT, 0, err);

	return r < 0 ? err_context(err, "count processes") : r;
}

/* -------------------------------------------------------------------- ending */

static bool wait_gone(int holder, int wait_ms)
{
	struct pollfd gone = { .fd = holder, .events = POLLIN };
	int r;

	do {
		r = poll(&gone, 1, wait_ms);
	} while (r < 0 && errno == EINTR);
	return r > 0;
}

static void release(struct sandbox *sandbox)
{
	/* A holder that was killed has not tidied up. */
	if (sandbox->fds[SANDBOX_JOBS] >= 0 && wait_gone(sandbox->fds[SANDBOX_HOLDER], 0))
		cgroup_remove_left(sandbox->fds[SANDBOX_JOBS]);
	close_fd(&sandbox->connection);
	for (int i = 0; i < SANDBOX_FDS; i++)
		close_fd(&sandbox->fds[i]);
	sandbox->frozen = false;
	reap_holders();
}

int sandbox_kill(struct sandbox *sandbox, struct err *err)
{
	int holder = sandbox->fds[SANDBOX_HOLDER];

	/* It tidies up when it is asked; when it is not able to, its death does as well. */
	sandbox_tell(sandbox, HOLDER_END);
	if (!wait_gone(holder, ASKED_MS)) {
		if (pidfd_send_signal(holder, SIGKILL, NULL, 0) < 0 && errno != ESRCH)
			return err_errno(err, "kill the sandbox");
		if (!wait_gone(holder, SANDBOX_KILL_MS)) {
			err_set(err, ERR_BUSY, "the processes of the sandbox do not end");
			return err_hint(
				err, "one of them waits for a device or a remote file system");
		}
	}
	release(sandbox);
	return 0;
}

void sandbox_detach(struct sandbox *sandbox)
{
	if (sandbox->connection >= 0)
		sandbox_tell(sandbox, HOLDER_BYE);
	release(sandbox);
}
