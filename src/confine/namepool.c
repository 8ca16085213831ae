#include "confine/namepool.h"

#include <stdlib.h>

#include "core/mem.h"
#include "core/own.h"

#define BUCKETS 4096 /* number of buckets of the hash table; a power of two */
#define NO_NAME UINT32_MAX

struct pooled {
	char *name;    /* NULL: the entry is free */
	uint32_t next; /* the index of the next name in the same bucket */
};

struct namepool {
	struct pooled names[NAMEPOOL_MAX]; /* the address NAMEPOOL_FIRST + i stands for names[i] */
	uint32_t buckets[BUCKETS];
	uint32_t turn; /* the index that the next new name gets */
};

struct namepool *namepool_new(void)
{
	struct namepool *pool = mem_zalloc(sizeof(*pool));

	for (size_t i = 0; i < BUCKETS; i++)
		pool->buckets[i] = NO_NAME;
	return pool;
}

void namepool_free(struct namepool *pool)
{
	for (size_t i = 0; pool && i < NAMEPOOL_MAX; i++)
		free(pool->names[i].name);
	free(pool);
}

/* Find the bucket of a name, by its FNV-1a hash. */
static uint32_t *bucket_of(struct namepool *pool, const char *name)
{
	uint32_t hash = 2166136261u;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	return &pool->buckets[(hash ^ hash >> 16) & (BUCKETS - 1)];
}

static void drop(struct namepool *pool, uint32_t place)
{
	struct pooled *pooled = &pool->names[place];

	if (!pooled->name)
		return;
	uint32_t *link = bucket_of(pool, pooled->name);
	while (*link != place)
		link = &pool->names[*link].next;
	*link = pooled->next;
	free(take_ptr(&pooled->name));
}

static uint32_t add(struct namepool *pool, const char *name)
{
	const uint32_t place = pool->turn;

	pool->turn = (place + 1) % NAMEPOOL_MAX;
	drop(pool, place);
	uint32_t *bucket = bucket_of(pool, name);
	pool->names[place] = (struct pooled){ mem_strdup(name), *bucket };
	*bucket = place;
	return place;
}

void namepool_give(struct namepool *pool, const char *name, union netspace_address *out)
{
	uint32_t place = *bucket_of(pool, name);

	while (place != NO_NAME && strcmp(pool->names[place].name, name) != 0)
		place = pool->names[place].next;
	if (place == NO_NAME)
		place = add(pool, name);
	*out = (union netspace_address){ .v4 = {
						 .sin_family = AF_INET,
						 .sin_addr.s_addr = htonl(NAMEPOOL_FIRST + place),
					 } };
}

const char *namepool_find(const struct namepool *pool, const union netspace_address *address)
{
	if (address->any.sa_family != AF_INET)
		return NULL;
	const uint32_t place = ntohl(address->v4.sin_addr.s_addr) - NAMEPOOL_FIRST;

	return place < NAMEPOOL_MAX ? pool->names[place].name : NULL;
}
