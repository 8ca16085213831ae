#include "rpc/agentproc.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "core/at.h"
#include "core/child.h"
#include "core/own.h"
#include "core/spawn.h"
#include "core/when.h"
#include "query/tool.h"

#define PIECE 4096
#define PIECES_AT_ONCE 64
#define DYING_MS 2000 /* time for a process to end after SIGTERM, and again after SIGKILL */

/* --- starting the process --- */

static int start_path(
	struct agentproc *proc, const char *path, const char *const *argv, struct err *err)
{
	int in[2] = { -1, -1 }, out[2] = { -1, -1 }, said[2] = { -1, -1 };
	/* stdin is a socket, so that a write to an ended process gives an error and no signal. */
	bool made = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) == 0 &&
		    pipe2(out, O_CLOEXEC) == 0 && pipe2(said, O_CLOEXEC) == 0;
	owned_fd int in_end = in[1], out_end = out[1], said_end = said[1];
	struct spawned spawned;

	proc->in = in[0];
	proc->out = out[0];
	proc->said_fd = said[0];
	if (!made || fcntl(proc->in, F_SETFL, O_NONBLOCK) < 0 ||
		fcntl(proc->out, F_SETFL, O_NONBLOCK) < 0 ||
		fcntl(proc->said_fd, F_SETFL, O_NONBLOCK) < 0)
		return err_errno(err, "make the streams of a process");
	int r = spawn_start(path, argv, (int[]){ in_end, out_end, said_end }, &spawned, err);
	if (r < 0)
		return r;
	proc->pid = spawned.pid;
	proc->end = spawned.end;
	return 0;
}

int agentproc_start(struct agentproc *proc, const char *const *argv, struct err *err)
{
	owned(buf_release) struct buf path = BUF_INIT;
	int r = 0;

	*proc = (struct agentproc){
		.argv = argv,
		.end = -1,
		.in = -1,
		.out = -1,
		.said_fd = -1,
		.said = { .max = AGENTPROC_SAID_MAX + PIECE },
	};
	if (*argv[0] == '/')
		buf_adds(&path, argv[0]);
	else
		r = tool_find(argv[0], &path, err);
	return r < 0 ? r : start_path(proc, path.data, argv, err);
}

/* --- streams of the process --- */

ssize_t agentproc_write(struct agentproc *proc, struct str bytes)
{
	ssize_t n;

	if (proc->in < 0)
		return -1;
	do
		n = send(proc->in, bytes.ptr, bytes.len, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 && errno == EAGAIN ? 0 : n;
}

void agentproc_close_input(struct agentproc *proc)
{
	close_fd(&proc->in);
}

void agentproc_listen(struct agentproc *proc)
{
	char piece[PIECE];
	ssize_t n;

	/* A process that writes without end must not keep the caller in this loop. */
	for (int i = 0; i < PIECES_AT_ONCE && proc->said_fd >= 0; i++) {
		n = read(proc->said_fd, piece, sizeof(piece));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			close_fd(&proc->said_fd);
			return;
		}
		buf_add(&proc->said, piece, (size_t)n);
		if (proc->said.len <= AGENTPROC_SAID_MAX)
			continue;
		size_t surplus = proc->said.len - AGENTPROC_SAID_MAX;
		memmove(proc->said.data, proc->said.data + surplus, AGENTPROC_SAID_MAX);
		buf_truncate(&proc->said, AGENTPROC_SAID_MAX);
	}
}

/* --- end of the process --- */

/*
 * Wait up to 'ms' milliseconds for the end of the process.  Meanwhile read its stderr, since a full
 * pipe would stop the process.  Returns true if the process has ended.
 */
static bool await_end(struct agentproc *proc, int ms)
{
	int64_t deadline = when_monotonic() + ms * WHEN_MS;

	for (;;) {
		struct pollfd polls[] = {
			{ .fd = proc->end, .events = POLLIN },
			{ .fd = proc->said_fd, .events = POLLIN },
		};
		int left = when_ms_left(deadline);

		if (poll(polls, 2, left) > 0)
			agentproc_listen(proc);
		if (polls[0].revents)
			return true;
		if (!left)
			return false;
	}
}

void agentproc_finish(struct agentproc *proc, int grace_ms)
{
	bool ended;

	if (!proc->pid)
		return;
	close_fd(&proc->in);
	close_fd(&proc->out);
	ended = await_end(proc, grace_ms);
	if (!ended) {
		/*
		 * No other group can have this number, since the process has not been waited for
		 * yet.
		 */
		(void)kill(-proc->pid, SIGTERM);
		ended = await_end(proc, DYING_MS);
	}
	(void)kill(-proc->pid, SIGKILL);
	if (!ended)
		(void)await_end(proc, DYING_MS);
	proc->status = child_wait(proc->pid);
	proc->pid = 0;
	close_fd(&proc->end);
	agentproc_listen(proc);
	close_fd(&proc->said_fd);
}

void agentproc_release(struct agentproc *proc)
{
	/* An object that was never started has no descriptors. */
	if (!proc->argv)
		return;
	agentproc_finish(proc, 0);
	close_fd(&proc->in);
	close_fd(&proc->out);
	close_fd(&proc->said_fd);
	close_fd(&proc->end);
	buf_release(&proc->said);
	proc->argv = NULL;
}

/* --- messages --- */

/* Returns the text on stderr without blanks and line breaks at both ends. */
static struct str said_text(const struct agentproc *proc)
{
	return str_trim((struct str){ proc->said.data ?: "", proc->said.len }, STR(" \r\n\t"));
}

const char *agentproc_tail(const struct agentproc *proc, size_t max, struct arena *arena)
{
	struct str said = said_text(proc);

	if (said.len > max)
		said = str_skip(said, said.len - max);
	/*
	 * A line break becomes "; ", and indentation is dropped.  A control character becomes '?',
	 * so that no escape sequence reaches a terminal.
	 */
	owned(buf_release) struct buf out = BUF_INIT;
	for (size_t i = 0; i < said.len; i++) {
		unsigned char c = (unsigned char)said.ptr[i];
		bool blank = c == ' ' || c == '\t';

		if (c == '\n')
			buf_adds(&out, "; ");
		else if (c != '\r' && !(blank && i && strchr(" \t\n", said.ptr[i - 1])))
			buf_addc(&out, blank ? ' ' : c < ' ' || c == 127 ? '?' : (char)c);
	}
	return arena_str(arena, (struct str){ out.data ?: "", out.len }).ptr;
}

void agentproc_members(struct json *out, const struct agentproc *proc)
{
	json_str(out, "stderr", said_text(proc));
	size_t n = 0;
	while (proc->argv[n])
		n++;
	json_texts(out, "argv", proc->argv, n);
}
