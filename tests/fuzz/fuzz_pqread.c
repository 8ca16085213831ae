/*
 * The input is read as a table.  Reading ends for any input, and the readable part is consistent:
 * every key is found, and every content is the same when it is read twice.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/at.h"
#include "core/own.h"
#include "core/zstd.h"
#include "parquet/pqread.h"

#define ROWS_MAX 1000 /* more rows only cost time */

static void must(bool holds)
{
	if (!holds)
		abort();
}

struct seen {
	uint64_t len;
	uint64_t sum;
};

/* Read one byte of each page of memory, which is enough to check that the memory exists. */
static int look(void *arg, const void *bytes, size_t len, struct err *err)
{
	struct seen *seen = arg;

	must(len > 0);
	for (size_t i = 0; i < len; i += 4096)
		seen->sum = seen->sum * 31 + ((const unsigned char *)bytes)[i];
	seen->len += len;
	return 0;
}

static void check_row(struct pqread *table, uint64_t row)
{
	struct str key = pqread_key(table, row);
	struct seen once = { 0 }, again = { 0 };
	uint64_t first = UINT64_MAX;
	struct err err = { 0 };

	must(pqread_find(table, key, &first) == 1);
	must(first <= row && str_eq(pqread_key(table, first), key));
	int r = pqread_content(table, row, look, &once, &err);
	must(r == 0 || r == -ERR_CORRUPT || r == -ERR_LIMIT);
	if (r == 0) {
		must(pqread_content(table, row, look, &again, &err) == 0);
		must(again.len == once.len && again.sum == once.sum);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	owned_fd int fd = memfd_create("fuzz", MFD_CLOEXEC);
	owned(pqread_closep) struct pqread *table = NULL;
	struct err err = { 0 };

	must(fd >= 0 && at_write_all(fd, data, size) >= 0);
	table = pqread_open(fd, &err);
	must(table || err.code == ERR_CORRUPT || err.code == ERR_LIMIT);
	for (uint64_t row = 0; table && row < pqread_rows(table) && row < ROWS_MAX; row++)
		check_row(table, row);
	zstd_thread_end();
	return 0;
}
