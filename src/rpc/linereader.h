/*
 * linereader - splits a stream of bytes into lines of limited length.
 *
 * A line ends with LF or CR LF.  The last line may end without them.  Blank lines are left out.  A
 * line that is longer than the maximum is reported once, and its bytes are dropped.  So the memory
 * in use stays below the maximum plus one piece of input.
 */
#pragma once
#include "core/buf.h"
#include "core/err.h"

struct linereader {
	struct buf in;
	size_t max;      /* maximum length of a line, without its end */
	size_t start;    /* offset of the next line in the buffer */
	size_t searched; /* the bytes before this offset do not contain the end of the next line */
	bool skipping;   /* the rest of a line that is too long is being dropped */
	bool ended;
};

enum linereader_found {
	LINEREADER_MORE, /* the next line has not arrived completely */
	LINEREADER_LINE,
	LINEREADER_LONG, /* a line is longer than the maximum */
	LINEREADER_END,  /* there will be no more lines */
};

void linereader_init(struct linereader *reader, size_t max);
void linereader_release(struct linereader *reader);
/*
 * Read a piece from fd.  Returns 1, or 0 at the end of the stream, or a negative error.  A read
 * that is interrupted or would block also returns 1.
 */
int linereader_fill(struct linereader *reader, int fd, struct err *err);
/* Add bytes that the caller has read. */
void linereader_add(struct linereader *reader, struct str bytes);
/* Declare that the stream has ended. */
void linereader_end(struct linereader *reader);
/*
 * Get the next line.  The line is valid until bytes are added.  The byte behind the line is the CR
 * or LF that ends the line, or NUL at the end of the stream.
 */
enum linereader_found linereader_next(struct linereader *reader, struct str *line);
