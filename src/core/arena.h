/*
 * arena - memory for things that are freed together, such as all parts of one request.
 *
 * A single piece cannot be freed: arena_release frees all memory of an arena.  A zeroed struct
 * arena is empty.
 */
#pragma once
#include <stddef.h>

#include "core/str.h"

struct arena {
	struct arena_block *blocks;
	size_t used;  /* bytes of the newest block that were handed out */
	size_t total; /* bytes handed out from all blocks, for callers that keep a budget */
};

void arena_release(struct arena *arena);
void *arena_alloc(struct arena *arena, size_t size); /* zeroed, aligned for any type */
char *arena_strdup(struct arena *arena, const char *text);
struct str arena_str(struct arena *arena, struct str text); /* a NUL-terminated copy */
char *arena_printf(struct arena *arena, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
