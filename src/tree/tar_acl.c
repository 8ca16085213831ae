#include "tree/tar_acl.h"

#include <stdlib.h>

#include "core/bytes.h"

#define VERSION 2
#define ENTRY_SIZE 8

bool tar_acl_is_whole(struct str value)
{
	return value.len >= TAR_ACL_HEADER && !((value.len - TAR_ACL_HEADER) % ENTRY_SIZE) &&
	       bytes_get32(value.ptr) == VERSION;
}

size_t tar_acl_count(struct str value)
{
	return (value.len - TAR_ACL_HEADER) / ENTRY_SIZE;
}

struct tar_acl_entry tar_acl_entry(struct str value, size_t i)
{
	const char *at = value.ptr + TAR_ACL_HEADER + i * ENTRY_SIZE;
	uint32_t both = bytes_get32(at);

	return (struct tar_acl_entry){ both & 0xffff, both >> 16, bytes_get32(at + 4) };
}

void tar_acl_set_id(char *value, size_t i, uint32_t id)
{
	bytes_put32(value + TAR_ACL_HEADER + i * ENTRY_SIZE + 4, id);
}

static int compare_entries(const void *a, const void *b)
{
	const struct tar_acl_entry *x = a;
	const struct tar_acl_entry *y = b;

	if (x->tag != y->tag)
		return x->tag < y->tag ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

struct str tar_acl_encode(struct arena *arena, struct tar_acl_entry *list, size_t count)
{
	size_t len = TAR_ACL_HEADER + count * ENTRY_SIZE;
	char *out = arena_alloc(arena, len);

	qsort(list, count, sizeof(*list), compare_entries);
	bytes_put32(out, VERSION);
	for (size_t i = 0; i < count; i++) {
		char *at = out + TAR_ACL_HEADER + i * ENTRY_SIZE;

		bytes_put32(at, list[i].tag | list[i].perm << 16);
		bytes_put32(at + 4, list[i].id);
	}
	return (struct str){ out, len };
}
