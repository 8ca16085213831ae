/*
 * The output of zfs and zpool is read without harm.  A name that is read lies in the line, and a
 * path that is decoded has no NUL.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/own.h"
#include "query/zfsline.h"
#include "query/zfsstatus.h"

static int check_status(void *arg, const struct pool_status *status, struct err *err)
{
	for (size_t i = 0; i < status->n_devices; i++)
		if (!status->devices[i].name.len || status->devices[i].read < -1)
			abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	owned_mem char *copy = malloc(size ? size : 1);
	owned(buf_release) struct buf path = BUF_INIT, new_path = BUF_INIT;
	owned(arena_release) struct arena arena = { 0 };
	struct zfsline_snapshot snapshot;
	struct zfsline_dataset dataset;
	struct zfsline_property property;
	struct zfsline_change change;
	struct pool pool;
	struct err err = { 0 };

	if (!copy)
		return 0;
	if (size)
		memcpy(copy, data, size); /* so that a read past the end is noticed */
	struct str line = { copy, size };
	if (zfsline_snapshot(line, &snapshot) &&
		(snapshot.dataset.ptr != line.ptr ||
			memchr(snapshot.dataset.ptr, '\t', snapshot.dataset.len)))
		abort();
	if (zfsline_dataset(line, &dataset) && dataset.mountpoint.len > line.len)
		abort();
	if (zfsline_property(line, STR("tank/a"), &property) && property.value.len > line.len)
		abort();
	if (zfsline_pool(line, &pool) && pool.size < -1)
		abort();
	if (zfsline_change(line, &path, &new_path, &change) &&
		(!change.path.len || memchr(change.path.ptr, '\0', change.path.len)))
		abort();
	(void)zfsline_is_temporary(line);
	(void)zfsstatus_read(line, &arena, check_status, NULL, &err);
	return 0;
}
