/*
 * refuse - run a command as on a kernel that lacks one system call.
 *
 *	refuse CALL COMMAND [ARGUMENT]...
 *
 * CALL is openat2 or landlock_create_ruleset.  For the command and its descendants, this call fails
 * with ENOSYS.  If root runs this program, the command keeps its privileges.  If an ordinary user
 * runs it, setuid programs have no effect, since the kernel requires this for a filter.
 */
#include <err.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif

static const struct {
	const char *name;
	unsigned nr;
} calls[] = {
	{ "openat2", SYS_openat2 },
	{ "landlock_create_ruleset", SYS_landlock_create_ruleset },
};

static unsigned number_of(const char *name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (!strcmp(name, calls[i].name))
			return calls[i].nr;
	errx(2, "no call '%s'", name);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		errx(2, "usage: refuse CALL COMMAND [ARGUMENT]...");
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number_of(argv[1]), 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(*code), .filter = code };
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0) {
		if (errno != EACCES || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
			err(1, "seccomp");
		if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
			err(1, "seccomp");
	}
	execvp(argv[2], argv + 2);
	err(127, "%s", argv[2]);
}
