/*
 * Syncs the pack that is being written to, in a thread.
 *
 * Objects must be on disk before the rows that refer to them.  A sync takes a while.  The calling
 * thread prepares the rows in that time.
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
	/* If no thread can be started, store_sync_end does the sync. */
	sync->running = thread_start(&sync->thread, wait_for_disk, sync, &ignored) == 0;
	return 0;
}

/*
 * Wait for the thread that syncs.  Returns 1 if the whole pack is on disk now, 0 if a part of it
 * still has to be synced, or a negative error.
 */
static int join_sync(struct store *store, struct err *err)
{
	struct store_sync *sync = &store->sync;

	if (!sync->running)
		return 0;
	pthread_join(sync->thread, NULL);
	sync->running = false;
	/* Return the error of the thread, because the kernel reports a write error only once. */
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
