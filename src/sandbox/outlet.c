#include "sandbox/outlet.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"

static int open_stream(struct outlet_stream *stream, int to, int *end, struct err *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0)
		return err_errno(err, "make a pipe for the command's output");
	stream->from = ends[0];
	stream->to = to;
	*end = ends[1];
	return 0;
}

struct outlet *outlet_new(int64_t max, bool tty, int ends[OUTLET_STREAMS], struct err *err)
{
	static const int ours[OUTLET_STREAMS] = { STDOUT_FILENO, STDERR_FILENO };
	struct outlet *outlet = mem_zalloc(sizeof(*outlet));
	int r = 0;

	outlet->left = max;
	for (int i = 0; i < OUTLET_STREAMS; i++)
		ends[i] = outlet->streams[i].from = -1;
	for (int i = 0; i < OUTLET_STREAMS && r == 0; i++)
		if (!tty || !isatty(ours[i]))
			r = open_stream(&outlet->streams[i], ours[i], &ends[i], err);
	if (r == 0)
		return outlet;
	for (int i = 0; i < OUTLET_STREAMS; i++)
		close_fd(&ends[i]);
	outlet_free(outlet);
	return NULL;
}

void outlet_free(struct outlet *outlet)
{
	for (int i = 0; outlet && i < OUTLET_STREAMS; i++)
		close_fd(&outlet->streams[i].from);
	free(outlet);
}

size_t outlet_count(struct outlet *outlet, size_t n)
{
	if (!outlet)
		return n;
	if (n > (uint64_t)outlet->left) {
		outlet->over = true;
		n = (size_t)outlet->left;
	}
	outlet->left -= (int64_t)n;
	return n;
}

void outlet_poll(const struct outlet *outlet, struct pollfd fds[OUTLET_FDS])
{
	for (int i = 0; i < OUTLET_STREAMS; i++) {
		const struct outlet_stream *stream = outlet ? &outlet->streams[i] : NULL;
		bool full = stream && stream->start < stream->end;

		fds[2 * i] = (struct pollfd){ stream && !full ? stream->from : -1, POLLIN, 0 };
		fds[2 * i + 1] = (struct pollfd){ full ? stream->to : -1, POLLOUT, 0 };
	}
}

/*
 * Print a part of the output.  A pipe that poll reports as writable takes PIPE_BUF bytes without
 * blocking.
 */
static void print_part(struct outlet_stream *stream)
{
	size_t n = stream->end - stream->start;
	ssize_t done =
		write(stream->to, stream->bytes + stream->start, n < PIPE_BUF ? n : PIPE_BUF);

	if (done > 0)
		stream->start += (size_t)done;
	else if (done < 0 && errno != EINTR && errno != EAGAIN)
		/* the reader of the output is gone: let the command notice this, too */
		close_fd(&stream->from);
	if (stream->from < 0)
		stream->start = stream->end;
}

static bool fill(struct outlet *outlet, struct outlet_stream *stream)
{
	ssize_t n = read(stream->from, stream->bytes, sizeof(stream->bytes));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		close_fd(&stream->from);
		return false;
	}
	stream->start = 0;
	stream->end = outlet_count(outlet, (size_t)n);
	return true;
}

void outlet_carry(struct outlet *outlet, const struct pollfd fds[OUTLET_FDS])
{
	for (int i = 0; outlet && i < OUTLET_STREAMS; i++) {
		struct outlet_stream *stream = &outlet->streams[i];

		if (fds[2 * i].revents && stream->from >= 0)
			(void)fill(outlet, stream);
		else if (fds[2 * i + 1].revents && stream->start < stream->end)
			print_part(stream);
	}
}

void outlet_drain(struct outlet *outlet)
{
	for (int i = 0; outlet && i < OUTLET_STREAMS; i++) {
		struct outlet_stream *stream = &outlet->streams[i];

		do {
			(void)at_write_all(stream->to, stream->bytes + stream->start,
				stream->end - stream->start);
			stream->start = stream->end;
		} while (!outlet->over && stream->from >= 0 && fill(outlet, stream));
	}
}
