#include "core/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int set(struct err *err, enum err_code code, const char *fmt, va_list ap)
{
	char text[sizeof(err->text)];

	/* Arguments may point into err->text, so the message is first made in another buffer. */
	vsnprintf(text, sizeof(text), fmt, ap);
	memcpy(err->text, text, sizeof(text));
	err->code = code;
	err->errno_value = 0;
	err->hint[0] = '\0';
	return -(int)code;
}

int err_set(struct err *err, enum err_code code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	int r = set(err, code, fmt, ap);
	va_end(ap);
	return r;
}

int err_set_number(struct err *err, int number, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	int r = set(err, ERR_SYSTEM, fmt, ap);
	va_end(ap);
	err->errno_value = number;
	return r;
}

int err_errno(struct err *err, const char *fmt, ...)
{
	int saved = errno;
	char what[sizeof(err->text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	snprintf(err->text, sizeof(err->text), "%.400s: %s", what, strerror(saved));
	err->code = ERR_SYSTEM;
	err->errno_value = saved;
	err->hint[0] = '\0';
	return -(int)ERR_SYSTEM;
}

int err_context(struct err *err, const char *fmt, ...)
{
	char inner[sizeof(err->text)];
	va_list ap;

	memcpy(inner, err->text, sizeof(inner));
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	size_t used = strlen(err->text);
	snprintf(err->text + used, sizeof(err->text) - used, ": %s", inner);
	return -(int)err->code;
}

bool err_is_full(const struct err *err)
{
	return err->errno_value == ENOSPC || err->errno_value == EDQUOT;
}

int err_hint(struct err *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err->hint, sizeof(err->hint), fmt, ap);
	va_end(ap);
	return -(int)err->code;
}
