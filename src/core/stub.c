#include "core/stub.h"

#include <fcntl.h>
#include <unistd.h>

#include "core/at.h"

int stub_mark(int dirfd, const char *name)
{
	return at_xattr_set(dirfd, name, STUB_XATTR, "", 0);
}

bool stub_is(int dirfd, const char *name, const struct statx *stx)
{
	char value;
	bool empty = S_ISDIR(stx->stx_mode) || (S_ISREG(stx->stx_mode) && !stx->stx_size);

	return empty && (stx->stx_mode & ALLPERMS) == STUB_MODE &&
	       at_xattr_get(dirfd, name, STUB_XATTR, &value, sizeof(value)) == 0;
}

void stub_remove(int dirfd, const char *name)
{
	struct statx stx;

	if (at_name_stat(dirfd, name, &stx) < 0 || !stub_is(dirfd, name, &stx))
		return;
	(void)unlinkat(dirfd, name, S_ISDIR(stx.stx_mode) ? AT_REMOVEDIR : 0);
}
