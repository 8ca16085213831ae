#include "sandbox/mountcall.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/own.h"

int mountcall_set(int fs, const char *key, const char *value)
{
	return fsconfig(fs, value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG, key, value, 0);
}

int mountcall_failed(int fs, const char *type, struct err *err)
{
	int error = errno;
	char said[200];
	ssize_t n = fs < 0 ? -1 : read(fs, said, sizeof(said) - 1);

	said[n > 0 ? n : 0] = '\0';
	said[strcspn(said, "\n")] = '\0';
	errno = error;
	return n > 2 ? err_errno(err, "mount %s (%s)", type, said + 2)
		     : err_errno(err, "mount %s", type);
}

int mountcall_new(
	const char *type, const struct mountcall_option *options, unsigned attr, struct err *err)
{
	owned_fd int fs = fsopen(type, FSOPEN_CLOEXEC);
	int tree;

	if (fs < 0 || mountcall_set(fs, "source", type) < 0)
		return mountcall_failed(fs, type, err);
	for (; options && options->key; options++)
		if (mountcall_set(fs, options->key, options->value) < 0)
			return mountcall_failed(fs, type, err);
	if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return mountcall_failed(fs, type, err);
	tree = fsmount(fs, FSMOUNT_CLOEXEC, attr);
	return tree < 0 ? mountcall_failed(fs, type, err) : tree;
}

int mountcall_restrict(int tree, unsigned flags, uint64_t attr)
{
	struct mount_attr set = { .attr_set = attr };

	return mount_setattr(tree, "", AT_EMPTY_PATH | flags, &set, sizeof(set));
}

int mountcall_attach(int tree, int dirfd, const char *name)
{
	return move_mount(tree, "", dirfd, name, MOVE_MOUNT_F_EMPTY_PATH);
}

int mountcall_detach(int tree)
{
	return fchdir(tree) < 0 ? -1 : umount2(".", MNT_DETACH);
}

int mountcall_become_root(int tree, struct err *err)
{
	/*
	 * pivot_root(".", ".") puts the old root on top of the new one.  The old root is then
	 * unmounted.
	 */
	if (fchdir(tree) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 ||
		umount2(".", MNT_DETACH) < 0 || fchdir(tree) < 0)
		return err_errno(err, "change the root");
	return 0;
}
