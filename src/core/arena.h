/*
 * arena - memory for things that die together: one request, one result.
 *
 * Nothing is freed singly; arena_release frees all.  Zero-initialised is empty.
 */
#pragma once
#include <stddef.h>

#include "core/str.h"

struct arena {
	struct arena_block *blocks;
	size_t used;  /* in the newest block */
	size_t total; /* bytes handed out, for callers that keep a budget */
};

void arena_release(struct arena *arena);
void *arena_alloc(struct arena *arena, size_t size); /* zeroed, aligned for any type */
char *arena_strdup(struct arena *arena, const char *text);
struct str arena_str(struct arena *arena, struct str text); /* copy, NUL-terminated */
char *arena_printf(struct arena *arena, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
