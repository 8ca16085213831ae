/*
 * mem - allocation that cannot fail.
 *
 * If memory runs out, these functions end the program; no other code does so.  A size that came
 * from outside must therefore be compared with a named limit before it is passed to them.
 */
#pragma once
#include <stddef.h>

void *mem_alloc(size_t size) __attribute__((malloc, returns_nonnull));
void *mem_zalloc(size_t size) __attribute__((malloc, returns_nonnull));
void *mem_realloc(void *old, size_t size) __attribute__((returns_nonnull));
void *mem_dup(const void *bytes, size_t len) __attribute__((malloc, returns_nonnull));
char *mem_strdup(const char *text) __attribute__((malloc, returns_nonnull));
char *mem_printf(const char *fmt, ...) __attribute__((malloc, format(printf, 1, 2)));

/*
 * Make room for one more element in a growing array:
 *	mem_grow(&list, &capacity, count);
 */
#define mem_grow(array, cap, count)                                                                \
	do {                                                                                       \
		if ((count) >= *(cap)) {                                                           \
			*(cap) = *(cap) ? *(cap)*2 : 16;                                           \
			*(array) = mem_realloc(*(array), *(cap) * sizeof(**(array)));              \
		}                                                                                  \
	} while (0)
