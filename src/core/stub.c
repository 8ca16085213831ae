#include "core/stub.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "core/at.h"

#define STUB_VALUE_MAX 8

int stub_mark(int dirfd, const char *name)
{
	return at_xattr_set(dirfd, name, STUB_XATTR, "", 0);
}

bool stub_is(int dirfd, const char *name, const struct statx *stx)
{
	char value[STUB_VALUE_MAX];
	bool empty = S_ISDIR(stx->stx_mode) || (S_ISREG(stx->stx_mode) && !stx->stx_size);

	if (!empty || (stx->stx_mode & ALLPERMS) != STUB_MODE)
		return false;
	ssize_t n = at_xattr_get(dirfd, name, STUB_XATTR, value, sizeof(value));
	/* Its process may remove a stub at any moment. */
	return n >= 0 || n == -ENOENT;
}

void stub_remove(int dirfd, const char *name)
{
	struct statx stx;

	if (at_name_stat(dirfd, name, &stx) < 0 || !stub_is(dirfd, name, &stx))
		return;
	(void)unlinkat(dirfd, name, S_ISDIR(stx.stx_mode) ? AT_REMOVEDIR : 0);
}
