#include "core/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/mem.h"

#define BLOCK_SIZE ((size_t)16 << 10)
#define ALIGNMENT 16

struct arena_block {
	struct arena_block *next;
	size_t size;
	_Alignas(ALIGNMENT) char bytes[];
};

void arena_release(struct arena *arena)
{
	while (arena->blocks) {
		struct arena_block *next = arena->blocks->next;

		free(arena->blocks);
		arena->blocks = next;
	}
	arena->used = arena->total = 0;
}

void *arena_alloc(struct arena *arena, size_t size)
{
	size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	if (!arena->blocks || arena->blocks->size - arena->used < size) {
		size_t room = size > BLOCK_SIZE ? size : BLOCK_SIZE;
		struct arena_block *block = mem_alloc(sizeof(*block) + room);

		block->next = arena->blocks;
		block->size = room;
		arena->blocks = block;
		arena->used = 0;
	}
	void *out = arena->blocks->bytes + arena->used;
	arena->used += size;
	arena->total += size;
	return memset(out, 0, size);
}

struct str arena_str(struct arena *arena, struct str text)
{
	char *copy = arena_alloc(arena, text.len + 1);

	if (text.len)
		memcpy(copy, text.ptr, text.len);
	return (struct str){ copy, text.len };
}

char *arena_strdup(struct arena *arena, const char *text)
{
	return (char *)arena_str(arena, str_of(text)).ptr;
}

char *arena_printf(struct arena *arena, const char *fmt, ...)
{
	va_list ap, again;

	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	char *out = arena_alloc(arena, (size_t)(n < 0 ? 0 : n) + 1);
	if (n > 0)
		vsnprintf(out, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return out;
}
