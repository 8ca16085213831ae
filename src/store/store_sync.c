/*
 * Objects must be on disk before the rows that point at them.  A sync takes a while, during which
 * the rows can be prepared.  So a thread does the sync.
 */
#include <errno.h>
#include <unistd.h>

#include "core/thread.h"
#include "store/store_priv.h"

static void *wait_for_disk(void *arg)
{
	struct store_sync *sync = arg;

	sync->error = fdatasync(sync->fd) < 0 ? errno : 0;
	return NULL;
}

int store_sync_begin(struct store *store, struct err *err)
{
	struct store_sync *sync = &store->sync;
	struct err ignored = { 0 };

	if (sync->running || !store->unflushed.objects || store->scratch || store->out_fd < 0)
		return 0;
	int r = store_write_out(store, err);
	if (r < 0)
		return r;
	sync->fd = store->out_fd;
	sync->end = store->out_end;
	/* Without a thread, store_sync_end does the sync. */
	sync->running = thread_start(&sync->thread, wait_for_disk, sync, &ignored) == 0;
	return 0;
}

/*
 * Wait for the thread that syncs.  Returns 1 if all of the pack is on disk after that, 0 if not, or
 * a negative error if the sync failed.
 */
static int join_sync(struct store *store, struct err *err)
{
	struct store_sync *sync = &store->sync;

	if (!sync->running)
		return 0;
	pthread_join(sync->thread, NULL);
	sync->running = false;
	/* The kernel reports a write error only once, so it must not be lost here. */
	errno = sync->error;
	if (errno)
		return err_errno(err, "sync pack %08x", store->out_pack);
	return sync->end == store->out_end;
}

int store_sync_end(struct store *store, struct err *err)
{
	int r = join_sync(store, err);

	if (r == 0)
		r = store_write_out(store, err);
	if (r < 0)
		return r;
	if (r == 0 && fdatasync(store->out_fd) < 0)
		return err_errno(err, "sync pack %08x", store->out_pack);
	if (store->out_is_new) {
		if (fsync(store->packsfd) < 0)
			return err_errno(err, "sync the packs directory");
		store->out_is_new = false;
	}
	return 0;
}

void store_sync_abandon(struct store *store)
{
	struct err ignored = { 0 };

	(void)join_sync(store, &ignored);
}
