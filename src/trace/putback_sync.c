/*
 * A file must be on the disk before it gets its name: else after a crash the name may stand for
 * nothing.  To sync each of many files takes longer than all the rest.  So files are made under
 * temporary names until there are many, all of them are synced at once, and only then renamed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "core/at.h"
#include "core/mem.h"
#include "core/own.h"
#include "trace/putback_priv.h"

#define ALONE_MAX PUTBACK_HELD /* so many are synced one by one: what others wrote can wait */

static uint64_t device_of(int fd)
{
	struct statx stx;

	return at_fd_stat(fd, &stx) < 0 ? 0 : makedev(stx.stx_dev_major, stx.stx_dev_minor);
}

void putback_sync_note(struct putback *putback, int fd)
{
	struct putback_sync *sync = &putback->priv->sync;
	uint64_t dev = device_of(fd);

	if (putback->options.fresh)
		return;
	sync->count++;
	/* By how many there will be: the first are held until that is known. */
	if (sync->count <= ALONE_MAX) {
		sync->held[sync->count - 1] = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		return;
	}
	for (size_t i = 0; i < sync->n_systems; i++)
		if (sync->systems[i].dev == dev)
			return;
	mem_grow(&sync->systems, &sync->cap_systems, sync->n_systems);
	sync->systems[sync->n_systems++] =
		(struct putback_system){ dev, fcntl(fd, F_DUPFD_CLOEXEC, 0) };
}

static int sync_held(struct putback_sync *sync, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < sync->count && i < ALONE_MAX; i++) {
		bool covered = false;

		for (size_t k = 0; k < sync->n_systems; k++)
			covered |= sync->systems[k].dev == device_of(sync->held[i]);
		if (rc >= 0 && !covered && sync->held[i] >= 0)
			rc = at_fsync(sync->held[i], "what was restored", err);
	}
	return rc;
}

int putback_sync_all(struct putback *putback, struct err *err)
{
	struct putback_sync *sync = &putback->priv->sync;
	int rc = sync_held(sync, err);

	for (size_t i = 0; i < sync->n_systems && rc >= 0; i++)
		if (sync->systems[i].fd < 0 || syncfs(sync->systems[i].fd) < 0)
			rc = err_errno(err, "sync what was restored");
	putback_sync_clear(putback);
	return rc;
}

void putback_sync_clear(struct putback *putback)
{
	struct putback_sync *sync = &putback->priv->sync;

	for (size_t i = 0; i < sync->count && i < ALONE_MAX; i++)
		close_fd(&sync->held[i]);
	for (size_t i = 0; i < sync->n_systems; i++)
		close_fd(&sync->systems[i].fd);
	sync->count = sync->n_systems = 0;
}
