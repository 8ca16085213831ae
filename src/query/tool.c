#include "query/tool.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/at.h"
#include "core/child.h"
#include "core/own.h"
#include "core/spawn.h"
#include "core/when.h"

#define PIECE_MAX 65536
#define LOOK_MS 100   /* time between two checks whether the call was cancelled */
#define DYING_MS 2000 /* time for a killed program to end */
#define SHOWN 240     /* bytes of stderr in a message */
/*
 * These directories are searched after PATH.  An ssh session without a login shell often has no
 * sbin directory in PATH, but zfs is in such a directory.
 */
#define SYSTEM_PATH "/usr/local/sbin:/usr/sbin:/sbin"

/* -------------------------------------------------------- finding a program */

static bool is_program(const char *path)
{
	struct err ignored = { 0 };
	struct statx stx;
	owned_fd int fd = at_open_given(path, O_PATH, 0, &ignored);

	return fd >= 0 && at_fd_stat(fd, &stx) == 0 && S_ISREG(stx.stx_mode) && stx.stx_mode & 0111;
}

/*
 * Find a program in a list of directories.  Relative directories are skipped, since the working
 * directory must not decide which program is run.
 */
static bool find_in(const char *dirs, const char *name, struct buf *path)
{
	while (dirs && *dirs) {
		size_t len = strcspn(dirs, ":");

		buf_clear(path);
		buf_add(path, dirs, len);
		buf_add_name(path, str_of(name));
		if (*dirs == '/' && is_program(path->data))
			return true;
		dirs += len + (dirs[len] == ':');
	}
	return false;
}

int tool_find(const char *name, struct buf *path, struct err *err)
{
	if (find_in(getenv("PATH"), name, path) || find_in(SYSTEM_PATH, name, path))
		return 0;
	return err_set(err, ERR_UNSUPPORTED, "there is no program '%s' on PATH", name);
}

/* ------------------------------------------------------- starting a program */

struct running {
	pid_t pid;
	int end;  /* pidfd, readable when the program has ended */
	int out;  /* this process's end of the program's stdout; -1: it is closed */
	int said; /* this process's end of the program's stderr */
};

static void release_running(struct running *run)
{
	close_fd(&run->end);
	close_fd(&run->out);
	close_fd(&run->said);
}

static int start(
	const struct tool_call *call, const char *path, struct running *run, struct err *err)
{
	int out[2] = { -1, -1 }, said[2] = { -1, -1 };
	bool made = pipe2(out, O_CLOEXEC) == 0 && pipe2(said, O_CLOEXEC) == 0;
	owned_fd int out_end = out[1], said_end = said[1];
	struct spawned spawned;

	run->out = out[0];
	run->said = said[0];
	if (!made)
		return err_errno(err, "make a pipe");
	owned_fd int null = at_open_given("/dev/null", O_RDONLY, 0, err);
	if (null < 0)
		return null;
	int r = spawn_start(path, call->argv, (int[]){ null, out_end, said_end }, &spawned, err);
	if (r < 0)
		return r;
	run->pid = spawned.pid;
	run->end = spawned.end;
	return 0;
}

/* ------------------------------------------------------- reading the output */

static int check_time(const struct tool_call *call, int64_t deadline, struct err *err)
{
	const struct timed_limit *limit = call->limit;

	if (limit && limit->cancelled && limit->cancelled(limit->arg))
		return err_set_number(err, ECANCELED, "cancelled");
	if (when_monotonic() < deadline)
		return 0;
	return err_set_number(err, ETIMEDOUT, "'%s' did not end in time", call->argv[0]);
}

static int refuse_long_line(const struct tool_call *call, struct err *err)
{
	return err_set(err, ERR_CORRUPT, "'%s' printed a line of more than %zu bytes",
		call->argv[0], TOOL_LINE_MAX);
}

/*
 * Pass on the whole lines of a piece.  'output' has the beginning of a line whose end has not come
 * yet.
 */
static int pass_lines(struct tool_call *call, struct str piece, struct err *err)
{
	int r = 0;

	while (r == 0 && str_has(piece, '\n')) {
		struct str line = str_take_until(&piece, '\n');

		if (call->output.len) {
			buf_add(&call->output, line.ptr, line.len);
			line = (struct str){ call->output.data, call->output.len };
		}
		if (line.len > TOOL_LINE_MAX)
			return refuse_long_line(call, err);
		r = call->visit(call->arg, line, err);
		buf_clear(&call->output);
	}
	if (r == 0)
		buf_add(&call->output, piece.ptr, piece.len);
	return r == 0 && call->output.len > TOOL_LINE_MAX ? refuse_long_line(call, err) : r;
}

static int take_output(struct tool_call *call, struct str piece, struct err *err)
{
	if (call->visit)
		return pass_lines(call, piece, err);
	buf_add(&call->output, piece.ptr, piece.len);
	return call->output.overflowed
		       ? err_set(err, ERR_CORRUPT, "'%s' printed more than %zu bytes",
				 call->argv[0], call->output.max)
		       : 0;
}

static void keep_end(struct buf *said, struct str piece)
{
	buf_add(said, piece.ptr, piece.len);
	if (said->len <= TOOL_STDERR_MAX)
		return;
	memmove(said->data, said->data + said->len - TOOL_STDERR_MAX, TOOL_STDERR_MAX);
	buf_truncate(said, TOOL_STDERR_MAX);
}

/*
 * Read a piece from a pipe.  At the end of the input, close the pipe.  Returns the length of the
 * piece.
 */
static size_t read_piece(int *fd, char *piece)
{
	ssize_t n;

	do
		n = read(*fd, piece, PIECE_MAX);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		close_fd(fd);
	return n < 0 ? 0 : (size_t)n;
}

/*
 * Read both pipes until they are closed and the program has ended.  A process that the program has
 * left behind may keep the pipes open.  So after the program's end, only the bytes that are already
 * in the pipes are read.  Returns 0, or 1 if 'visit' has ended the program, or an error.
 */
static int follow(struct tool_call *call, struct running *run, int64_t deadline, struct err *err)
{
	char piece[PIECE_MAX];
	bool ended = false;
	int r = 0;

	while (r == 0) {
		struct pollfd polls[] = {
			{ .fd = run->out, .events = POLLIN },
			{ .fd = run->said, .events = POLLIN },
			{ .fd = ended ? -1 : run->end, .events = POLLIN },
		};
		int left = when_ms_left(deadline);

		if (poll(polls, 3, ended ? 0 : left < LOOK_MS ? left : LOOK_MS) == 0 && ended)
			return 0;
		if (polls[1].revents) {
			size_t n = read_piece(&run->said, piece);

			keep_end(&call->said, (struct str){ piece, n });
		}
		if (polls[0].revents) {
			size_t n = read_piece(&run->out, piece);

			r = take_output(call, (struct str){ piece, n }, err);
		}
		ended |= polls[2].revents != 0;
		if (r == 0)
			r = check_time(call, deadline, err);
	}
	return r;
}

/* --------------------------------------------------------- ending a program */

/*
 * Kill the rest of the process group, and get the wait status of the program.  Returns false if the
 * program does not end in time.  For example, zfs stays in the kernel while its pool is suspended.
 */
static bool end_group(const struct running *run, int *status)
{
	struct pollfd end = { .fd = run->end, .events = POLLIN };

	/* The program was not reaped yet, so no other group can have its number. */
	(void)kill(-run->pid, SIGKILL);
	int64_t deadline = when_monotonic() + DYING_MS * WHEN_MS;
	while (poll(&end, 1, when_ms_left(deadline)) <= 0)
		if (when_monotonic() >= deadline)
			return false;
	*status = child_wait(run->pid);
	return true;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

/*
 * Append the first line of stderr to a message, and the indented lines that continue it.  Control
 * characters are replaced, since the message is shown on terminals.
 */
static void add_said(struct buf *out, const struct buf *said)
{
	const char *at = said->data ?: "", *end = at + said->len;
	size_t start = out->len;

	while (at < end && is_blank(*at))
		at++;
	buf_adds(out, at < end ? ": " : "");
	for (; at < end && out->len - start < SHOWN; at++) {
		unsigned char c = (unsigned char)*at;

		if (c == '\n' && (at + 1 == end || !is_blank(at[1]) || at[1] == '\n'))
			break;
		if (!is_blank(*at))
			buf_addc(out, c < ' ' || c == 127 ? '?' : *at);
		else if (out->data[out->len - 1] != ' ')
			buf_addc(out, ' ');
	}
}

static int judge(const struct tool_call *call, int status, struct err *err)
{
	owned(buf_release) struct buf said = BUF_INIT;

	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	add_said(&said, &call->said);
	if (WIFSIGNALED(status))
		return err_set(err, ERR_SYSTEM, "'%s' was killed by signal %d%s", call->argv[0],
			WTERMSIG(status), said.data ?: "");
	return err_set(err, ERR_SYSTEM, "'%s' failed with exit status %d%s", call->argv[0],
		WEXITSTATUS(status), said.data ?: "");
}

static int run_program(struct tool_call *call, struct err *err)
{
	owned(buf_release) struct buf path = BUF_INIT;
	owned(release_running) struct running run = { .end = -1, .out = -1, .said = -1 };
	int64_t deadline = when_monotonic() + call->time_max;
	int status = 0;
	int r = tool_find(call->argv[0], &path, err);

	if (!call->output.max)
		call->output.max = TOOL_LINE_MAX + 2 * PIECE_MAX;
	call->said.max = TOOL_STDERR_MAX + 2 * PIECE_MAX;
	if (call->limit && call->limit->deadline < deadline)
		deadline = call->limit->deadline;
	if (r >= 0)
		r = start(call, path.data, &run, err);
	if (r < 0)
		return r;
	r = follow(call, &run, deadline, err);
	bool ended = end_group(&run, &status);
	if (!ended && r < 0)
		return err_context(err, "'%s' could not be killed", call->argv[0]);
	if (r == 0 && call->visit && call->output.len)
		r = call->visit(
			call->arg, (struct str){ call->output.data, call->output.len }, err);
	return r == 0 && ended ? judge(call, status, err) : r < 0 ? r : 0;
}

int tool_run(struct tool_call *call, struct err *err)
{
	/* A process that ignores SIGCHLD is not told how its children ended. */
	static const struct sigaction wait_for_us = { .sa_handler = SIG_DFL };
	struct sigaction before;

	(void)sigaction(SIGCHLD, NULL, &before);
	if (before.sa_handler == SIG_IGN)
		(void)sigaction(SIGCHLD, &wait_for_us, NULL);
	int r = run_program(call, err);
	if (before.sa_handler == SIG_IGN)
		(void)sigaction(SIGCHLD, &before, NULL);
	return r;
}

void tool_release(struct tool_call *call)
{
	buf_release(&call->output);
	buf_release(&call->said);
}

void tool_members(struct json *out, const struct tool_call *call)
{
	struct str said = { call->said.data ?: "", call->said.len };

	while (said.len && strchr(" \n\t", said.ptr[said.len - 1]))
		said.len--;
	json_str(out, "stderr", said);
	size_t n = 0;
	while (call->argv[n])
		n++;
	json_texts(out, "argv", call->argv, n);
}
