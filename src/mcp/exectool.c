#include "mcp/exectool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "core/at.h"
#include "core/child.h"
#include "core/own.h"
#include "ops/requests.h"
#include "ops/table.h"
#include "owner/rpc.h"
#include "owner/task.h"

#define PIECE 65536
#define HALF (EXECTOOL_KEPT / 2)
#define LATE_MAX ((size_t)1 << 20) /* maximum number of bytes that a pipe can hold */

/* -------------------------------------------------------------------- the output */

static void keep_end(struct exectool_stream *stream, struct str bytes)
{
	struct buf *tail = &stream->tail;

	buf_add(tail, bytes.ptr, bytes.len);
	if (tail->len <= 2 * HALF)
		return;
	size_t surplus = tail->len - HALF;
	memmove(tail->data, tail->data + surplus, HALF);
	buf_truncate(tail, HALF);
	stream->left_out += surplus;
}

void exectool_take(struct exectool_output *output, bool is_stderr, struct str bytes)
{
	struct exectool_stream *stream = is_stderr ? &output->err : &output->out;
	size_t room = HALF - stream->head.len;
	size_t first = bytes.len < room ? bytes.len : room;

	/* Set the limits here, so that a zeroed struct exectool_output is valid and empty. */
	stream->head.max = stream->tail.max = BUF_MAX;
	output->bytes += bytes.len;
	buf_add(&stream->head, bytes.ptr, first);
	keep_end(stream, (struct str){ bytes.ptr + first, bytes.len - first });
}

void exectool_tell(struct request *request, const struct exectool_output *output)
{
	request_progress(request, (double)output->bytes, 0, "the command runs");
}

void exectool_release(struct exectool_output *output)
{
	buf_release(&output->out.head);
	buf_release(&output->out.tail);
	buf_release(&output->err.head);
	buf_release(&output->err.tail);
}

/* Write the kept bytes of a stream.  Returns the number of bytes that were left out. */
static uint64_t add_stream(struct json *out, const char *key, const struct exectool_stream *stream)
{
	owned(buf_release) struct buf text = BUF_INIT;
	size_t surplus = stream->tail.len > HALF ? stream->tail.len - HALF : 0;
	uint64_t left_out = stream->left_out + surplus;

	buf_add(&text, stream->head.data, stream->head.len);
	if (left_out)
		buf_addf(&text, "\n[%llu bytes are left out here]\n", (unsigned long long)left_out);
	if (stream->tail.len)
		buf_add(&text, stream->tail.data + surplus, stream->tail.len - surplus);
	json_str(out, key, (struct str){ text.data ?: "", text.len });
	return left_out;
}

void exectool_add(struct json *out, const struct exectool_output *output)
{
	uint64_t left_out = add_stream(out, "stdout", &output->out);

	left_out += add_stream(out, "stderr", &output->err);
	json_uint(out, "output_left_out", left_out);
}

/* Add what a policy has denied to a command, and what would allow it. */
static void add_denials(struct buf *text, const struct jsonread *denials)
{
	static const char *const names[] = { "what", "subject", "remedy" };
	static const char *const before[] = { "[denied: ", " ", "; " };

	for (size_t i = 0; i < jsonread_count(denials); i++) {
		for (size_t k = 0; k < 3; k++) {
			struct str word = STR("");

			(void)jsonread_get_str(jsonread_item(denials, i), names[k], &word);
			if (word.len)
				buf_addf(text, "%s%.*s", before[k], (int)word.len, word.ptr);
		}
		buf_adds(text, "]\n");
	}
}

static void add_status(struct buf *notes, const struct jsonread *result)
{
	const struct jsonread *node = jsonread_member(result, "node");
	int64_t status = 0, sig = 0;
	bool timed_out = false;
	struct str id;

	(void)jsonread_get_int(result, "exit_status", &status);
	buf_addf(notes, "[exit status %lld", (long long)status);
	if (jsonread_get_int(result, "signal", &sig) == JSONREAD_FOUND)
		buf_addf(notes, ", ended by signal %lld", (long long)sig);
	if (node && jsonread_get_str(node, "id", &id) == JSONREAD_FOUND)
		buf_addf(notes, ", node %.*s", (int)id.len, id.ptr);
	else
		buf_adds(notes, ", no node was made");
	if (jsonread_get_bool(result, "timed_out", &timed_out) == JSONREAD_FOUND && timed_out)
		buf_adds(notes, ", the time limit has passed");
	buf_adds(notes, "]\n");
}

void exectool_describe(struct buf *text, struct buf *notes, const struct jsonread *result)
{
	static const char *const streams[] = { "stdout", "stderr" };
	static const char *const remarks[] = { "error", "uncommitted", "untraced" };
	const struct jsonread *denials = jsonread_member(result, "denials");
	const struct jsonread *unenforced = jsonread_member(result, "unenforced");
	struct str output, remark;

	for (size_t i = 0; i < 2; i++) {
		if (jsonread_get_str(result, streams[i], &output) != JSONREAD_FOUND || !output.len)
			continue;
		if (i == 1)
			buf_adds(text, "[stderr]\n");
		buf_add(text, output.ptr, output.len);
		if (output.ptr[output.len - 1] != '\n')
			buf_addc(text, '\n');
	}
	add_status(notes, result);
	for (size_t i = 0; i < sizeof(remarks) / sizeof(remarks[0]); i++)
		if (jsonread_get_str(result, remarks[i], &remark) == JSONREAD_FOUND)
			buf_addf(notes, "[%s: %.*s]\n", remarks[i], (int)remark.len, remark.ptr);
	for (size_t i = 0; unenforced && i < jsonread_count(unenforced); i++) {
		struct str what = jsonread_str(jsonread_item(unenforced, i));

		buf_addf(notes, "[not enforced: %.*s]\n", (int)what.len, what.ptr);
	}
	if (denials)
		add_denials(notes, denials);
}

/* ------------------------------------------------------------------- the child */

static _Noreturn void run_and_exit(struct request *request, const struct op_context *ctx,
	const struct exec_request *exec, int reply, const int out[2])
{
	owned(json_release) struct json answer = JSON_INIT;
	const int std[3] = { -1, out[0], out[1] };
	/* The operation sends progress and notices over the pipe of the request. */
	int *const kept[] = { &reply, &request->out };
	struct err err = { 0 };

	/* Block SIGUSR1, so that a signal for the command stays pending until the command runs. */
	task_block_signal(SIGUSR1);
	if (task_set_fds(std, kept, 2, &err) < 0)
		_exit(1);
	answer.out.max = REQUEST_RESULT_MAX;
	rpc_begin(&answer, NULL);
	if (op_answer(&op_exec, ctx, exec, &answer, &err) < 0) {
		json_release(&answer);
		answer = (struct json)JSON_INIT;
		rpc_error(&answer, NULL, errcode_rpc(&err), &err, NULL, 0);
	} else {
		rpc_end(&answer);
	}
	struct str text = json_written(&answer);
	_exit(at_write_all(reply, text.ptr, text.len) < 0 ? 1 : 0);
}

/* ----------------------------------------------------------------- this process */

enum { FD_REPLY, FD_OUT, FD_ERR, FD_SIGNAL, FDS };

struct running {
	struct request *request;
	pid_t pid;
	struct exectool_output *output;
	struct buf *answer;
	size_t late; /* bytes of output that were taken after the answer */
	struct pollfd fds[FDS];
};

/* Read a piece from a pipe.  At the end of the stream, close the pipe. */
static void take_piece(struct running *running, int which)
{
	char bytes[PIECE];
	ssize_t n = read(running->fds[which].fd, bytes, sizeof(bytes));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		close_fd(&running->fds[which].fd);
		return;
	}
	if (which == FD_REPLY)
		buf_add(running->answer, bytes, (size_t)n);
	else
		exectool_take(running->output, which == FD_ERR, (struct str){ bytes, (size_t)n });
	if (running->fds[FD_REPLY].fd < 0)
		running->late += (size_t)n;
	exectool_tell(running->request, running->output);
}

static void kill_command(const struct running *running)
{
	(void)sigqueue(running->pid, SIGUSR1, (union sigval){ .sival_int = SIGKILL });
}

/*
 * Wait until the child has answered, and read the output that is in the pipes by then.  This output
 * includes everything that the command itself has written.  Do not wait for the end of the pipes,
 * because a program that the command has left running may hold them open.  Such a program may also
 * print without end, so no more bytes are taken than the pipes can have held.
 */
static int wait_for_answer(struct running *running, struct err *err)
{
	struct pollfd *fds = running->fds;
	bool ended = false, more = true;

	while (!ended || more) {
		ended = fds[FD_REPLY].fd < 0;
		int n = poll(fds, FDS, ended ? 0 : EXECTOOL_QUIET_MS);
		if (n < 0) {
			if (errno != EINTR)
				return err_errno(err, "wait for the command");
			continue;
		}
		if (n == 0 && !ended)
			exectool_tell(running->request, running->output);
		if (fds[FD_SIGNAL].revents) {
			struct signalfd_siginfo info;

			(void)!read(fds[FD_SIGNAL].fd, &info, sizeof(info));
			kill_command(running);
		}
		more = (fds[FD_OUT].revents | fds[FD_ERR].revents) & POLLIN &&
		       running->late < 2 * LATE_MAX;
		for (int i = FD_REPLY; i <= FD_ERR; i++)
			if (fds[i].fd >= 0 && fds[i].revents)
				take_piece(running, i);
	}
	return running->answer->len
		       ? 0
		       : err_set(err, ERR_SYSTEM, "the process of the command was killed");
}

/* Returns a descriptor that becomes readable when this process gets SIGTERM. */
static int watch_end_signal(struct err *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return err_errno(err, "signalfd");
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	return fd;
}

int exectool_run(struct request *request, const struct op_context *ctx,
	const struct exec_request *exec, struct exectool_output *output, struct buf *answer,
	struct err *err)
{
	int pipes[3][2] = { { -1, -1 }, { -1, -1 }, { -1, -1 } };
	struct running running = { .request = request, .output = output, .answer = answer };
	int r = 0;

	for (int i = 0; r >= 0 && i < 3; i++)
		r = pipe2(pipes[i], O_CLOEXEC) < 0 ? err_errno(err, "make a pipe") : 0;
	running.pid = r < 0 ? -1 : child_fork();
	if (running.pid == 0)
		run_and_exit(
			request, ctx, exec, pipes[0][1], (const int[]){ pipes[1][1], pipes[2][1] });
	if (r >= 0 && running.pid < 0)
		r = err_errno(err, "start a process");
	for (int i = 0; i < 3; i++) {
		close_fd(&pipes[i][1]);
		running.fds[i] = (struct pollfd){ .fd = pipes[i][0], .events = POLLIN };
	}
	owned_fd int signals = r < 0 ? -1 : watch_end_signal(err);
	running.fds[FD_SIGNAL] = (struct pollfd){ .fd = signals, .events = POLLIN };
	if (r >= 0)
		r = signals < 0 ? signals : wait_for_answer(&running, err);
	for (int i = 0; i < 3; i++)
		close_fd(&running.fds[i].fd);
	if (running.pid > 0)
		(void)child_wait(running.pid);
	return r;
}
