/*
 * A seccomp filter refuses fsopen(2), and mount(2) of a new file system.  It allows binds and moves
 * of existing mounts.  Landlock is no alternative: each command would have a domain of its own, and
 * could not look at the processes of an earlier command.
 */
#include "sandbox/fence.h"

#include <errno.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/bpf.h"

/* With any of these flags, mount(2) mounts nothing new. */
#define NOT_NEW (MS_BIND | MS_MOVE | MS_REMOUNT)
#define UPPER_HALF 0xffff0000u
#define FSOPEN_NR 430 /* the same number on all architectures */
#define I386_MOUNT_NR 21

int fence_mounts(struct err *err)
{
	/*
	 * args[3] is the lower half of the flags of mount(2) on a little-endian machine.  A change
	 * of propagation has exactly one bit in the upper 16 bits of this half.  Old programs put a
	 * magic number into these bits, and the number sets two of them.  The kernel ignores the
	 * magic number.
	 */
	struct sock_filter program[] = {
		BPF_LOAD(arch),
		BPF_IF_EQUAL(AUDIT_ARCH_I386, 0, 3),
		BPF_LOAD(nr),
		BPF_IF_EQUAL(I386_MOUNT_NR, 4, 0),
		BPF_IF_EQUAL(FSOPEN_NR, 11, 12),
		BPF_LOAD(nr),
		BPF_MASK(~(uint32_t)BPF_X32_BIT),
		BPF_IF_EQUAL(SYS_mount, 0, 7),
		BPF_LOAD(args[3]),
		BPF_IF_ANY(NOT_NEW, 7, 0),
		BPF_MASK(UPPER_HALF),
		BPF_IF_EQUAL(MS_PRIVATE, 5, 0),
		BPF_IF_EQUAL(MS_SLAVE, 4, 0),
		BPF_IF_EQUAL(MS_SHARED, 3, 0),
		BPF_IF_EQUAL(MS_UNBINDABLE, 2, 1),
		BPF_IF_EQUAL(FSOPEN_NR, 0, 1),
		BPF_RETURN(SECCOMP_RET_ERRNO | EPERM),
		BPF_RETURN(SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(program) / sizeof(program[0]), program };

	/* PR_SET_NO_NEW_PRIVS would break sudo, and is not needed with CAP_SYS_ADMIN. */
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) < 0)
		return err_errno(err, "filter system calls");
	return 0;
}
