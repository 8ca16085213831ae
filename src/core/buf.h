/*
 * buf - a growable byte buffer with a hard ceiling.
 *
 * data is always NUL-terminated past len, so it can be printed, but may hold any bytes.  Running
 * out of memory aborts; growing past max does not: the buffer becomes "overflowed", further appends
 * are ignored, and the one check the caller makes at the end reports it.
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
void buf_clear(struct buf *buf); /* empty, keeping the memory */
void buf_add(struct buf *buf, const void *bytes, size_t len);
void buf_adds(struct buf *buf, const char *text);
/* Append a name to a path, with a '/' between unless one of both is empty. */
void buf_add_name(struct buf *buf, struct str name);
void buf_addf(struct buf *buf, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_addv(struct buf *buf, const char *fmt, __builtin_va_list ap)
	__attribute__((format(printf, 2, 0)));

/* Make room for extra bytes at data + len without changing len; NULL when over max. */
char *buf_reserve(struct buf *buf, size_t extra);
/* Cut back to len; NUL-terminates. */
void buf_truncate(struct buf *buf, size_t len);

/* Inline, since JSON calls it for every colon and comma. */
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
