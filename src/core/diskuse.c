#include "core/diskuse.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "core/at.h"
#include "core/own.h"

#define SECTOR 512 /* the unit of stx_blocks */

static void add_dir(int fd, uint64_t mount, struct diskuse *use);

static void add_entry(int dirfd, const char *name, uint64_t mount, struct diskuse *use)
{
	struct statx stx;

	if (at_name_stat(dirfd, name, &stx) < 0 || (mount && stx.stx_mnt_id != mount))
		return;
	use->bytes += stx.stx_blocks * SECTOR / (S_ISDIR(stx.stx_mode) ? 1 : stx.stx_nlink);
	if (!S_ISDIR(stx.stx_mode))
		return;
	int fd = at_name_open(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	if (fd < 0)
		use->unread++;
	else
		add_dir(fd, stx.stx_mnt_id, use);
}

/* Add the entries of the directory fd.  The descriptor is taken over. */
static void add_dir(int fd, uint64_t mount, struct diskuse *use)
{
	owned(at_list_closep) DIR *list = at_list_take(fd);

	if (!list)
		use->unread++;
	for (const struct dirent *d; list && (d = at_list_next(list));) {
		use->entries++;
		add_entry(fd, d->d_name, mount, use);
	}
}

void diskuse_add(int dirfd, const char *name, struct diskuse *use)
{
	add_entry(dirfd, name, 0, use);
}
