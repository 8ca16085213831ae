/*
 * buf - a growable byte buffer with a maximum size.
 *
 * The content may be any bytes.  A NUL always follows the content, so that the content can be
 * printed.  When memory runs out, the program ends.  When the content would get longer than max,
 * the buffer becomes "overflowed" instead: it ignores further appends, and the caller checks the
 * member 'overflowed' once, at the end.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "core/str.h"

struct buf {
	char *data;
	size_t len, cap, max;
	bool overflowed;
};

#define BUF_MAX ((size_t)256 << 20)
#define BUF_INIT                                                                                   \
	{                                                                                          \
		.max = BUF_MAX                                                                     \
	}

void buf_release(struct buf *buf);
void buf_clear(struct buf *buf); /* empty the buffer, but keep its memory */
void buf_add(struct buf *buf, const void *bytes, size_t len);
void buf_adds(struct buf *buf, const char *text);
/* Append a name to a path.  A '/' is put between them only if both have text. */
void buf_add_name(struct buf *buf, struct str name);
void buf_addf(struct buf *buf, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_addv(struct buf *buf, const char *fmt, __builtin_va_list ap)
	__attribute__((format(printf, 2, 0)));

/*
 * Make room for 'extra' bytes behind the content, and return where they begin.  The length of the
 * content stays as it is.  Returns NULL if the content could get longer than max.
 */
char *buf_reserve(struct buf *buf, size_t extra);
/* Shorten the content to len bytes.  Shorter content stays as it is. */
void buf_truncate(struct buf *buf, size_t len);

/* Inline, since the JSON writer calls this function for every colon and comma. */
static inline void buf_addc(struct buf *buf, char c)
{
	char *room = buf->len + 1 < buf->cap && buf->len + 1 < buf->max && !buf->overflowed
			     ? buf->data + buf->len
			     : buf_reserve(buf, 1);

	if (!room)
		return;
	room[0] = c;
	room[1] = '\0';
	buf->len++;
}
