#include "ops/reserve.h"

#include <fcntl.h>
#include <unistd.h>

#include "core/at.h"
#include "core/own.h"

void reserve_make(int rootfd)
{
	struct err ignored = { 0 };

	if (at_exists(rootfd, RESERVE_NAME))
		return;
	owned_fd int fd = at_create(rootfd, RESERVE_NAME, O_WRONLY, 0600, &ignored);
	/*
	 * Make no reserve if the file system cannot reserve blocks, because the file would have to
	 * be filled with bytes.
	 */
	if (fd >= 0 && fallocate(fd, 0, 0, RESERVE_SIZE) < 0)
		(void)unlinkat(rootfd, RESERVE_NAME, 0);
}

bool reserve_release(const char *root)
{
	struct err ignored = { 0 };
	owned_fd int rootfd = at_open_given(root, O_RDONLY | O_DIRECTORY, 0, &ignored);

	if (rootfd < 0 || unlinkat(rootfd, RESERVE_NAME, 0) < 0)
		return false;
	/* Btrfs frees the blocks at the end of a transaction, so end the transaction. */
	(void)syncfs(rootfd);
	return true;
}
