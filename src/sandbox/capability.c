#include "sandbox/capability.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BIT CAPABILITY_BIT

#define ORDINARY                                                                                   \
	(BIT(CAP_CHOWN) | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_FOWNER) | BIT(CAP_FSETID) |              \
		BIT(CAP_KILL) | BIT(CAP_NET_BIND_SERVICE) | BIT(CAP_SETFCAP) | BIT(CAP_SETGID) |   \
		BIT(CAP_SETPCAP) | BIT(CAP_SETUID))
#define OF_NESTED                                                                                  \
	(BIT(CAP_SYS_ADMIN) | BIT(CAP_SYS_CHROOT) | BIT(CAP_SYS_PTRACE) | BIT(CAP_SYS_RESOURCE) |  \
		BIT(CAP_NET_ADMIN) | BIT(CAP_NET_RAW) | BIT(CAP_MKNOD) | BIT(CAP_IPC_OWNER) |      \
		BIT(CAP_IPC_LOCK) | BIT(CAP_SYS_NICE))

uint64_t capability_set(bool nested)
{
	return nested ? ORDINARY | OF_NESTED : ORDINARY;
}

int capability_bound(uint64_t kept, struct err *err)
{
	/* PR_CAPBSET_READ fails for numbers above the last capability of the kernel. */
	for (int i = 0; i < 64; i++) {
		int has = prctl(PR_CAPBSET_READ, i, 0, 0, 0);

		if (has < 0)
			break;
		if (has && !(kept & BIT(i)) && prctl(PR_CAPBSET_DROP, i, 0, 0, 0) < 0)
			return err_errno(err, "give up a capability for good");
		if (!(kept & BIT(i)))
			(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_LOWER, i, 0, 0);
	}
	return 0;
}

int capability_keep(uint64_t kept, struct err *err)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[2];

	if (syscall(SYS_capget, &header, sets) < 0)
		return err_errno(err, "look at the capabilities");
	for (int i = 0; i < 2; i++) {
		uint32_t half = (uint32_t)(kept >> (32 * i));

		sets[i].effective &= half;
		sets[i].permitted &= half;
		sets[i].inheritable &= half;
	}
	if (syscall(SYS_capset, &header, sets) < 0)
		return err_errno(err, "give up capabilities");
	return 0;
}
