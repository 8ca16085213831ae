#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "core/at.h"
#include "core/own.h"
#include "core/procfile.h"
#include "core/when.h"
#include "sandbox/cgroup.h"
#include "sandbox/message.h"
#include "sandbox/process.h"
#include "sandbox/sandbox_priv.h"

#define STAT_MAX 4096
#define ENDS_IT "'strata checkout HEAD' ends it and all that runs in the workspace"
#define ASKED_MS 1000  /* time for a holder to end after HOLDER_END */
#define ENDING_MS 1000 /* time for a holder to end after it has killed a command */
/* time without an answer until this process checks whether the holder is stopped */
#define STOPPED_MS 250
#define BUSY_MS 5000 /* longest wait until other processes have finished freezing or starting */
#define BUSY_STEP_MS 1
#define BURY_US 20000 /* longest wait for a holder that may be ending */
#define BURY_STEP_US 100
#define ZOMBIES_MAX 256
#define CHILDREN_MAX 65536

/* ----------------------------------------------------------------- messages */

/*
 * Returns the letter for the state of a process in /proc.  Returns 0 if there is no such process,
 * or if /proc belongs to another PID namespace.
 */
static char state_of(pid_t pid)
{
	owned(buf_release) struct buf stat = BUF_INIT;
	struct err gone = { 0 };
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (pid <= 0 || !process_numbers_hold() || procfile_read(path, STAT_MAX, &stat, &gone) < 0)
		return 0;
	/* The state comes after the name, which may contain any characters. */
	const char *name_end = strrchr(stat.data, ')');
	return name_end && name_end[1] == ' ' ? name_end[2] : 0;
}

/* Whether a process is stopped, for example by SIGSTOP or a debugger. */
static bool is_stopped(pid_t pid)
{
	char state = state_of(pid);

	return state == 'T' || state == 't';
}

static int mute_error(const struct sandbox *sandbox, struct err *err)
{
	*err = sandbox->mute;
	return -(int)err->code;
}

/*
 * Set err, and make the sandbox mute for good.  Otherwise a late answer would be taken for the
 * answer to a later request.
 */
static int become_mute(struct sandbox *sandbox, struct err *err)
{
	const int pid = (int)sandbox->pid;

	if (pid <= 0) {
		err_set(err, ERR_SYSTEM, "the process 'strata-holder' does not answer");
		err_hint(err, "end that process, then try again");
	} else if (is_stopped(pid)) {
		err_set(err, ERR_SYSTEM,
			"process %d (strata-holder) does not answer: it is stopped", pid);
		err_hint(err, "'kill -CONT %d' lets it go on; " ENDS_IT, pid);
	} else {
		err_set(err, ERR_SYSTEM, "process %d (strata-holder) does not answer", pid);
		err_hint(err, ENDS_IT);
	}
	sandbox->mute = *err;
	return -(int)err->code;
}

/* Set err for a request that has failed.  r is the result of message_send or message_receive. */
static int request_failed(struct sandbox *sandbox, int r, struct err *err)
{
	if (r == 0)
		return err_set(err, ERR_NOT_FOUND, "the sandbox has ended");
	if (r == -ETIMEDOUT || r == -EAGAIN)
		return become_mute(sandbox, err);
	/*
	 * For an ordinary user, the kernel limits the number of descriptors that were sent but not
	 * yet received.
	 */
	if (r == -ETOOMANYREFS)
		return err_set(err, ERR_BUSY, "too many descriptors are on their way");
	if (r == -EPROTO) {
		err_set(err, ERR_UNSUPPORTED,
			"the sandbox was started by another version of strata");
		return err_hint(err, ENDS_IT);
	}
	return err_number(err, -r, "the sandbox's holder does not answer");
}

/* Wait until there is a message to receive, or until the holder is found to be stopped. */
static int await_reply(const struct sandbox *sandbox, int wait_ms)
{
	struct pollfd ready = { .fd = sandbox->connection, .events = POLLIN };
	int r = 0;

	for (int waited = 0; waited < wait_ms && r == 0; waited += STOPPED_MS) {
		r = poll(&ready, 1, wait_ms - waited < STOPPED_MS ? wait_ms - waited : STOPPED_MS);
		if (r < 0 && errno != EINTR)
			return -errno;
		if (r < 0)
			r = 0;
		else if (r == 0 && is_stopped(sandbox->pid))
			break;
	}
	return r ? 0 : -ETIMEDOUT;
}

/* Set err to the error of a reply.  The texts in the reply need not end with a zero byte. */
static int take_error(const struct holder_reply *reply, struct err *err)
{
	*err = reply->err;
	err->text[sizeof(err->text) - 1] = '\0';
	err->hint[sizeof(err->hint) - 1] = '\0';
	return -(int)err->code;
}

static int receive_reply(struct sandbox *sandbox, struct holder_reply *reply, int *fds, size_t n,
	int wait_ms, struct err *err)
{
	int r = await_reply(sandbox, wait_ms);

	if (r == 0)
		r = message_receive(sandbox->connection, reply, sizeof(*reply), fds, n, -1);
	if (r != 1)
		return request_failed(sandbox, r, err);
	return reply->result >= 0 ? reply->result : take_error(reply, err);
}

static int send_request_once(struct sandbox *sandbox, const struct holder_request *request,
	const int *fds, size_t n, struct err *err)
{
	struct holder_reply reply;
	int r = message_send(sandbox->connection, request, sizeof(*request), fds, n);

	/*
	 * Receive a reply even if sending failed, since a holder that has ended may have sent the
	 * reason before its end.
	 */
	return r < 0 && r != -EPIPE && r != -ECONNRESET
		       ? request_failed(sandbox, r, err)
		       : receive_reply(sandbox, &reply, NULL, 0, SANDBOX_ANSWER_MS, err);
}

static int send_request(struct sandbox *sandbox, const struct holder_request *request,
	const int *fds, size_t n, struct err *err)
{
	if (sandbox->mute.code)
		return mute_error(sandbox, err);
	/* A busy holder answers at once, so counting the pauses is enough to measure the time. */
	for (int waited = 0;; waited += BUSY_STEP_MS) {
		struct err busy = { 0 };
		int r = send_request_once(sandbox, request, fds, n, &busy);

		if (r < 0 && (r != -ERR_BUSY || waited >= BUSY_MS))
			*err = busy;
		if (r != -ERR_BUSY || waited >= BUSY_MS)
			return r;
		when_pause(BUSY_STEP_MS * WHEN_MS);
	}
}

int sandbox_ask(
	struct sandbox *sandbox, enum holder_request_type type, int32_t number, struct err *err)
{
	const struct holder_request request = { .type = type, .number = number };

	return send_request(sandbox, &request, NULL, 0, err);
}

int sandbox_ask_to_run(
	struct sandbox *sandbox, const int given[INSIDE_FDS], bool own_domain, struct err *err)
{
	struct holder_request request = {
		.type = HOLDER_RUN,
		.self = (int32_t)getpid(),
		.parent = (int32_t)getppid(),
		.own_domain = own_domain,
	};
	int fds[INSIDE_FDS];
	size_t n;

	request.slots = message_pack(given, INSIDE_FDS, fds, &n);
	return send_request(sandbox, &request, fds, n, err);
}

void sandbox_tell(struct sandbox *sandbox, enum holder_request_type type, int32_t number)
{
	const struct holder_request request = { .type = type, .number = number };

	(void)message_send(sandbox->connection, &request, sizeof(request), NULL, 0);
}

/* ----------------------------------------------------------------- starting */

static bool is_complete(const int fds[SANDBOX_FDS])
{
	for (int i = 0; i < SANDBOX_FDS; i++)
		if (fds[i] < 0 && i != SANDBOX_NET && i != SANDBOX_JOBS)
			return false;
	return true;
}

static int receive_greeting(struct sandbox *out, int wait_ms, struct err *err)
{
	int came[SANDBOX_FDS];
	struct holder_reply hello;
	int r = receive_reply(out, &hello, came, SANDBOX_FDS, wait_ms, err);

	if (r < 0)
		return r;
	int holder = out->fds[SANDBOX_HOLDER];
	message_unpack(came, hello.slots, out->fds, SANDBOX_FDS);
	bool complete = is_complete(out->fds);
	/* Keep a pidfd of the holder that this process has opened itself. */
	if (holder >= 0) {
		close_fd(&out->fds[SANDBOX_HOLDER]);
		out->fds[SANDBOX_HOLDER] = holder;
	}
	if (!complete || r != HOLDER_VERSION)
		return request_failed(out, -EPROTO, err);
	hello.degraded[sizeof(hello.degraded) - 1] = '\0';
	memcpy(out->degraded, hello.degraded, sizeof(out->degraded));
	out->host_root = hello.host_root;
	out->shifted = hello.shifted;
	out->scoped = hello.scoped;
	return 0;
}

/*
 * Reap all ended holders that this process has started, including those from which it has detached.
 */
static void reap_holders(void)
{
	while (waitpid(-1, NULL, __WCLONE | WNOHANG) > 0)
		;
}

/* Whether process 1 reaps children that have ended.  In many containers it does not. */
static bool does_init_reap(void)
{
	static const char *const fields[] = { "\nSigBlk:", "\nSigIgn:", "\nSigCgt:" };
	owned(buf_release) struct buf status = BUF_INIT;
	struct err unknown = { 0 };

	if (procfile_read("/proc/1/status", STAT_MAX, &status, &unknown) < 0)
		return true;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		const char *field = strstr(status.data, fields[i]);

		if (field && strtoull(field + strlen(fields[i]), NULL, 16) >> (SIGCHLD - 1) & 1)
			return true;
	}
	return false;
}

/* Count the processes in a list of numbers.  If 'ended' is set, count only the zombies. */
static int count_pids(const char *list, bool ended)
{
	int found = 0;
	char *end;

	for (const char *at = list; at && *at; at = end) {
		long pid = strtol(at, &end, 10);

		if (end == at)
			break;
		found += !ended || state_of((pid_t)pid) == 'Z';
	}
	return found;
}

/* Whether process 1 has many zombies and does not reap them. */
static bool are_zombies_piling_up(void)
{
	owned(buf_release) struct buf children = BUF_INIT;
	struct err ignored = { 0 };

	return process_numbers_hold() &&
	       procfile_read("/proc/1/task/1/children", CHILDREN_MAX, &children, &ignored) >= 0 &&
	       count_pids(children.data, false) >= ZOMBIES_MAX && !does_init_reap() &&
	       count_pids(children.data, true) >= ZOMBIES_MAX;
}

/*
 * If a holder ends after this process, process 1 has to reap the holder.  But the end of a holder
 * takes as long as a whole command that does nothing.  So wait for the holder only if process 1
 * lets zombies accumulate.
 */
void sandbox_bury(void)
{
	pid_t pid = waitpid(-1, NULL, __WCLONE | WNOHANG);

	if (pid < 0 || !are_zombies_piling_up())
		return;
	for (int us = 0; us < BURY_US && pid >= 0; us += BURY_STEP_US) {
		if (pid == 0)
			when_pause(BURY_STEP_US * INT64_C(1000));
		pid = waitpid(-1, NULL, __WCLONE | WNOHANG);
	}
}

/* Clone a holder.  It has no exit signal, so it is only reaped by waits with __WCLONE or __WALL. */
static pid_t clone_holder(bool no_net)
{
	struct clone_args args = { .flags = CLONE_NEWPID | (no_net ? CLONE_NEWNET : 0) };

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
	sandbox.pid = pid;
	if (pid < 0) {
		if (errno == ENOSPC)
			(void)sandbox_user_refused(errno, "make a PID namespace", err);
		else
			err_errno(err, "make a PID namespace");
		close_fd(&sandbox.connection);
		return -(int)err->code;
	}
	if (receive_greeting(&sandbox, SANDBOX_ANSWER_MS, err) < 0) {
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, __WALL);
		sandbox_detach(&sandbox);
		return err_context(err, "start the sandbox");
	}
	*out = sandbox;
	return 0;
}

/* ---------------------------------------------------------------- attaching */

/* Connect to run/NAME.holder.  Returns 1, or 0 if no process listens there. */
static int connect_at(
	int fd, int run, const char *name, int wait_ms, struct sandbox *sandbox, struct err *err)
{
	struct err silent = { 0 };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const struct timeval wait = { wait_ms / 1000, wait_ms % 1000 * 1000L };
	size_t room = sizeof(address.sun_path);

	if ((size_t)snprintf(
		    address.sun_path, room, "/proc/self/fd/%d/%s" HOLDER_SUFFIX, run, name) >= room)
		return err_set(err, ERR_LIMIT, "the name '%.40s...' is too long", name);
	/*
	 * Set a time limit.  The queue of a stopped holder may be full, and connect would then wait
	 * for ever.
	 */
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return 1;
	if (errno == ENOENT || errno == ECONNREFUSED)
		return 0;
	if (errno != EAGAIN)
		return err_errno(err, "reach the sandbox of '%s'", name);
	(void)become_mute(sandbox, &silent);
	return 1;
}

/*
 * Check that the holder belongs to the user of this process.  Only then may this process enter the
 * namespaces that the holder gives to it.
 */
static int check_peer(int fd, const char *name, pid_t *pid, struct err *err)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return err_errno(err, "see whose sandbox '%s' is", name);
	*pid = peer.pid;
	if (peer.uid == geteuid())
		return 0;
	err_set(err, ERR_DENIED, "the sandbox of '%s' belongs to user %u", name, peer.uid);
	return err_hint(err, "run strata as that user");
}

/*
 * Open a pidfd of the holder before its greeting has come.  Returns false if the holder has ended.
 */
static bool open_pidfd(struct sandbox *sandbox)
{
	struct pollfd hung_up = { .fd = sandbox->connection };

	if (sandbox->pid > 0)
		sandbox->fds[SANDBOX_HOLDER] = pidfd_open(sandbox->pid, 0);
	/*
	 * If the other end of the connection is still open, the holder lives.  So its number was
	 * not given to another process meanwhile.
	 */
	return poll(&hung_up, 1, 0) == 0;
}

/*
 * Receive the greeting.  Returns 1, or 0 if the holder has ended.  If no greeting comes, the
 * sandbox becomes mute, and the result is 1 as well.
 */
static int await_greeting(struct sandbox *sandbox, const char *name, int wait_ms)
{
	struct err failure = { 0 };
	int r = open_pidfd(sandbox) ? receive_greeting(sandbox, wait_ms, &failure) : -ERR_NOT_FOUND;

	/* The holder was already ending when this process connected. */
	if (r == -ERR_NOT_FOUND) {
		sandbox_detach(sandbox);
		return 0;
	}
	if (r < 0) {
		sandbox->mute = failure;
		(void)err_context(&sandbox->mute, "the sandbox of '%s'", name);
	}
	return 1;
}

int sandbox_reach(int run, const char *name, int wait_ms, struct sandbox *out, struct err *err)
{
	owned_fd int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sandbox sandbox = SANDBOX_INIT;

	if (fd < 0)
		return err_errno(err, "make a socket");
	int r = connect_at(fd, run, name, wait_ms, &sandbox, err);
	if (r <= 0)
		return r;
	if (!sandbox.mute.code && check_peer(fd, name, &sandbox.pid, err) < 0)
		return -(int)err->code;
	sandbox.connection = take_fd(&fd);
	if (!sandbox.mute.code)
		r = await_greeting(&sandbox, name, wait_ms);
	if (r > 0)
		*out = sandbox;
	return r;
}

int sandbox_attach(int run, const char *name, struct sandbox *out, struct err *err)
{
	struct sandbox sandbox;
	int r = sandbox_reach(run, name, SANDBOX_ANSWER_MS, &sandbox, err);

	if (r <= 0)
		return r;
	if (sandbox.mute.code) {
		r = mute_error(&sandbox, err);
		sandbox_detach(&sandbox);
		return r;
	}
	*out = sandbox;
	return 1;
}

bool sandbox_is_there(int run, const char *name)
{
	char file[NAME_MAX + 1];
	struct statx stx;

	snprintf(file, sizeof(file), "%s" HOLDER_SUFFIX, name);
	return at_name_stat(run, file, &stx) == 0;
}

int sandbox_join(const struct sandbox *sandbox, struct err *err)
{
	int outer = sandbox->fds[SANDBOX_OUTER];

	if (!process_is_in(outer, "user") && setns(outer, CLONE_NEWUSER) < 0)
		return err_errno(err, "join the sandbox's user namespace");
	return 0;
}

int sandbox_open_root(const struct sandbox *sandbox, struct err *err)
{
	if (sandbox->mute.code)
		return mute_error(sandbox, err);
	int fd = at_open(sandbox->fds[SANDBOX_ROOT], ".", O_RDONLY | O_DIRECTORY, err);
	return fd < 0 ? err_context(err, "open the root of the sandbox") : fd;
}

/* ---------------------------------------------------------------- requests */

int sandbox_freeze(struct sandbox *sandbox, struct err *err)
{
	if (sandbox_ask(sandbox, HOLDER_FREEZE, 0, err) < 0)
		return err_context(err, "freeze");
	sandbox->frozen = true;
	return 0;
}

int sandbox_thaw(struct sandbox *sandbox, struct err *err)
{
	if (sandbox_ask(sandbox, HOLDER_THAW, 0, err) < 0)
		return err_context(err, "thaw");
	sandbox->frozen = false;
	return 0;
}

int sandbox_count(struct sandbox *sandbox, struct err *err)
{
	int r = sandbox_ask(sandbox, HOLDER_COUNT, 0, err);

	return r < 0 ? err_context(err, "count processes") : r;
}

int sandbox_command_of(struct sandbox *sandbox, pid_t strata)
{
	struct err ignored = { 0 };
	int r = sandbox_ask(sandbox, HOLDER_WHOSE, (int32_t)strata, &ignored);

	return r < 0 ? 0 : r;
}

/* -------------------------------------------------------------------- ending */

static bool wait_gone(int holder, int wait_ms)
{
	return message_wait(holder, wait_ms) == 0;
}

int sandbox_explain(struct sandbox *sandbox, struct err *err)
{
	struct holder_reply last;

	if (!wait_gone(sandbox->fds[SANDBOX_HOLDER], ENDING_MS))
		return -(int)err->code;
	if (message_receive(sandbox->connection, &last, sizeof(last), NULL, 0, 0) == 1 &&
		last.result < 0)
		return take_error(&last, err);
	return err_set(err, ERR_NOT_FOUND, "the sandbox has ended");
}

static void release_sandbox(struct sandbox *sandbox)
{
	/* A holder that was killed has not removed its cgroup. */
	if (sandbox->fds[SANDBOX_JOBS] >= 0 && wait_gone(sandbox->fds[SANDBOX_HOLDER], 0))
		cgroup_remove_left(sandbox->fds[SANDBOX_JOBS]);
	close_fd(&sandbox->connection);
	for (int i = 0; i < SANDBOX_FDS; i++)
		close_fd(&sandbox->fds[i]);
	sandbox->frozen = false;
	sandbox->mute.code = 0;
	reap_holders();
}

int sandbox_kill(struct sandbox *sandbox, const char *by, struct err *err)
{
	struct holder_request end = { .type = HOLDER_END };
	int holder = sandbox->fds[SANDBOX_HOLDER];
	bool gone = false;

	if (sandbox->mute.code && holder < 0)
		return mute_error(sandbox, err);
	/*
	 * Ask the holder to end.  The holder then removes its cgroup.  A holder that does not end
	 * gets SIGKILL.
	 */
	snprintf(end.by, sizeof(end.by), "%s", by);
	if (!sandbox->mute.code) {
		(void)message_send(sandbox->connection, &end, sizeof(end), NULL, 0);
		gone = wait_gone(holder, ASKED_MS);
	}
	if (!gone && pidfd_send_signal(holder, SIGKILL, NULL, 0) < 0 && errno != ESRCH)
		return err_errno(err, "kill the sandbox");
	if (!gone && !wait_gone(holder, SANDBOX_KILL_MS)) {
		err_set(err, ERR_BUSY, "the processes of the sandbox do not end");
		return err_hint(err, "one of them waits for a device or a remote file system");
	}
	release_sandbox(sandbox);
	return 0;
}

/*
 * Close the descriptors of the namespaces in this process.  The process that closes the mount
 * namespace last has to wait while a file system is synced.  The holder should be that process.
 */
static void close_namespaces(struct sandbox *sandbox)
{
	for (int i = 0; i < SANDBOX_FDS; i++)
		if (i != SANDBOX_HOLDER && i != SANDBOX_JOBS)
			close_fd(&sandbox->fds[i]);
}

/*
 * Wait only until the holder's socket closes.  The socket closes before the kernel unmounts the
 * sandbox's mounts.  No process has to be waited for, since none runs in the sandbox.
 */
int sandbox_dismiss(struct sandbox *sandbox)
{
	struct holder_request dismiss = { .type = HOLDER_DISMISS };
	struct holder_reply refusal;
	struct err ignored = { 0 };

	if (sandbox->mute.code || sandbox_count(sandbox, &ignored) != 0)
		return 0;
	close_namespaces(sandbox);
	if (message_send(sandbox->connection, &dismiss, sizeof(dismiss), NULL, 0) < 0 ||
		message_receive(sandbox->connection, &refusal, sizeof(refusal), NULL, 0,
			SANDBOX_ANSWER_MS) != 0) {
		sandbox_detach(sandbox);
		return -1;
	}
	release_sandbox(sandbox);
	return 1;
}

bool sandbox_is_over(int run, const char *name)
{
	char file[NAME_MAX + 1];
	struct statx stx;

	snprintf(file, sizeof(file), "%s" HOLDER_OVER_SUFFIX, name);
	int r = at_name_stat(run, file, &stx);
	return r == -ENOENT || (r == 0 && stx.stx_size);
}

void sandbox_note_over(int run, const char *name)
{
	char file[NAME_MAX + 1];

	snprintf(file, sizeof(file), "%s" HOLDER_OVER_SUFFIX, name);
	owned_fd int fd = at_name_open(run, file, O_WRONLY);
	if (fd >= 0)
		(void)at_write_all(fd, HOLDER_IS_OVER, strlen(HOLDER_IS_OVER));
}

/* Close the namespaces first, because the holder may end as soon as it reads HOLDER_BYE. */
void sandbox_detach(struct sandbox *sandbox)
{
	close_namespaces(sandbox);
	if (sandbox->connection >= 0)
		sandbox_tell(sandbox, HOLDER_BYE, 0);
	release_sandbox(sandbox);
}
