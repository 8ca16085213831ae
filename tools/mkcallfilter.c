/*
 * mkcallfilter - print the filters of src/sandbox/callfilter.h, and the table of the calls that
 * they report to a listener, as C.
 *
 * Each program has three parts.  This file makes the first part: the calls that libseccomp does not
 * know, and ENOSYS for calls that did not exist when the list was made.  libseccomp makes the other
 * two: denials that depend on arguments, and the allow list.  A call that one part does not decide
 * is passed on to the next part.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/btrfs.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sandbox/callfilter_priv.h"

#define WORDS_MAX BPF_MAXINSNS
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define N CALLFILTER_NONE

/* --------------------------------------------------------------------- lists */

/* Calls that every variant allows with any arguments. */
static const char allowed[] =
	/* files */
	"_llseek access chdir close close_range copy_file_range dup dup2 dup3 faccessat faccessat2 "
	"fadvise64 fadvise64_64 arm_fadvise64_64 fallocate fchdir fcntl fcntl64 fdatasync "
	"fgetxattr "
	"flistxattr flock fstat fstat64 fstatat64 fstatfs fstatfs64 fsync ftruncate ftruncate64 "
	"getcwd getdents getdents64 getxattr lgetxattr listxattr llistxattr lseek lstat lstat64 "
	"name_to_handle_at newfstatat oldfstat oldlstat oldstat readdir readlink readlinkat stat "
	"stat64 statfs statfs64 statx sync syncfs sync_file_range sync_file_range2 "
	"arm_sync_file_range umask "
	"inotify_add_watch inotify_init inotify_init1 inotify_rm_watch fanotify_mark "
	/* descriptors */
	"_newselect epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_pwait epoll_pwait2 "
	"epoll_wait epoll_wait_old eventfd eventfd2 io_cancel io_destroy io_getevents "
	"io_pgetevents "
	"io_pgetevents_time64 io_setup io_submit pipe pipe2 poll ppoll ppoll_time64 pread64 preadv "
	"preadv2 pselect6 pselect6_time64 pwrite64 pwritev pwritev2 read readahead readv select "
	"sendfile sendfile64 signalfd signalfd4 splice tee timerfd_create timerfd_gettime "
	"timerfd_gettime64 timerfd_settime timerfd_settime64 vmsplice write writev "
	/* sockets */
	"accept accept4 bind connect getpeername getsockname getsockopt recv recvfrom recvmmsg "
	"recvmmsg_time64 recvmsg send sendmmsg sendmsg sendto setsockopt shutdown socketpair "
	/* memory */
	"brk break cachestat madvise map_shadow_stack mbind get_mempolicy set_mempolicy "
	"set_mempolicy_home_node membarrier memfd_secret mincore mlock mlock2 mlockall mmap mmap2 "
	"mprotect mremap msync munlock munlockall munmap pkey_alloc pkey_free pkey_mprotect "
	"remap_file_pages "
	/* processes and threads */
	"_exit exit exit_group fork vfork wait4 waitid waitpid getpgid getpgrp "
	"getpid getppid getsid gettid setpgid setsid pidfd_open pidfd_send_signal process_mrelease "
	"prctl arch_prctl modify_ldt get_thread_area set_thread_area set_tid_address "
	"get_robust_list set_robust_list rseq futex futex_time64 futex_wait futex_waitv futex_wake "
	"futex_requeue restart_syscall sched_get_priority_max sched_get_priority_min "
	"sched_getaffinity sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval "
	"sched_rr_get_interval_time64 sched_setaffinity sched_setattr sched_setparam "
	"sched_setscheduler sched_yield getpriority setpriority nice ioprio_get ioprio_set "
	"getrlimit setrlimit ugetrlimit prlimit64 getrusage times getcpu "
	"breakpoint cacheflush set_tls get_tls usr26 usr32 "
	/* ids */
	"getegid getegid32 geteuid geteuid32 getgid getgid32 getgroups getgroups32 getresgid "
	"getresgid32 getresuid getresuid32 getuid getuid32 setfsgid setfsgid32 setfsuid setfsuid32 "
	"setgid setgid32 setgroups setgroups32 setregid setregid32 setresgid setresgid32 setresuid "
	"setresuid32 setreuid setreuid32 setuid setuid32 capget capset "
	/* signals */
	"alarm kill pause rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn "
	"rt_sigsuspend rt_sigtimedwait rt_sigtimedwait_time64 rt_tgsigqueueinfo sigaction "
	"sigaltstack signal sigpending sigprocmask sigreturn sigsuspend sgetmask ssetmask tgkill "
	"tkill "
	/* time; setting it needs rights over the machine */
	"adjtimex clock_adjtime clock_adjtime64 clock_getres clock_getres_time64 clock_gettime "
	"clock_gettime64 clock_nanosleep clock_nanosleep_time64 getitimer gettimeofday nanosleep "
	"setitimer time timer_create timer_delete timer_getoverrun timer_gettime timer_gettime64 "
	"timer_settime timer_settime64 "
	/* System V and POSIX messages */
	"ipc mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedreceive_time64 mq_timedsend "
	"mq_timedsend_time64 mq_unlink msgctl msgget msgrcv msgsnd semctl semget semop semtimedop "
	"semtimedop_time64 shmat shmctl shmdt shmget "
	/* others; a program's own filters can only take rights away */
	"getrandom landlock_add_rule landlock_create_ruleset landlock_restrict_self olduname "
	"oldolduname seccomp sysinfo ugetrlimit uname ";

/* Calls that are allowed if programs may make sandboxes of their own. */
static const char nested[] = "chroot clone clone3 fsconfig fsmount fsopen fspick mount "
			     "mount_setattr move_mount open_tree "
			     "pivot_root setdomainname sethostname setns umount umount2 unshare ";

/* Calls that fail with ENOSYS: programs test whether they exist, and can do without them. */
static const char absent[] =
	"_sysctl afs_syscall bdflush create_module ftime get_kernel_syms getpmsg gtty idle "
	"io_uring_enter io_uring_register io_uring_setup lock lookup_dcookie mpx nfsservctl prof "
	"profil putpmsg query_module security stty sysfs tuxcall ulimit uselib ustat vserver ";

/* Calls that change files.  They are allowed, and reported if denials are explained. */
static const struct {
	const char *name;
	int8_t dirfd, path, dirfd2, path2;
	/* argument with the flags of an open, which is reported only if the flags allow writing */
	int8_t flags;
} changing[] = {
	{ "open", N, 0, N, N, 1 },
	{ "openat", 0, 1, N, N, 2 },
	{ "openat2", 0, 1, N, N, N },
	{ "creat", N, 0, N, N, N },
	{ "mkdir", N, 0, N, N, N },
	{ "mkdirat", 0, 1, N, N, N },
	{ "mknod", N, 0, N, N, N },
	{ "mknodat", 0, 1, N, N, N },
	{ "unlink", N, 0, N, N, N },
	{ "unlinkat", 0, 1, N, N, N },
	{ "rmdir", N, 0, N, N, N },
	{ "rename", N, 0, N, 1, N },
	{ "renameat", 0, 1, 2, 3, N },
	{ "renameat2", 0, 1, 2, 3, N },
	{ "link", N, 0, N, 1, N },
	{ "linkat", 0, 1, 2, 3, N },
	{ "symlink", N, 1, N, N, N },
	{ "symlinkat", 1, 2, N, N, N },
	{ "truncate", N, 0, N, N, N },
	{ "truncate64", N, 0, N, N, N },
	{ "chmod", N, 0, N, N, N },
	{ "fchmod", 0, N, N, N, N },
	{ "fchmodat", 0, 1, N, N, N },
	{ "fchmodat2", 0, 1, N, N, N },
	{ "chown", N, 0, N, N, N },
	{ "chown32", N, 0, N, N, N },
	{ "lchown", N, 0, N, N, N },
	{ "lchown32", N, 0, N, N, N },
	{ "fchown", 0, N, N, N, N },
	{ "fchown32", 0, N, N, N, N },
	{ "fchownat", 0, 1, N, N, N },
	{ "setxattr", N, 0, N, N, N },
	{ "lsetxattr", N, 0, N, N, N },
	{ "fsetxattr", 0, N, N, N, N },
	{ "removexattr", N, 0, N, N, N },
	{ "lremovexattr", N, 0, N, N, N },
	{ "fremovexattr", 0, N, N, N, N },
	{ "utime", N, 0, N, N, N },
	{ "utimes", N, 0, N, N, N },
	{ "futimesat", 0, 1, N, N, N },
	{ "utimensat", 0, 1, N, N, N },
	{ "utimensat_time64", 0, 1, N, N, N },
};

/* Calls that execute a program: allowed, and notified of if CALLFILTER_EXEC is explained. */
static const struct {
	const char *name;
	int8_t dirfd, path;
} executing[] = {
	{ "execve", N, 0 },
	{ "execveat", 0, 1 },
};

/*
 * Calls that the libseccomp of Debian 12 does not know.  They have the same number on all
 * architectures.  FIRST_NEW to LAST_NEW are all such calls of Linux 6.18; calls after these are
 * ENOSYS.
 */
#define FIRST_NEW 457
#define FIRST_OF_ARM 0xf0000 /* cacheflush and others */
enum new_kind { NEW_ALLOWED, NEW_CHANGING, NEW_NESTED };
static const struct {
	uint32_t nr;
	const char *name;
	enum new_kind kind;
} newer[] = {
	{ 457, "statmount", NEW_NESTED },
	{ 458, "listmount", NEW_NESTED },
	{ 459, "lsm_get_self_attr", NEW_ALLOWED },
	{ 461, "lsm_list_modules", NEW_ALLOWED },
	{ 462, "mseal", NEW_ALLOWED },
	{ 463, "setxattrat", NEW_CHANGING },
	{ 464, "getxattrat", NEW_ALLOWED },
	{ 465, "listxattrat", NEW_ALLOWED },
	{ 466, "removexattrat", NEW_CHANGING },
	{ 467, "open_tree_attr", NEW_NESTED },
	{ 468, "file_getattr", NEW_ALLOWED },
	{ 469, "file_setattr", NEW_CHANGING },
};

#define NAMESPACES                                                                                 \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |             \
		CLONE_NEWPID | CLONE_NEWNET)
#define OPEN_CHANGES (O_ACCMODE | O_CREAT | O_TRUNC)
#define LOW 0xffffffffu /* the kernel compares only these bits of most arguments */
#define SEAL_NOEXEC 8u  /* MFD_NOEXEC_SEAL */
#define PROTOCOL_MPTCP 262

static const uint32_t personalities[] = { PER_LINUX, PER_LINUX32, UNAME26, PER_LINUX32 | UNAME26,
	ADDR_NO_RANDOMIZE, PER_LINUX32 | ADDR_NO_RANDOMIZE, LOW };
static const uint32_t protocols[] = { IPPROTO_IP, IPPROTO_ICMP, IPPROTO_TCP, IPPROTO_UDP,
	IPPROTO_ICMPV6, IPPROTO_UDPLITE, IPPROTO_RAW };
static const uint32_t ioctls[] = {
	0x5412,                              /* TIOCSTI: types characters into the terminal */
	0x541c,                              /* TIOCLINUX: pastes into the console */
	(uint32_t)BTRFS_IOC_SNAP_DESTROY_V2, /* for this and the next one, see sandbox/confine.c */
	(uint32_t)BTRFS_IOC_SUBVOL_SETFLAGS,
};

/* --------------------------------------------------------------------- rules */

static _Noreturn void give_up(const char *what, int error)
{
	fprintf(stderr, "mkcallfilter: %s: %s\n", what, strerror(error));
	exit(1);
}

struct filter {
	scmp_filter_ctx context;
	uint32_t arch; /* SCMP_ARCH_* */
	unsigned variant;
};

/*
 * Whether the machine has a call.  libseccomp gives a number below -10000 to a call that the
 * architecture does not have.
 */
static bool exists(uint32_t arch, const char *name)
{
	int nr = seccomp_syscall_resolve_name_arch(arch, name);

	return nr != __NR_SCMP_ERROR && nr > -10000;
}

/*
 * Add a rule for a call.  The numbers of calls are those of the machine that builds, and libseccomp
 * translates them.  For i386 it also adds a rule for socketcall, without the arguments.
 * deny_by_arguments denies that call altogether.
 */
static void add(const struct filter *filter, uint32_t action, const char *name,
	const struct scmp_arg_cmp *arguments, unsigned n)
{
	if (!exists(filter->arch, name))
		return;
	int r = seccomp_rule_add_array(filter->context, action, seccomp_syscall_resolve_name(name),
		n, n ? arguments : NULL);
	if (r < 0 && r != -EEXIST)
		give_up(name, -r);
}

static void add_if(const struct filter *filter, uint32_t action, const char *name, unsigned at,
	uint32_t mask, uint32_t value)
{
	const struct scmp_arg_cmp argument = SCMP_CMP(at, SCMP_CMP_MASKED_EQ, mask, value);

	add(filter, action, name, &argument, 1);
}

static void add_list(const struct filter *filter, uint32_t action, const char *list)
{
	char *names = strdup(list), *rest = names;

	for (char *name; (name = strsep(&rest, " "));)
		if (*name)
			add(filter, action, name, NULL, 0);
	free(names);
}

static bool has(const struct filter *filter, unsigned bit)
{
	return filter->variant & bit;
}

static uint32_t denial(unsigned variant)
{
	return variant & CALLFILTER_EXPLAIN ? SCMP_ACT_NOTIFY : SCMP_ACT_ERRNO(EPERM);
}

static void deny_by_arguments(const struct filter *filter)
{
	for (size_t i = 0; i < COUNT(ioctls); i++)
		add_if(filter, denial(filter->variant), "ioctl", 1, LOW, ioctls[i]);
	add(filter, SCMP_ACT_ERRNO(EPERM), "socketcall", NULL, 0);
	add_if(filter, SCMP_ACT_ERRNO(EPROTONOSUPPORT), "socket", 2, LOW, PROTOCOL_MPTCP);
	add_if(filter, SCMP_ACT_ERRNO(EOPNOTSUPP), "sendto", 3, MSG_FASTOPEN, MSG_FASTOPEN);
	add_if(filter, SCMP_ACT_ERRNO(EOPNOTSUPP), "sendmsg", 2, MSG_FASTOPEN, MSG_FASTOPEN);
	add_if(filter, SCMP_ACT_ERRNO(EOPNOTSUPP), "sendmmsg", 3, MSG_FASTOPEN, MSG_FASTOPEN);
}

static void allow_protocol(const struct filter *filter, int family, uint32_t protocol)
{
	const struct scmp_arg_cmp arguments[] = {
		SCMP_CMP(0, SCMP_CMP_MASKED_EQ, LOW, (uint32_t)family),
		SCMP_CMP(2, SCMP_CMP_MASKED_EQ, LOW, protocol),
	};

	add(filter, SCMP_ACT_ALLOW, "socket", arguments, COUNT(arguments));
}

static void allow_sockets(const struct filter *filter)
{
	add_if(filter, SCMP_ACT_ALLOW, "socket", 0, LOW, AF_UNIX);
	for (size_t i = 0; i < COUNT(protocols); i++) {
		allow_protocol(filter, AF_INET, protocols[i]);
		allow_protocol(filter, AF_INET6, protocols[i]);
	}
	if (has(filter, CALLFILTER_NESTED))
		add_if(filter, SCMP_ACT_ALLOW, "socket", 0, LOW, AF_NETLINK);
	else
		allow_protocol(filter, AF_NETLINK, 0 /* NETLINK_ROUTE */);
	if (!has(filter, CALLFILTER_NO_LISTEN))
		add(filter, SCMP_ACT_ALLOW, "listen", NULL, 0);
}

static void allow_changes(const struct filter *filter)
{
	for (size_t i = 0; i < COUNT(changing); i++) {
		if (!has(filter, CALLFILTER_EXPLAIN))
			add(filter, SCMP_ACT_ALLOW, changing[i].name, NULL, 0);
		else if (changing[i].flags != N)
			add_if(filter, SCMP_ACT_ALLOW, changing[i].name,
				(unsigned)changing[i].flags, OPEN_CHANGES, 0);
	}
}

static void allow_calls(const struct filter *filter)
{
	add_list(filter, SCMP_ACT_ALLOW, allowed);
	add_list(filter, SCMP_ACT_ERRNO(ENOSYS), absent);
	allow_changes(filter);
	for (size_t i = 0; i < COUNT(executing); i++)
		if (!has(filter, CALLFILTER_EXEC) || !has(filter, CALLFILTER_EXPLAIN))
			add(filter, SCMP_ACT_ALLOW, executing[i].name, NULL, 0);
	allow_sockets(filter);
	add(filter, SCMP_ACT_ALLOW, "ioctl", NULL, 0);
	for (size_t i = 0; i < COUNT(personalities); i++)
		add_if(filter, SCMP_ACT_ALLOW, "personality", 0, LOW, personalities[i]);
	if (has(filter, CALLFILTER_EXEC))
		add_if(filter, SCMP_ACT_ALLOW, "memfd_create", 1, SEAL_NOEXEC, SEAL_NOEXEC);
	else
		add(filter, SCMP_ACT_ALLOW, "memfd_create", NULL, 0);
	if (has(filter, CALLFILTER_NESTED)) {
		add_list(filter, SCMP_ACT_ALLOW, nested);
		return;
	}
	add(filter, SCMP_ACT_ERRNO(ENOSYS), "clone3", NULL, 0);
	add_if(filter, SCMP_ACT_ALLOW, "clone", 0, NAMESPACES, 0);
	add_if(filter, SCMP_ACT_ALLOW, "unshare", 0, NAMESPACES | CLONE_NEWTIME, 0);
}

/* ------------------------------------------------------------------ programs */

struct program {
	struct sock_filter words[WORDS_MAX];
	size_t n;
};

static scmp_filter_ctx begin_filter(uint32_t otherwise, uint32_t arch)
{
	scmp_filter_ctx context = seccomp_init(otherwise);
	int r = context ? seccomp_arch_remove(context, SCMP_ARCH_NATIVE) : -ENOMEM;

	if (r == 0)
		r = seccomp_arch_add(context, arch);
	if (r == 0)
		r = seccomp_attr_set(context, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));
	if (r == 0)
		r = seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (r < 0)
		give_up("begin a filter", -r);
	return context;
}

static void append_filter(struct program *program, scmp_filter_ctx context)
{
	FILE *file = tmpfile();
	int r = file ? seccomp_export_bpf(context, fileno(file)) : -errno;

	if (r < 0)
		give_up("export a filter", -r);
	rewind(file);
	program->n += fread(&program->words[program->n], sizeof(program->words[0]),
		WORDS_MAX - program->n, file);
	if (program->n == WORDS_MAX)
		give_up("a filter", E2BIG);
	(void)fclose(file);
	seccomp_release(context);
}

/* Append one part of a program, as one filter for both architectures. */
static void append_part(struct program *program, const uint32_t archs[2], unsigned variant,
	uint32_t otherwise, void (*rules)(const struct filter *filter))
{
	scmp_filter_ctx contexts[2];

	for (int i = 0; i < 2; i++) {
		contexts[i] = begin_filter(otherwise, archs[i]);
		rules(&(struct filter){ contexts[i], archs[i], variant });
	}
	int r = seccomp_merge(contexts[0], contexts[1]);
	if (r < 0)
		give_up("merge two filters", -r);
	append_filter(program, contexts[0]);
}

static void append_word(struct program *program, struct sock_filter word)
{
	program->words[program->n++] = word;
}

#define JUMP_IF(op, value, yes, no)                                                                \
	((struct sock_filter)BPF_JUMP(BPF_JMP | (op) | BPF_K, (value), (yes), (no)))
#define RETURN(action) ((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, (action)))

static uint32_t action_of(enum new_kind kind, unsigned variant)
{
	bool explain = variant & CALLFILTER_EXPLAIN;

	if (kind == NEW_CHANGING && explain)
		return SECCOMP_RET_USER_NOTIF;
	return kind == NEW_NESTED && !(variant & CALLFILTER_NESTED) ? SECCOMP_RET_ERRNO | ENOSYS
								    : SECCOMP_RET_ALLOW;
}

static void append_newer(struct program *program, unsigned variant)
{
	append_word(program, (struct sock_filter)BPF_STMT(
				     BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
	append_word(program, JUMP_IF(BPF_JGE, FIRST_NEW, 0, 2 * COUNT(newer) + 2));
	append_word(program, JUMP_IF(BPF_JGE, FIRST_OF_ARM, 2 * COUNT(newer) + 1, 0));
	for (size_t i = 0; i < COUNT(newer); i++) {
		append_word(program, JUMP_IF(BPF_JEQ, newer[i].nr, 0, 1));
		append_word(program, RETURN(action_of(newer[i].kind, variant)));
	}
	append_word(program, RETURN(SECCOMP_RET_ERRNO | ENOSYS));
}

/*
 * Make calls that the program has allowed up to here go on to the part that will follow its present
 * end.
 */
static void go_on(struct program *program, size_t from)
{
	for (size_t i = from; i < program->n; i++) {
		struct sock_filter *word = &program->words[i];

		if (word->code == (BPF_RET | BPF_K) && word->k == SECCOMP_RET_ALLOW)
			*word = (struct sock_filter)BPF_STMT(
				BPF_JMP | BPF_JA, (uint32_t)(program->n - i - 1));
	}
}

static void make_program(struct program *program, const uint32_t archs[2], unsigned variant)
{
	program->n = 0;
	append_newer(program, variant);
	size_t start = program->n;
	append_part(program, archs, variant, SCMP_ACT_ALLOW, deny_by_arguments);
	go_on(program, start);
	append_part(program, archs, variant, denial(variant), allow_calls);
}

/* --------------------------------------------------------------------- output */

static bool is_in(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = list; (at = strstr(at, name)); at += len)
		if ((at == list || at[-1] == ' ') && at[len] == ' ')
			return true;
	return false;
}

static void print_call(uint32_t nr, const char *name)
{
	for (size_t i = 0; i < COUNT(changing); i++)
		if (!strcmp(changing[i].name, name)) {
			printf("\t{ %u, \"%s\", false, %d, %d, %d, %d },\n", nr, name,
				changing[i].dirfd, changing[i].path, changing[i].dirfd2,
				changing[i].path2);
			return;
		}
	for (size_t i = 0; i < COUNT(executing); i++)
		if (!strcmp(executing[i].name, name)) {
			printf("\t{ %u, \"%s\", false, %d, %d, %d, %d },\n", nr, name,
				executing[i].dirfd, executing[i].path, N, N);
			return;
		}
	if (!is_in(allowed, name) && !is_in(absent, name))
		printf("\t{ %u, \"%s\", true, %d, %d, %d, %d },\n", nr, name, N, N, N, N);
}

static void print_calls(uint32_t arch, int index)
{
	printf("static const struct callfilter_call calls_%d[] = {\n", index);
	for (int nr = 0; nr < FIRST_NEW; nr++) {
		char *name = seccomp_syscall_resolve_num_arch(arch, nr);

		if (name)
			print_call((uint32_t)nr, name);
		free(name);
	}
	/* Print the arguments of the call: dirfd, path, ... */
	for (size_t i = 0; i < COUNT(newer); i++)
		if (newer[i].kind == NEW_CHANGING)
			printf("\t{ %u, \"%s\", false, 0, 1, %d, %d },\n", newer[i].nr,
				newer[i].name, N, N);
	printf("};\n");
}

static void print_family(const char *condition, const uint32_t archs[2])
{
	static struct program program;

	printf("%s\n", condition);
	for (int i = 0; i < 2; i++)
		print_calls(archs[i], i);
	printf("const struct callfilter_calls callfilter_calls[2] = {\n");
	for (int i = 0; i < 2; i++)
		printf("\t{ 0x%x, calls_%d, sizeof(calls_%d) / sizeof(calls_%d[0]) },\n", archs[i],
			i, i, i);
	printf("};\n");
	for (unsigned variant = 0; variant < CALLFILTER_VARIANTS; variant++) {
		make_program(&program, archs, variant);
		printf("static const struct sock_filter words_%u[] = {\n", variant);
		for (size_t i = 0; i < program.n; i++)
			printf("\t{ %u, %u, %u, 0x%x },\n", program.words[i].code,
				program.words[i].jt, program.words[i].jf, program.words[i].k);
		printf("};\n");
	}
	printf("#define PROGRAM(words) \\\n"
	       "\t{ sizeof(words) / sizeof((words)[0]), (struct sock_filter *)(words) }\n");
	printf("const struct sock_fprog callfilter_programs[CALLFILTER_VARIANTS] = {\n");
	for (unsigned variant = 0; variant < CALLFILTER_VARIANTS; variant++)
		printf("\tPROGRAM(words_%u),\n", variant);
	printf("};\n");
}

int main(void)
{
	static const uint32_t x86[] = { SCMP_ARCH_X86_64, SCMP_ARCH_X86 };
	static const uint32_t arm[] = { SCMP_ARCH_AARCH64, SCMP_ARCH_ARM };

	printf("/* Made by tools/mkcallfilter.c. */\n#include \"sandbox/callfilter_priv.h\"\n\n");
	print_family("#if defined(__x86_64__)", x86);
	print_family("#elif defined(__aarch64__)", arm);
	printf("#endif\n");
	return fflush(stdout) == 0 ? 0 : 1;
}
