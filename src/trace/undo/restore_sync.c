/*
 * Syncs many files at once.
 *
 * A file must be on the disk before it is renamed into place.  Otherwise the file might be empty
 * after a crash.  If there are many files, a sync of each file would take longer than the rest of
 * the restore.  So files are made under temporary names until there are many.  Then their file
 * systems are synced, and the files are renamed.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "trace/undo/restore_priv.h"

static uint64_t device_of(int fd)
{
	struct statx stx;

	return at_fd_stat(fd, &stx) < 0 ? 0 : makedev(stx.stx_dev_major, stx.stx_dev_minor);
}

void restore_sync_note(struct restore *restore, int fd)
{
	struct restore_sync *sync = &restore->priv->sync;
	uint64_t dev = device_of(fd);

	if (restore->options.fresh)
		return;
	sync->count++;
	/*
	 * Hold the first files open.  If only these files have to be synced, each is synced on its
	 * own: a sync of the whole file system would also write the data of other programs.
	 */
	if (sync->count <= RESTORE_HELD) {
		sync->held[sync->count - 1] = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		return;
	}
	for (size_t i = 0; i < sync->n_systems; i++)
		if (sync->systems[i].dev == dev)
			return;
	mem_grow(&sync->systems, &sync->cap_systems, sync->n_systems);
	sync->systems[sync->n_systems++] =
		(struct restore_system){ dev, fcntl(fd, F_DUPFD_CLOEXEC, 0) };
}

static int sync_held(struct restore_sync *sync, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < sync->count && i < RESTORE_HELD; i++) {
		bool covered = false;

		for (size_t k = 0; k < sync->n_systems; k++)
			covered |= sync->systems[k].dev == device_of(sync->held[i]);
		if (rc >= 0 && !covered && sync->held[i] >= 0)
			rc = at_fsync(sync->held[i], "what was restored", err);
	}
	return rc;
}

int restore_sync_all(struct restore *restore, struct err *err)
{
	struct restore_sync *sync = &restore->priv->sync;
	int rc = sync_held(sync, err);

	for (size_t i = 0; i < sync->n_systems && rc >= 0; i++)
		if (sync->systems[i].fd < 0 || syncfs(sync->systems[i].fd) < 0)
			rc = err_errno(err, "sync what was restored");
	restore_sync_clear(restore);
	return rc;
}

void restore_sync_clear(struct restore *restore)
{
	struct restore_sync *sync = &restore->priv->sync;

	for (size_t i = 0; i < sync->count && i < RESTORE_HELD; i++)
		close_fd(&sync->held[i]);
	for (size_t i = 0; i < sync->n_systems; i++)
		close_fd(&sync->systems[i].fd);
	sync->count = sync->n_systems = 0;
}
