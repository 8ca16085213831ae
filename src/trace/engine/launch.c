#include "trace/engine/launch.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/buf.h"
#include "core/child.h"
#include "core/limits.h"
#include "core/own.h"
#include "core/procfile.h"
#include "sandbox/launcher.h"
#include "sandbox/program.h"
#include "sandbox/restriction.h"
#include "trace/engine/filter.h"

#define GO 'g'
#define STAT_MAX 4096

/*
 * The message that the child sends after its preparation.  If 'prepare' has returned a descriptor,
 * the message carries this descriptor.  If the execution fails, the child sends a second message.
 */
struct answer {
	int result;
};

union control {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(int))];
};

/* --- the child --- */

static void send_answer(int channel, int result)
{
	struct answer answer = { result };
	struct iovec part = { &answer, sizeof(answer) };
	union control control = { 0 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (result > 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control.room);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &result, sizeof(int));
	}
	(void)sendmsg(channel, &message, MSG_NOSIGNAL);
}

/*
 * Execute the command.  In a sandbox, the child executes the launcher, and the launcher executes
 * the command.  Returns the errno of a failure.
 */
static int execute_command(int launcher, int channel, char *const *argv)
{
	char path[PATH_MAX];
	bool found = launcher >= 0 && program_find(argv[0], path);
	char *const paths[] = { path, NULL };
	const struct launcher_command command = {
		.paths = paths,
		.argv = (const char *const *)argv,
		.env = (const char *const *)environ,
		.socket = channel,
		.size = sizeof(struct answer),
	};
	struct err err = { 0 };

	if (launcher >= 0) {
		if (!found || launcher_execute(launcher, &command, &err) >= 0)
			return ENOENT;
		return err.errno_value;
	}
	execvp(argv[0], argv);
	/*
	 * execvp(3) fails with EACCES if a directory in PATH may not be searched.  Shells report
	 * ENOENT in this case, and so does this function.
	 */
	return errno == EACCES && !program_find(argv[0], path) ? ENOENT : errno;
}

static void run_child(const struct launch *launch, int channel, char *const *argv,
	launch_prepare *prepare, void *arg)
{
	struct err err = { 0 };
	int launcher = -1;
	char go;

	if (read(channel, &go, 1) != 1 || go != GO)
		_exit(LAUNCH_CANNOT_RUN);
	limits_restore();
	(void)sigaction(SIGCHLD, &launch->child_before, NULL);
	(void)sigaction(SIGPIPE, &launch->pipe_before, NULL);
	if (launch->inside && (launcher = launcher_open(&err)) < 0)
		_exit(LAUNCH_CANNOT_RUN);
	int result = restriction_finish(&err) < 0 ? -(err.errno_value ?: EPERM) : prepare(arg);
	send_answer(channel, result);
	if (result < 0)
		_exit(LAUNCH_CANNOT_RUN);
	if (result > 0)
		(void)close(result);
	int error = execute_command(launcher, channel, argv);
	send_answer(channel, -error);
	_exit(error == ENOENT ? LAUNCH_NOT_FOUND : LAUNCH_CANNOT_RUN);
}

/* --- the parent --- */

void launch_init(struct launch *launch)
{
	const struct sigaction wait_for_us = { .sa_handler = SIG_DFL };
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	*launch = (struct launch){ .channel = -1 };
	(void)sigaction(SIGCHLD, &wait_for_us, &launch->child_before);
	(void)sigaction(SIGPIPE, &ignore, &launch->pipe_before);
}

static int try_filter(void *arg, struct err *err)
{
	errno = -filter_try(*(const uint32_t *)arg);
	return errno ? err_errno(err, "filter system calls") : 0;
}

int launch_try(uint32_t action, struct err *err)
{
	return child_do(try_filter, &action, err);
}

int launch_start(struct launch *launch, char *const *argv, launch_prepare *prepare, void *arg,
	struct err *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(err, "make a socket pair");
	owned_fd int mine = pair[0], theirs = pair[1];
	/*
	 * child_fork makes the kernel kill the child when this process ends.  Without a tracer all
	 * calls of the child would fail.
	 */
	launch->pid = child_fork();
	if (launch->pid < 0)
		return err_errno(err, "fork");
	if (!launch->pid) {
		close_fd(&mine);
		run_child(launch, theirs, argv, prepare, arg);
	}
	launch->channel = take_fd(&mine);
	return 0;
}

int launch_go(struct launch *launch, struct err *err)
{
	char go = GO;

	if (send(launch->channel, &go, 1, MSG_NOSIGNAL) == 1)
		return 0;
	return err_errno(err, "the command could not be started");
}

int launch_answer(struct launch *launch, struct err *err)
{
	struct answer answer;
	struct iovec part = { &answer, sizeof(answer) };
	union control control;
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.room),
	};
	int fd;

	ssize_t n = recvmsg(launch->channel, &message, MSG_CMSG_CLOEXEC);
	if (n == 0)
		return err_set(err, ERR_SYSTEM, "the command was killed before it started");
	if (n != (ssize_t)sizeof(answer))
		return err_errno(err, "the command could not be started");
	if (answer.result < 0)
		return err_number(
			err, -answer.result, "the command could not be prepared for tracing");
	if (!answer.result)
		return 0;
	const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	if (!header || header->cmsg_type != SCM_RIGHTS)
		return err_set(err, ERR_SYSTEM, "the command's listener did not arrive");
	memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}

void launch_abandon(struct launch *launch)
{
	close_fd(&launch->channel);
	(void)child_wait(launch->pid);
}

int launch_failure(struct launch *launch)
{
	struct answer answer;

	/*
	 * a successful execution closes the socket; the child sends a second message only after a
	 * failure
	 */
	while (recv(launch->channel, &answer, sizeof(answer), MSG_DONTWAIT) == sizeof(answer))
		if (answer.result < 0)
			return -answer.result;
	return 0;
}

void launch_release(struct launch *launch)
{
	close_fd(&launch->channel);
}

/* --- signals --- */

/* process that signals are forwarded to; 0: the command has ended */
static volatile sig_atomic_t forward_to;
static volatile sig_atomic_t told_to_end;

static void forward_signal(int sig, siginfo_t *info, void *context)
{
	int saved = errno;

	if (!forward_to)
		told_to_end |= sig == SIGINT || sig == SIGTERM || sig == SIGHUP || sig == SIGQUIT;
	/*
	 * A signal from a terminal is not forwarded, since the terminal has sent it to the whole
	 * process group, which includes the command.
	 */
	else if (info->si_code <= 0 && info->si_pid != forward_to)
		(void)kill(forward_to, sig);
	errno = saved;
}

void launch_forward_end(void)
{
	forward_to = 0;
}

bool launch_is_told_to_end(void)
{
	return told_to_end;
}

/* Signals that would end strata, or that another process may want to send to the command. */
static const int signals[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM,
	SIGVTALRM, SIGPROF, SIGXCPU, SIGIO, SIGWINCH };

void launch_forward_signals(const struct launch *launch, bool in_group)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	const struct sigaction forward = { .sa_sigaction = forward_signal,
		.sa_flags = SA_SIGINFO | SA_RESTART };

	if (!in_group)
		forward_to = launch->pid;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		(void)sigaction(signals[i], in_group ? &ignore : &forward, NULL);
}

/*
 * Whether the child is still stopped.  The shell may have continued the child together with this
 * process.
 */
static bool is_stopped(pid_t pid)
{
	owned(buf_release) struct buf text = BUF_INIT;
	struct err err = { 0 };
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (procfile_read(path, STAT_MAX, &text, &err) < 0)
		return false;
	const char *state = strrchr(text.data, ')');
	return state && (!strncmp(state, ") T", 3) || !strncmp(state, ") t", 3));
}

void launch_stop_along(const struct launch *launch, int sig)
{
	/*
	 * Do not stop if the child got a SIGSTOP.  The sender will continue the command, but not
	 * this process.
	 */
	if ((sig != SIGTSTP && sig != SIGTTIN && sig != SIGTTOU) || !is_stopped(launch->pid))
		return;
	(void)raise(SIGSTOP);
	(void)kill(launch->pid, SIGCONT);
}
