/*
 * The filter is made from a table.  The filter has a block for each architecture whose calls the
 * kernel accepts, and a rule for each call.  Calls of 32-bit and x32 programs have numbers of their
 * own.
 *
 * Without a network, these calls are refused:
 *
 *	socket(AF_VSOCK), socket(AF_QIPCRTR)  these families have no network namespaces
 *	socketcall(SYS_SOCKET)    the family lies in memory, which a filter cannot read:
 *	                          32-bit programs that use this call have no sockets
 *	io_uring_setup            IORING_OP_SOCKET makes sockets that no filter sees
 *
 * These calls are always refused, since any directory of a sandbox may lie on btrfs:
 *
 *	BTRFS_IOC_SNAP_DESTROY_V2    takes the number of a subvolume anywhere on the file
 *	                             system.  The older call, which takes a name, is allowed
 *	BTRFS_IOC_SUBVOL_SETFLAGS    makes a live tree read-only, so that nothing can roll it back
 *
 * A refused call fails with EPERM, or with the error of a kernel or file system that does not have
 * the call.
 */
#include "sandbox/confine.h"

#include <assert.h>
#include <errno.h>
#include <linux/btrfs.h>
#include <linux/net.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/bpf.h"

#define ANY (-1)
#define X32_IOCTL_NR 514 /* number of ioctl for x32, which differs from that of x86-64 */
#define I386_IOCTL_NR 54
#define I386_SOCKETCALL_NR 102
#define I386_SOCKET_NR 359
#define ARM_IOCTL_NR 54
#define ARM_SOCKET_NR 281
#define IO_URING_SETUP_NR 425 /* the same number on all architectures */

struct rule {
	uint32_t call;
	int argument; /* number of the argument that is compared with 'value'; ANY: none */
	uint32_t value;
	int error;
	bool for_no_net;
};

#define SOCKET_RULES(call)                                                                         \
	{ call, 0, AF_VSOCK, EAFNOSUPPORT, true },                                                 \
	{                                                                                          \
		call, 0, AF_QIPCRTR, EAFNOSUPPORT, true                                            \
	}
#define IOCTL_RULES(call)                                                                          \
	{ call, 1, (uint32_t)BTRFS_IOC_SNAP_DESTROY_V2, ENOTTY, false },                           \
	{                                                                                          \
		call, 1, (uint32_t)BTRFS_IOC_SUBVOL_SETFLAGS, EPERM, false                         \
	}

static const struct rule native[] = {
	SOCKET_RULES(SYS_socket),
	IOCTL_RULES(SYS_ioctl),
#if defined(__x86_64__)
	IOCTL_RULES(X32_IOCTL_NR),
#endif
	{ IO_URING_SETUP_NR, ANY, 0, ENOSYS, true },
};

#if defined(__x86_64__)
#define COMPAT_ARCH AUDIT_ARCH_I386
static const struct rule compat[] = {
	SOCKET_RULES(I386_SOCKET_NR),
	{ I386_SOCKETCALL_NR, 0, SYS_SOCKET, EAFNOSUPPORT, true },
	IOCTL_RULES(I386_IOCTL_NR),
	{ IO_URING_SETUP_NR, ANY, 0, ENOSYS, true },
};
#elif defined(__aarch64__)
#define COMPAT_ARCH AUDIT_ARCH_ARM
static const struct rule compat[] = {
	SOCKET_RULES(ARM_SOCKET_NR),
	IOCTL_RULES(ARM_IOCTL_NR),
	{ IO_URING_SETUP_NR, ANY, 0, ENOSYS, true },
};
#endif

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define RULE_WORDS 6
#define BLOCK_WORDS(rules) (4 + RULE_WORDS * COUNT(rules))
#define WORDS_MAX (1 + BLOCK_WORDS(native) + BLOCK_WORDS(compat))
_Static_assert(RULE_WORDS *(COUNT(native) + COUNT(compat)) < UINT8_MAX, "jumps have 8 bits");

struct filter {
	struct sock_filter words[WORDS_MAX];
	unsigned short n;
};

static void put_word(struct filter *filter, struct sock_filter word)
{
	assert(filter->n < WORDS_MAX);
	filter->words[filter->n++] = word;
}

/*
 * Load the number of the call, without the bit that marks calls of x32.  Other calls never have
 * this bit.
 */
static void put_number(struct filter *filter)
{
	put_word(filter, (struct sock_filter)BPF_LOAD(nr));
	put_word(filter, (struct sock_filter)BPF_MASK(~(uint32_t)BPF_X32_BIT));
}

/*
 * Add one rule.  It compares only the lower half of an argument, since the kernel uses only 32 bits
 * of families and ioctl requests.  Before and after the rule, the number of the call is in the
 * accumulator.
 */
static void put_rule(struct filter *filter, const struct rule *rule)
{
	const uint32_t at = (uint32_t)offsetof(struct seccomp_data, args) +
			    (uint32_t)sizeof(uint64_t) * (uint32_t)rule->argument;
	const uint32_t refuse = SECCOMP_RET_ERRNO | (uint32_t)rule->error;

	if (rule->argument == ANY) {
		put_word(filter, (struct sock_filter)BPF_IF_EQUAL(rule->call, 0, 1));
		put_word(filter, (struct sock_filter)BPF_RETURN(refuse));
		return;
	}
	put_word(filter, (struct sock_filter)BPF_IF_EQUAL(rule->call, 0, 5));
	put_word(filter, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at));
	put_word(filter, (struct sock_filter)BPF_IF_EQUAL(rule->value, 0, 1));
	put_word(filter, (struct sock_filter)BPF_RETURN(refuse));
	put_number(filter);
}

/* Add the rules for one architecture.  Calls of other architectures jump over these rules. */
static void put_block(
	struct filter *filter, uint32_t arch, const struct rule *rules, size_t n, bool no_net)
{
	put_word(filter, (struct sock_filter)BPF_LOAD(arch));
	unsigned short test = filter->n;
	put_word(filter, (struct sock_filter)BPF_IF_EQUAL(arch, 0, 0));
	put_number(filter);
	for (size_t i = 0; i < n; i++)
		if (no_net || !rules[i].for_no_net)
			put_rule(filter, &rules[i]);
	put_word(filter, (struct sock_filter)BPF_RETURN(SECCOMP_RET_ALLOW));
	filter->words[test].jf = (uint8_t)(filter->n - test - 1);
}

int confine_calls(bool no_net, struct err *err)
{
	struct filter filter = { .n = 0 };

	put_block(&filter, BPF_NATIVE_ARCH, native, COUNT(native), no_net);
	put_block(&filter, COMPAT_ARCH, compat, COUNT(compat), no_net);
	put_word(&filter, (struct sock_filter)BPF_RETURN(SECCOMP_RET_ALLOW));

	struct sock_fprog program = { filter.n, filter.words };
	/*
	 * PR_SET_NO_NEW_PRIVS would break sudo, and is not needed with CAP_SYS_ADMIN.  For filtered
	 * processes, kernels before 5.16 turn on mitigations of speculation, which slow down all
	 * programs in the sandbox.  This filter does not need the mitigations, so
	 * SECCOMP_FILTER_FLAG_SPEC_ALLOW keeps them off.
	 */
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW,
		    &program) < 0)
		return err_errno(err, "filter system calls");
	return 0;
}
