#include "trace/observe/syscalls.h"

#include <sched.h>

#include "core/uapi.h"

#define N SYSCALLS_NONE

/*
 * A line of the table: the name of the call, its kind, whether it follows links, and then the
 * positions of five arguments: descriptor, path, flags, second descriptor and second path.
 */
#define CALL(call, does_, follow_, dirfd_, path_, flags_, dirfd2_, path2_)                         \
	{                                                                                          \
		SYS_##call, #call, SYSCALLS_##does_, SYSCALLS_##follow_, dirfd_, path_, flags_,    \
			dirfd2_, path2_, N, N, 0                                                   \
	}
/*
 * A call of the stat family.  A call whose flags have AT_EMPTY_PATH is not examined, since nearly
 * every such call has an empty path and names no file: fstat(3) makes one after nearly every open.
 * The rare call with this flag and a path names a file, but is not examined either.
 */
#define LOOK_UNLESS_EMPTY(call, flags_)                                                            \
	{                                                                                          \
		SYS_##call, #call, SYSCALLS_LOOK, SYSCALLS_BY_FLAG, 0, 1, flags_, N, N, flags_, N, \
			AT_EMPTY_PATH                                                              \
	}
#define DETACH_IF(call, argument, bits_)                                                           \
	{                                                                                          \
		SYS_##call, #call, SYSCALLS_DETACH, SYSCALLS_STAYS, N, N, N, N, N, N, argument,    \
			bits_                                                                      \
	}

const struct syscalls_call syscalls_table[] = {
/* Old calls, which exist only on x86-64. */
#ifdef SYS_open
	CALL(open, OPEN, BY_FLAG, N, 0, 1, N, N),
	CALL(creat, CREAT, FOLLOWS, N, 0, N, N, N),
	CALL(stat, LOOK, FOLLOWS, N, 0, N, N, N),
	CALL(lstat, LOOK, STAYS, N, 0, N, N, N),
	CALL(access, LOOK, FOLLOWS, N, 0, N, N, N),
	CALL(readlink, READLINK, STAYS, N, 0, N, N, N),
	CALL(mkdir, MAKE, STAYS, N, 0, N, N, N),
	CALL(rmdir, RMDIR, STAYS, N, 0, N, N, N),
	CALL(mknod, MAKE, STAYS, N, 0, N, N, N),
	CALL(unlink, UNLINK, STAYS, N, 0, N, N, N),
	CALL(rename, RENAME, STAYS, N, 0, N, N, 1),
	CALL(link, LINK, STAYS, N, 0, N, N, 1),
	CALL(symlink, MAKE, STAYS, N, 1, N, N, N),
	CALL(chmod, METADATA, FOLLOWS, N, 0, N, N, N),
	CALL(chown, METADATA, FOLLOWS, N, 0, N, N, N),
	CALL(lchown, METADATA, STAYS, N, 0, N, N, N),
	CALL(utime, TIMES, FOLLOWS, N, 0, N, N, N),
	CALL(utimes, TIMES, FOLLOWS, N, 0, N, N, N),
	CALL(futimesat, TIMES, FOLLOWS, 0, 1, N, N, N),
	CALL(uselib, LOOK, FOLLOWS, N, 0, N, N, N),
#endif
#ifdef SYS_renameat
	CALL(renameat, RENAME, STAYS, 0, 1, N, 2, 3),
#endif
	/* Calls that open files. */
	CALL(openat, OPEN, BY_FLAG, 0, 1, 2, N, N),
	CALL(openat2, OPEN_HOW, BY_FLAG, 0, 1, 2, N, N),
	CALL(open_by_handle_at, HANDLE, STAYS, 0, N, N, N, N),
	CALL(open_tree, LOOK, BY_FLAG, 0, 1, 2, N, N),
	CALL(name_to_handle_at, LOOK, IF_FLAGGED, 0, 1, 4, N, N),
	/* Calls that ask about files. */
	LOOK_UNLESS_EMPTY(newfstatat, 3),
	LOOK_UNLESS_EMPTY(statx, 2),
	CALL(faccessat, LOOK, FOLLOWS, 0, 1, N, N, N),
	CALL(faccessat2, LOOK, BY_FLAG, 0, 1, 3, N, N),
	CALL(readlinkat, READLINK, STAYS, 0, 1, N, N, N),
	CALL(statfs, LOOK, FOLLOWS, N, 0, N, N, N),
	CALL(getxattr, LOOK, FOLLOWS, N, 0, N, N, N),
	CALL(lgetxattr, LOOK, STAYS, N, 0, N, N, N),
	CALL(listxattr, LOOK, FOLLOWS, N, 0, N, N, N),
	CALL(llistxattr, LOOK, STAYS, N, 0, N, N, N),
	CALL(getxattrat, LOOK, BY_FLAG, 0, 1, 2, N, N),
	CALL(listxattrat, LOOK, BY_FLAG, 0, 1, 2, N, N),
	CALL(file_getattr, LOOK, BY_FLAG, 0, 1, 4, N, N),
	CALL(inotify_add_watch, LOOK, FOLLOWS, N, 1, N, N, N),
	CALL(fanotify_mark, LOOK, FOLLOWS, 3, 4, N, N, N),
	CALL(quotactl, LOOK, FOLLOWS, N, 1, N, N, N),
	/* Calls on directories. */
	CALL(chdir, CHDIR, FOLLOWS, N, 0, N, N, N),
	CALL(fchdir, CHDIR, STAYS, 0, N, N, N, N),
	CALL(getdents64, LIST, STAYS, 0, N, N, N, N),
#ifdef SYS_getdents
	CALL(getdents, LIST, STAYS, 0, N, N, N, N),
#endif
	/* Calls that execute programs, and calls that end a thread or a process. */
	CALL(execve, EXECUTE, FOLLOWS, N, 0, N, N, N),
	CALL(execveat, EXECUTE, BY_FLAG, 0, 1, 4, N, N),
	CALL(exit_group, EXIT_GROUP, STAYS, N, N, 0, N, N),
	CALL(exit, EXIT, STAYS, N, N, 0, N, N),
	/* Calls that make or remove names. */
	CALL(mkdirat, MAKE, STAYS, 0, 1, N, N, N),
	CALL(mknodat, MAKE, STAYS, 0, 1, N, N, N),
	CALL(symlinkat, MAKE, STAYS, 1, 2, N, N, N),
	CALL(linkat, LINK, IF_FLAGGED, 0, 1, 4, 2, 3),
	CALL(unlinkat, UNLINK, STAYS, 0, 1, 2, N, N),
	CALL(renameat2, RENAME, STAYS, 0, 1, 4, 2, 3),
	CALL(connect, CONNECT, FOLLOWS, N, 1, 2, N, N),
	CALL(bind, BIND, STAYS, N, 1, 2, N, N),
	/* Calls that change contents or attributes. */
	CALL(truncate, TRUNCATE, FOLLOWS, N, 0, N, N, N),
	CALL(ftruncate, TRUNCATE, STAYS, 0, N, N, N, N),
	CALL(fchmod, METADATA, STAYS, 0, N, N, N, N),
	CALL(fchmodat, METADATA, FOLLOWS, 0, 1, N, N, N),
	CALL(fchmodat2, METADATA, BY_FLAG, 0, 1, 3, N, N),
	CALL(fchown, METADATA, STAYS, 0, N, N, N, N),
	CALL(fchownat, METADATA, BY_FLAG, 0, 1, 4, N, N),
	CALL(utimensat, TIMES, BY_FLAG, 0, 1, 3, N, N),
	CALL(setxattr, METADATA, FOLLOWS, N, 0, N, N, N),
	CALL(lsetxattr, METADATA, STAYS, N, 0, N, N, N),
	CALL(fsetxattr, METADATA, STAYS, 0, N, N, N, N),
	CALL(setxattrat, METADATA, BY_FLAG, 0, 1, 2, N, N),
	CALL(removexattr, METADATA, FOLLOWS, N, 0, N, N, N),
	CALL(lremovexattr, METADATA, STAYS, N, 0, N, N, N),
	CALL(fremovexattr, METADATA, STAYS, 0, N, N, N, N),
	CALL(removexattrat, METADATA, BY_FLAG, 0, 1, 2, N, N),
	CALL(file_setattr, METADATA, BY_FLAG, 0, 1, 4, N, N),
	/* Calls that change where a path leads. */
	CALL(chroot, CHROOT, FOLLOWS, N, 0, N, N, N),
	CALL(pivot_root, MOUNT, FOLLOWS, N, 0, N, N, 1),
	CALL(mount, MOUNT, FOLLOWS, N, 1, N, N, N),
	CALL(umount2, MOUNT, FOLLOWS, N, 0, N, N, N),
	CALL(move_mount, MOUNT, FOLLOWS, 2, 3, N, N, N),
	CALL(swapon, LOOK, FOLLOWS, N, 0, N, N, N),
	CALL(swapoff, LOOK, FOLLOWS, N, 0, N, N, N),
	CALL(acct, LOOK, FOLLOWS, N, 0, N, N, N),
	DETACH_IF(unshare, 0, CLONE_NEWNS),
	CALL(setns, DETACH, STAYS, N, N, N, N, N),
	/* Calls that do not work well in a traced process. */
	CALL(fanotify_init, PERMIT, STAYS, N, N, 0, N, N),
	CALL(seccomp, SECCOMP, STAYS, N, N, 1, N, N),
	CALL(ptrace, PTRACE, STAYS, N, N, N, N, N),
};

const size_t syscalls_count = sizeof(syscalls_table) / sizeof(syscalls_table[0]);

#define NUMBERS 512 /* greater than every call number in the table */

const struct syscalls_call *syscalls_find(uint32_t nr)
{
	/* index of a call in the table, plus 1; 0: the call is not in the table */
	static uint8_t places[NUMBERS];

	if (!places[syscalls_table[0].nr])
		for (size_t i = 0; i < syscalls_count; i++)
			places[syscalls_table[i].nr] = (uint8_t)(i + 1);
	return nr < NUMBERS && places[nr] ? &syscalls_table[places[nr] - 1] : NULL;
}

bool syscalls_can_pass(const struct syscalls_call *call)
{
	return call->does == SYSCALLS_OPEN || call->does == SYSCALLS_LOOK ||
	       call->does == SYSCALLS_READLINK;
}

/*
 * An open with the flag O_DIRECTORY stops, too, so that a program that walks a tree cannot get far
 * ahead of strata.
 */
uint32_t syscalls_stops_with(const struct syscalls_call *call)
{
	return call->does == SYSCALLS_OPEN ? SYSCALLS_OPEN_CHANGES | O_DIRECTORY : 0;
}
