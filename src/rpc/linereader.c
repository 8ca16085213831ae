#include "rpc/linereader.h"

#include <string.h>
#include <unistd.h>

#define PIECE 65536 /* bytes of one read */

void linereader_init(struct linereader *reader, size_t max)
{
	*reader = (struct linereader){ .in = BUF_INIT, .max = max };
}

void linereader_release(struct linereader *reader)
{
	buf_release(&reader->in);
}

/* Drop the lines that the caller has got. */
static void drop_used(struct linereader *reader)
{
	struct buf *in = &reader->in;
	size_t left = in->len - reader->start;

	if (!reader->start)
		return;
	memmove(in->data, in->data + reader->start, left);
	reader->searched -= reader->start;
	reader->start = 0;
	buf_truncate(in, left);
	/* After a long line, do not keep its memory for the rest of the session. */
	if (!left && in->cap > 2 * (size_t)PIECE)
		linereader_release(reader);
}

int linereader_fill(struct linereader *reader, int fd, struct err *err)
{
	drop_used(reader);
	char *room = buf_reserve(&reader->in, PIECE);
	ssize_t n = room ? read(fd, room, PIECE) : 0;

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 1;
	if (n < 0)
		return err_errno(err, "cannot read requests");
	reader->in.len += (size_t)n;
	if (room)
		room[n] = '\0';
	if (!n)
		linereader_end(reader);
	return n > 0;
}

void linereader_add(struct linereader *reader, struct str bytes)
{
	drop_used(reader);
	buf_add(&reader->in, bytes.ptr, bytes.len);
}

void linereader_end(struct linereader *reader)
{
	reader->ended = true;
}

static bool is_blank(struct str line)
{
	for (size_t i = 0; i < line.len; i++)
		if (!memchr(" \t\r", line.ptr[i], 3))
			return false;
	return true;
}

/*
 * Take the next line out of the buffer, whatever its length.  Returns false if its end has not
 * arrived.
 */
static bool take_line(struct linereader *reader, struct str *line)
{
	struct buf *in = &reader->in;
	const char *start = in->data + reader->start;
	size_t left = in->len - reader->searched;
	const char *end = left ? memchr(in->data + reader->searched, '\n', left) : NULL;

	if (!end && !(reader->ended && in->len > reader->start)) {
		reader->searched = in->len;
		return false;
	}
	*line = (struct str){ start, end ? (size_t)(end - start) : in->len - reader->start };
	reader->start += line->len + (end != NULL);
	reader->searched = reader->start;
	if (line->len && line->ptr[line->len - 1] == '\r')
		line->len--;
	return true;
}

enum linereader_found linereader_next(struct linereader *reader, struct str *line)
{
	while (take_line(reader, line)) {
		bool rest = reader->skipping;

		reader->skipping = false;
		if (rest || is_blank(*line))
			continue;
		return line->len > reader->max ? LINEREADER_LONG : LINEREADER_LINE;
	}
	bool first = !reader->skipping;
	/* One more byte is allowed, since the line may end with CR LF. */
	if (first && reader->in.len - reader->start <= reader->max + 1)
		return reader->ended ? LINEREADER_END : LINEREADER_MORE;
	reader->skipping = true;
	reader->start = reader->searched = reader->in.len;
	return first ? LINEREADER_LONG : reader->ended ? LINEREADER_END : LINEREADER_MORE;
}
