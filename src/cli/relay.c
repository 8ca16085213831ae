#include "cli/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/output.h"
#include "core/at.h"
#include "core/child.h"
#include "core/json.h"
#include "core/jsonread.h"
#include "core/own.h"
#include "owner/client.h"
#include "owner/owner.h"
#include "owner/relayedop.h"
#include "owner/rpc.h"
#include "sandbox/message.h"

#define READ_SIZE 4096
#define REQUEST_ID 1 /* id of the only request on the connection */

extern char **environ;

static int write_operation(const struct relay *relay, struct err *err)
{
	mode_t mask = umask(022);
	struct relayedop operation = {
		.root = relay->root,
		.workspace = relay->workspace,
		.json = relay->json,
		.jsonl = relay->jsonl,
		.umask = mask,
		.env = { .list = (const char **)environ },
	};

	(void)umask(mask);
	while (environ[operation.env.count])
		operation.env.count++;
	return relayedop_write(&operation, relay->op->params, relay->request, err);
}

/* Send the request.  The descriptors are attached to the first byte of the request. */
static int send_request(int fd, struct str text, const int fds[CLIENT_FDS_MAX], struct err *err)
{
	int r = message_send(fd, text.ptr, 1, fds, CLIENT_FDS_MAX);

	for (size_t sent = 1; r >= 0 && sent < text.len;) {
		ssize_t n = send(fd, text.ptr + sent, text.len - sent, MSG_NOSIGNAL);

		r = n < 0 && errno != EINTR ? -errno : 0;
		sent += n < 0 ? 0 : (size_t)n;
	}
	return r < 0 ? err_number(err, -r, "ask the owner") : 0;
}

static void pass_signals_on(int signals, int fd, sigset_t *passed)
{
	struct signalfd_siginfo info;

	while (read(signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		owned(json_release) struct json out = JSON_INIT;

		sigaddset(passed, (int)info.ssi_signo);
		rpc_notify(&out, "relay.signal");
		json_int(&out, "signal", info.ssi_signo);
		rpc_end(&out);
		struct str text = json_written(&out);
		(void)!send(fd, text.ptr, text.len, MSG_NOSIGNAL);
	}
}

/* Wait for the answer.  Signals that arrive in the meantime are passed to the owner's task. */
static int wait_for_answer(
	int fd, int signals, sigset_t *passed, struct buf *answer, struct err *err)
{
	struct pollfd ready[2] = {
		{ .fd = fd, .events = POLLIN },
		{ .fd = signals, .events = POLLIN },
	};

	while (!answer->len || answer->data[answer->len - 1] != '\n') {
		char *room = buf_reserve(answer, READ_SIZE);

		if (poll(ready, 2, -1) < 0)
			continue;
		if (ready[1].revents)
			pass_signals_on(signals, fd, passed);
		if (!ready[0].revents)
			continue;
		ssize_t n = room ? read(fd, room, READ_SIZE) : 0;
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			err_set(err, ERR_SYSTEM, "the owner of the workspace has ended");
			return err_hint(err, "try again: it is not needed for this");
		}
		answer->len += (size_t)n;
	}
	return 0;
}

/*
 * Report the signal that killed the task.  Nothing is reported if this process itself passed the
 * signal to the task.
 */
static void say_killed(const struct jsonread *result, const sigset_t *passed)
{
	struct err err = { 0 };
	int64_t sig = 0;

	if (jsonread_get_int(result, "signal", &sig) != JSONREAD_FOUND || sig <= 0 || sig >= NSIG ||
		sigismember(passed, (int)sig))
		return;
	err_set(&err, ERR_SYSTEM, "the process that did this for us was killed by signal %d",
		(int)sig);
	output_error(&err);
}

static int read_answer(const struct buf *text, const sigset_t *passed, int *status, struct err *err)
{
	owned(jsonread_freep) struct jsonread *answer =
		jsonread_new((struct str){ text->data, text->len }, err);
	const struct jsonread *result = answer ? jsonread_member(answer, "result") : NULL;
	const struct jsonread *error = answer ? jsonread_member(answer, "error") : NULL;
	struct str message = STR("no answer");
	int64_t number;

	if (!answer)
		return -(int)err->code;
	if (result && jsonread_get_int(result, "status", &number) == JSONREAD_FOUND) {
		*status = (int)number;
		say_killed(result, passed);
		return 1;
	}
	if (error)
		(void)jsonread_get_str(error, "message", &message);
	return err_set(
		err, ERR_SYSTEM, "the owner of the workspace: %.*s", (int)message.len, message.ptr);
}

static int converse(int fd, struct str line, int operation, int *status, struct err *err)
{
	owned(buf_release) struct buf answer = BUF_INIT;
	owned_fd int cwd = at_open_given(".", O_PATH | O_DIRECTORY, 0, err);
	sigset_t set, before, passed;

	if (cwd < 0)
		return cwd;
	sigemptyset(&passed);
	child_end_signals(&set);
	sigaddset(&set, SIGWINCH);
	owned_fd int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0)
		return err_errno(err, "signalfd");
	(void)sigprocmask(SIG_BLOCK, &set, &before);
	const int fds[CLIENT_FDS_MAX] = { STDIN_FILENO, STDOUT_FILENO,
		STDERR_FILENO, [CLIENT_FD_CWD] = cwd, [CLIENT_FD_OPERATION] = operation };
	int r = send_request(fd, line, fds, err);
	if (r >= 0)
		r = wait_for_answer(fd, signals, &passed, &answer, err);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	return r < 0 ? r : read_answer(&answer, &passed, status, err);
}

int relay_run(const struct relay *relay, int *status, struct err *err)
{
	owned(json_release) struct json line = JSON_INIT;
	struct err why = { 0 };
	owned_fd int fd = owner_dial(relay->root, relay->workspace, &why);

	/*
	 * If there is no owner, or if this user may not connect to the owner, this process runs the
	 * operation itself.  Locks prevent a conflict with the owner.
	 */
	if (fd < 0)
		return 0;
	owned_fd int operation = write_operation(relay, err);
	if (operation < 0)
		return operation;
	rpc_ask(&line, REQUEST_ID, "relay");
	json_text(&line, "operation", relay->op->name);
	rpc_end(&line);
	return converse(fd, json_written(&line), operation, status, err);
}
