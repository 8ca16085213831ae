#include "store/chunk.h"

#include <pthread.h>
#include <stdint.h>

#define BITS 20 /* log2(CHUNK_AVERAGE) */
#define MASK(bits) (~UINT64_C(0) << (64 - (bits)))

static uint64_t gear[256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Fill the table with numbers from splitmix64.  The numbers have to be fixed and well mixed. */
static void fill_gear(void)
{
	uint64_t state = UINT64_C(0x7374726174610001); /* the bytes of "strata" and the number 1 */

	for (size_t i = 0; i < 256; i++) {
		uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);

		z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
		z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
		gear[i] = z ^ (z >> 31);
	}
}

size_t chunk_cut(const void *bytes, size_t len)
{
	const uint8_t *p = bytes;
	size_t end = len < CHUNK_MAX ? len : CHUNK_MAX;
	size_t middle = end < CHUNK_AVERAGE ? end : CHUNK_AVERAGE;
	uint64_t hash = 0;
	size_t i = CHUNK_MIN;

	if (len <= CHUNK_MIN)
		return len;
	pthread_once(&once, fill_gear);
	/*
	 * A cut before the average size needs more zero bits in the hash than a cut after that
	 * size.  So the sizes of chunks stay near the average.
	 */
	for (; i < middle; i++) {
		hash = (hash << 1) + gear[p[i]];
		if (!(hash & MASK(BITS + 1)))
			return i + 1;
	}
	for (; i < end; i++) {
		hash = (hash << 1) + gear[p[i]];
		if (!(hash & MASK(BITS - 1)))
			return i + 1;
	}
	return end;
}
