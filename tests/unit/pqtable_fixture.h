/*
 * pqtable_fixture - functions that write a table in memory, read it back and compare it.
 *
 * Include this header after <cmocka.h>.
 */
#pragma once
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/buf.h"
#include "core/hash.h"
#include "core/mem.h"
#include "core/own.h"
#include "parquet/pqread.h"
#include "parquet/pqwrite.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MIB ((uint64_t)1 << 20)

#define assert_ok(call)                                                                            \
	do {                                                                                       \
		if ((call) < 0)                                                                    \
			fail_msg("%s", err.text);                                                  \
	} while (0)

static inline int memory_file(void)
{
	int fd = memfd_create("table", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static inline struct pqwrite *writer(int fd, enum pqwrite_codec codec)
{
	struct err err = { 0 };
	struct pqwrite *table = pqwrite_open(fd, codec, &err);

	assert_non_null(table);
	return table;
}

static inline void finish(struct pqwrite *table)
{
	struct err err = { 0 };

	assert_ok(pqwrite_finish(table, &err));
	pqwrite_close(table);
}

static inline struct pqread *reader(int fd)
{
	struct err err = { 0 };
	struct pqread *table = pqread_open(fd, &err);

	if (!table)
		fail_msg("%s", err.text);
	return table;
}

/* Fill out with bytes that depend on their offset.  If noise is set, they cannot be compressed. */
static inline void fill(char *out, uint64_t offset, size_t len, bool noise)
{
	for (size_t i = 0; i < len; i++) {
		uint64_t x = (offset + i + 1) * 0x9e3779b97f4a7c15u;

		x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
		out[i] = noise ? (char)(x >> 40) : (char)('a' + (offset + i) / 8 % 26);
	}
}

static inline int collect(void *arg, const void *bytes, size_t len, struct err *err)
{
	buf_add(arg, bytes, len);
	return 0;
}

static inline void assert_row(struct pqread *table, uint64_t row, struct str key, struct str want)
{
	owned(buf_release) struct buf content = BUF_INIT;
	struct err err = { 0 };

	assert_true(str_eq(pqread_key(table, row), key));
	assert_ok(pqread_content(table, row, collect, &content, &err));
	assert_int_equal(content.len, want.len);
	assert_true(!want.len || !memcmp(content.data, want.ptr, want.len));
}
