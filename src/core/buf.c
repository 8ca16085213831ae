#include "core/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"

void buf_release(struct buf *buf)
{
	free(buf->data);
	*buf = (struct buf){ .max = buf->max };
}

void buf_clear(struct buf *buf)
{
	buf->len = 0;
	buf->overflowed = false;
	if (buf->data)
		buf->data[0] = '\0';
}

char *buf_reserve(struct buf *buf, size_t extra)
{
	size_t need, cap;

	if (buf->overflowed || buf->len >= buf->max || extra >= buf->max - buf->len) {
		buf->overflowed = true;
		return NULL;
	}
	need = buf->len + extra + 1;
	if (need > buf->cap) {
		cap = buf->cap ? buf->cap : 64;
		while (cap < need)
			cap *= 2;
		buf->data = mem_realloc(buf->data, cap);
		buf->cap = cap;
		buf->data[buf->len] = '\0';
	}
	return buf->data + buf->len;
}

void buf_add(struct buf *buf, const void *bytes, size_t len)
{
	char *room = buf_reserve(buf, len);

	if (!room)
		return;
	if (len)
		memcpy(room, bytes, len);
	buf->len += len;
	buf->data[buf->len] = '\0';
}

void buf_adds(struct buf *buf, const char *text)
{
	buf_add(buf, text, strlen(text));
}

void buf_addv(struct buf *buf, const char *fmt, va_list ap)
{
	va_list again;

	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n < 0)
		return;
	char *room = buf_reserve(buf, (size_t)n);
	if (!room)
		return;
	vsnprintf(room, (size_t)n + 1, fmt, ap);
	buf->len += (size_t)n;
}

void buf_add_name(struct buf *buf, struct str name)
{
	if (buf->len && name.len)
		buf_addc(buf, '/');
	buf_add(buf, name.ptr, name.len);
}

void buf_addf(struct buf *buf, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	buf_addv(buf, fmt, ap);
	va_end(ap);
}

void buf_truncate(struct buf *buf, size_t len)
{
	if (len < buf->len) {
		buf->len = len;
		buf->data[len] = '\0';
	}
}
