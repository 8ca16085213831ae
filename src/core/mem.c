#include "core/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *checked(void *ptr)
{
	static const char text[] = "strata: out of memory\n";

	if (!ptr) {
		(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
		abort();
	}
	return ptr;
}

void *mem_alloc(size_t size)
{
	return checked(malloc(size ? size : 1));
}

void *mem_zalloc(size_t size)
{
	return checked(calloc(1, size ? size : 1));
}

void *mem_realloc(void *old, size_t size)
{
	return checked(realloc(old, size ? size : 1));
}

void *mem_dup(const void *bytes, size_t len)
{
	void *copy = mem_alloc(len + 1);

	if (len)
		memcpy(copy, bytes, len);
	((char *)copy)[len] = '\0';
	return copy;
}

char *mem_strdup(const char *text)
{
	return mem_dup(text, strlen(text));
}

char *mem_printf(const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	return checked(text);
}
