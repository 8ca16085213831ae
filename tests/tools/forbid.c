/*
 * forbid - try forbidden actions by raw system calls, and print the answers of the kernel.
 *
 *	forbid THING...    THING is NAME, NAME=A or NAME=A,B
 *
 * One line is printed for each thing: its text, and "done" or the name of the error.  The exit
 * status is 1 if any attempt succeeded.  Each thing is tried by a process of its own.  Without
 * arguments, forbid lists the names.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/keyctl.h>
#include <linux/reboot.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define X32_BIT 0x40000000
#define PROTOCOL_MPTCP 262
#define EXCHANGE 2 /* RENAME_EXCHANGE */
#define MODE 0755

#define CALL(...) (syscall(__VA_ARGS__))

/* ------------------------------------------------------------------------ files */

static long open_with(const char *path, int flags)
{
	return CALL(SYS_openat, AT_FDCWD, path, flags, MODE);
}

static long try_read(char *a, char *b)
{
	char byte;
	long fd = open_with(a, O_RDONLY);

	return fd < 0 ? fd : CALL(SYS_read, fd, &byte, 1);
}

static long try_list(char *a, char *b)
{
	char names[1024];
	long fd = open_with(a, O_RDONLY | O_DIRECTORY);

	return fd < 0 ? fd : CALL(SYS_getdents64, fd, names, sizeof(names));
}

static long try_stat(char *a, char *b)
{
	struct stat st;

	return CALL(SYS_newfstatat, AT_FDCWD, a, &st, AT_SYMLINK_NOFOLLOW);
}

static long try_write(char *a, char *b)
{
	long fd = open_with(a, O_WRONLY | O_APPEND);

	return fd < 0 ? fd : CALL(SYS_write, fd, "x", 1);
}

static long try_creat(char *a, char *b)
{
	return open_with(a, O_WRONLY | O_CREAT | O_TRUNC);
}

static long try_truncate(char *a, char *b)
{
	return CALL(SYS_truncate, a, 0);
}

static long try_mkdir(char *a, char *b)
{
	return CALL(SYS_mkdirat, AT_FDCWD, a, MODE);
}

static long try_mkfifo(char *a, char *b)
{
	return CALL(SYS_mknodat, AT_FDCWD, a, S_IFIFO | MODE, 0);
}

static long try_unlink(char *a, char *b)
{
	return CALL(SYS_unlinkat, AT_FDCWD, a, 0);
}

static long try_rmdir(char *a, char *b)
{
	return CALL(SYS_unlinkat, AT_FDCWD, a, AT_REMOVEDIR);
}

static long try_rename(char *a, char *b)
{
	return CALL(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, 0);
}

static long try_exchange(char *a, char *b)
{
	return CALL(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, EXCHANGE);
}

static long try_link(char *a, char *b)
{
	return CALL(SYS_linkat, AT_FDCWD, a, AT_FDCWD, b, 0);
}

static long try_symlink(char *a, char *b)
{
	return CALL(SYS_symlinkat, a, AT_FDCWD, b);
}

static long try_chmod(char *a, char *b)
{
	return CALL(SYS_fchmodat, AT_FDCWD, a, MODE);
}

static long try_setxattr(char *a, char *b)
{
	return CALL(SYS_setxattr, a, "user.forbid", "x", 1, 0);
}

static long try_chroot(char *a, char *b)
{
	return CALL(SYS_chroot, a);
}

static long try_handle(char *a, char *b)
{
	struct {
		struct file_handle head;
		char room[MAX_HANDLE_SZ];
	} handle = { .head.handle_bytes = MAX_HANDLE_SZ };
	int mount;

	if (CALL(SYS_name_to_handle_at, AT_FDCWD, a, &handle, &mount, 0) < 0)
		return -1;
	return CALL(SYS_open_by_handle_at, open_with(a, O_RDONLY | O_DIRECTORY), &handle, O_RDONLY);
}

/* --------------------------------------------------------------------- programs */

static char *const no_arguments[] = { "true", NULL };
static char *const no_environment[] = { NULL };

/* Whether a child can execute the file.  If it can, the pipe closes without an error number. */
static long execute(int dirfd, const char *path, int flags)
{
	int ends[2], error = 0;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	if (fork() == 0) {
		(void)CALL(SYS_execveat, dirfd, path, no_arguments, no_environment, flags);
		error = errno;
		(void)!write(ends[1], &error, sizeof(error));
		_exit(0);
	}
	close(ends[1]);
	(void)!read(ends[0], &error, sizeof(error));
	errno = error;
	return error ? -1 : 0;
}

static long try_exec(char *a, char *b)
{
	return execute(AT_FDCWD, a, 0);
}

/* Map a file as the dynamic linker maps a library. */
static long try_map(char *a, char *b)
{
	long fd = open_with(a, O_RDONLY);

	if (fd < 0)
		return -1;
	void *mapped = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, (int)fd, 0);
	return mapped == MAP_FAILED ? -1 : 0;
}

/* Execute a copy of a file in memory. */
static long try_memfd(char *a, char *b)
{
	static char part[1 << 16];
	long from = open_with(a, O_RDONLY);
	long to = from < 0 ? -1 : CALL(SYS_memfd_create, "copy", 0);
	ssize_t n;

	if (to < 0)
		return -1;
	while ((n = read((int)from, part, sizeof(part))) > 0)
		if (write((int)to, part, (size_t)n) != n)
			return -1;
	return execute((int)to, "", AT_EMPTY_PATH);
}

/* ------------------------------------------------------------- mounts, namespaces */

static long try_mount(char *a, char *b)
{
	return CALL(SYS_mount, "none", a, "tmpfs", 0, NULL);
}

static long try_bind(char *a, char *b)
{
	return CALL(SYS_mount, a, b, NULL, MS_BIND, NULL);
}

static long try_remount(char *a, char *b)
{
	return CALL(SYS_mount, NULL, a, NULL, MS_REMOUNT | MS_BIND, NULL);
}

static long try_umount(char *a, char *b)
{
	return CALL(SYS_umount2, a, MNT_DETACH);
}

static long try_pivot_root(char *a, char *b)
{
	return CALL(SYS_pivot_root, a, b);
}

static long try_fsopen(char *a, char *b)
{
	return CALL(SYS_fsopen, "tmpfs", 0);
}

static long try_open_tree(char *a, char *b)
{
	return CALL(SYS_open_tree, AT_FDCWD, a, 1 /* OPEN_TREE_CLONE */);
}

static long try_setns(char *a, char *b)
{
	return CALL(SYS_setns, open_with(a, O_RDONLY), 0);
}

static const struct {
	const char *name;
	int flag;
} namespaces[] = {
	{ "user", CLONE_NEWUSER },
	{ "mnt", CLONE_NEWNS },
	{ "pid", CLONE_NEWPID },
	{ "net", CLONE_NEWNET },
	{ "ipc", CLONE_NEWIPC },
	{ "uts", CLONE_NEWUTS },
	{ "cgroup", CLONE_NEWCGROUP },
	{ "time", CLONE_NEWTIME },
};

static int flag_of(const char *name)
{
	for (size_t i = 0; i < sizeof(namespaces) / sizeof(namespaces[0]); i++)
		if (!strcmp(name, namespaces[i].name))
			return namespaces[i].flag;
	fprintf(stderr, "forbid: no namespace '%s'\n", name);
	_exit(2);
}

static long try_unshare(char *a, char *b)
{
	return CALL(SYS_unshare, flag_of(a));
}

static long try_clone(char *a, char *b)
{
	long pid = CALL(SYS_clone, flag_of(a) | SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(0);
	return pid;
}

static long try_clone3(char *a, char *b)
{
	struct {
		uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
	} args = { .flags = (uint64_t)flag_of(a), .exit_signal = SIGCHLD };
	long pid = CALL(SYS_clone3, &args, sizeof(args));

	if (pid == 0)
		_exit(0);
	return pid;
}

/* -------------------------------------------------------------------- processes */

static long try_ptrace(char *a, char *b)
{
	return CALL(SYS_ptrace, PTRACE_ATTACH, atoi(a), 0, 0);
}

static long try_traceme(char *a, char *b)
{
	return CALL(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0);
}

/*
 * Read another process's memory.  No address is known to be valid in it, so an address of this
 * process is used.
 */
static long try_memory(char *a, char *b)
{
	static char byte;
	struct iovec here = { &byte, 1 }, there = { (void *)no_arguments, 1 };

	return CALL(SYS_process_vm_readv, atoi(a), &here, 1, &there, 1, 0);
}

static long try_signal(char *a, char *b)
{
	return CALL(SYS_kill, atoi(a), SIGCONT);
}

static long try_pidfd_getfd(char *a, char *b)
{
	return CALL(SYS_pidfd_getfd, CALL(SYS_pidfd_open, atoi(a), 0), 0, 0);
}

static long try_kcmp(char *a, char *b)
{
	return CALL(SYS_kcmp, getpid(), atoi(a), 2 /* KCMP_FILES */, 0, 0);
}

/* ---------------------------------------------------------------------- sockets */

/* Parse "ADDRESS:PORT".  An IPv6 address is in brackets. */
static socklen_t parse_address(char *a, struct sockaddr_storage *out)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)out;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;
	char *colon = strrchr(a, ':');

	memset(out, 0, sizeof(*out));
	if (!colon) {
		fprintf(stderr, "forbid: '%s' has no port\n", a);
		_exit(2);
	}
	*colon = '\0';
	v4->sin_port = htons((uint16_t)atoi(colon + 1));
	if (*a == '[' && colon[-1] == ']') {
		colon[-1] = '\0';
		v6->sin6_family = AF_INET6;
		(void)inet_pton(AF_INET6, a + 1, &v6->sin6_addr);
		return sizeof(*v6);
	}
	v4->sin_family = AF_INET;
	(void)inet_pton(AF_INET, a, &v4->sin_addr);
	return sizeof(*v4);
}

static long reach(char *a, int type, int protocol, bool by_message, int flags)
{
	struct sockaddr_storage address;
	socklen_t len = parse_address(a, &address);
	long fd = CALL(SYS_socket, address.ss_family, type, protocol);

	if (fd < 0)
		return -1;
	return by_message ? CALL(SYS_sendto, fd, "x", 1, flags, &address, len)
			  : CALL(SYS_connect, fd, &address, len);
}

static long try_connect(char *a, char *b)
{
	return reach(a, SOCK_STREAM, 0, false, 0);
}

static long try_udp(char *a, char *b)
{
	return reach(a, SOCK_DGRAM, 0, true, 0);
}

static long try_fastopen(char *a, char *b)
{
	return reach(a, SOCK_STREAM, 0, true, MSG_FASTOPEN);
}

static long try_mptcp(char *a, char *b)
{
	return reach(a, SOCK_STREAM, PROTOCOL_MPTCP, false, 0);
}

static long try_bind_port(char *a, char *b)
{
	struct sockaddr_storage address;
	socklen_t len = parse_address(a, &address);
	long fd = CALL(SYS_socket, address.ss_family, SOCK_STREAM, 0);

	return fd < 0 ? -1 : CALL(SYS_bind, fd, &address, len);
}

static long try_listen(char *a, char *b)
{
	long fd = CALL(SYS_socket, AF_INET, SOCK_STREAM, 0);

	return fd < 0 ? -1 : CALL(SYS_listen, fd, 1);
}

static long connect_unix(const char *name, bool abstract)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	long fd = CALL(SYS_socket, AF_UNIX, SOCK_STREAM, 0);

	snprintf(address.sun_path + abstract, sizeof(address.sun_path) - abstract, "%s", name);
	return fd < 0 ? -1
		      : CALL(SYS_connect, fd, &address,
				offsetof(struct sockaddr_un, sun_path) + abstract + strlen(name));
}

static long try_abstract(char *a, char *b)
{
	return connect_unix(a, true);
}

static long try_unix(char *a, char *b)
{
	return connect_unix(a, false);
}

/* Make a socket.  The text 'a' is the number of the family. */
static long try_socket(char *a, char *b)
{
	return CALL(SYS_socket, atoi(a), SOCK_DGRAM, 0);
}

/* ------------------------------------------------------------ parts of the kernel */

static long try_keyctl(char *a, char *b)
{
	return CALL(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 1);
}

static long try_add_key(char *a, char *b)
{
	return CALL(SYS_add_key, "user", "forbid", "x", 1, KEY_SPEC_PROCESS_KEYRING);
}

static long try_io_uring(char *a, char *b)
{
	struct io_uring_params params = { 0 };

	return CALL(SYS_io_uring_setup, 1, &params);
}

static long try_userfaultfd(char *a, char *b)
{
	return CALL(SYS_userfaultfd, 1 /* UFFD_USER_MODE_ONLY */);
}

static long try_bpf(char *a, char *b)
{
	struct {
		uint32_t type, key, value, entries, rest[28];
	} map = { .type = 2 /* array */, .key = 4, .value = 4, .entries = 1 };

	return CALL(SYS_bpf, 0 /* BPF_MAP_CREATE */, &map, sizeof(map));
}

static long try_perf(char *a, char *b)
{
	struct {
		uint32_t type, size;
		uint64_t config, rest[13];
	} attr = { .type = 1 /* software */, .size = sizeof(attr) };

	return CALL(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static long try_tiocsti(char *a, char *b)
{
	return CALL(SYS_ioctl, open_with(a ? a : "/dev/tty", O_RDWR), TIOCSTI, "x");
}

static long try_tioclinux(char *a, char *b)
{
	return CALL(SYS_ioctl, open_with(a ? a : "/dev/tty", O_RDWR), TIOCLINUX, "\7");
}

static long try_swapon(char *a, char *b)
{
	return CALL(SYS_swapon, a, 0);
}

/* Set the effect of Ctrl-Alt-Del on a console to the value that most machines have anyway. */
static long try_reboot(char *a, char *b)
{
	return CALL(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_CAD_OFF);
}

static long try_kexec(char *a, char *b)
{
	return CALL(SYS_kexec_load, 0, 0, NULL, 0);
}

static long try_module(char *a, char *b)
{
	return CALL(SYS_delete_module, "forbid", O_NONBLOCK);
}

static long try_settime(char *a, char *b)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return CALL(SYS_clock_settime, CLOCK_REALTIME, &now);
}

static long try_sethostname(char *a, char *b)
{
	return CALL(SYS_sethostname, "forbid", 6);
}

static long try_personality(char *a, char *b)
{
	return CALL(SYS_personality, READ_IMPLIES_EXEC);
}

static long try_acct(char *a, char *b)
{
	return CALL(SYS_acct, NULL);
}

static long try_syslog(char *a, char *b)
{
	return CALL(SYS_syslog, 10 /* asks for the size of the kernel's buffer */, NULL, 0);
}

static long try_quotactl(char *a, char *b)
{
	return CALL(SYS_quotactl, 0x80000100 /* Q_SYNC */, NULL, 0, NULL);
}

static long try_unknown(char *a, char *b)
{
	return CALL(1000);
}

/* IPC objects.  The first four look for an object, the others make it. */

static long try_shm(char *a, char *b)
{
	return CALL(SYS_shmget, atoi(a), 0, 0);
}

static long try_sem(char *a, char *b)
{
	return CALL(SYS_semget, atoi(a), 0, 0);
}

static long try_msg(char *a, char *b)
{
	return CALL(SYS_msgget, atoi(a), 0);
}

static long try_mq(char *a, char *b)
{
	return CALL(SYS_mq_open, a, O_RDONLY, 0, NULL);
}

static long try_shm_new(char *a, char *b)
{
	return CALL(SYS_shmget, atoi(a), 1, IPC_CREAT | MODE);
}

static long try_sem_new(char *a, char *b)
{
	return CALL(SYS_semget, atoi(a), 1, IPC_CREAT | MODE);
}

static long try_msg_new(char *a, char *b)
{
	return CALL(SYS_msgget, atoi(a), IPC_CREAT | MODE);
}

static long try_mq_new(char *a, char *b)
{
	return CALL(SYS_mq_open, a, O_RDWR | O_CREAT, MODE, NULL);
}

#ifdef __x86_64__
static long try_iopl(char *a, char *b)
{
	return CALL(SYS_iopl, 3);
}

static long try_x32(char *a, char *b)
{
	return CALL(X32_BIT | SYS_getpid);
}

static long call_i386(long nr, long a, long b, long c)
{
	long r;

	__asm__ volatile("int $0x80" : "=a"(r) : "a"(nr), "b"(a), "c"(b), "d"(c) : "memory");
	if (r < 0)
		errno = (int)-r;
	return r < 0 ? -1 : r;
}

static long try_i386_unshare(char *a, char *b)
{
	return call_i386(310, flag_of(a), 0, 0);
}

static long try_i386_ptrace(char *a, char *b)
{
	return call_i386(26, PTRACE_TRACEME, 0, 0);
}

static long try_i386_socket(char *a, char *b)
{
	return call_i386(359, atoi(a), SOCK_DGRAM, 0);
}

static long try_i386_socketcall(char *a, char *b)
{
	int *arguments = mmap(
		NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	if (arguments == MAP_FAILED)
		return -1;
	arguments[0] = atoi(a);
	arguments[1] = SOCK_DGRAM;
	return call_i386(102, 1 /* SYS_SOCKET */, (long)arguments, 0);
}
#endif

static const struct thing {
	const char *name;
	long (*attempt)(char *a, char *b);
	int arguments;
} things[] = {
	{ "read", try_read, 1 },
	{ "list", try_list, 1 },
	{ "stat", try_stat, 1 },
	{ "write", try_write, 1 },
	{ "creat", try_creat, 1 },
	{ "truncate", try_truncate, 1 },
	{ "mkdir", try_mkdir, 1 },
	{ "mkfifo", try_mkfifo, 1 },
	{ "unlink", try_unlink, 1 },
	{ "rmdir", try_rmdir, 1 },
	{ "rename", try_rename, 2 },
	{ "exchange", try_exchange, 2 },
	{ "link", try_link, 2 },
	{ "symlink", try_symlink, 2 },
	{ "chmod", try_chmod, 1 },
	{ "setxattr", try_setxattr, 1 },
	{ "chroot", try_chroot, 1 },
	{ "handle", try_handle, 1 },
	{ "exec", try_exec, 1 },
	{ "map", try_map, 1 },
	{ "memfd", try_memfd, 1 },
	{ "mount", try_mount, 1 },
	{ "bind", try_bind, 2 },
	{ "remount", try_remount, 1 },
	{ "umount", try_umount, 1 },
	{ "pivot_root", try_pivot_root, 2 },
	{ "fsopen", try_fsopen, 0 },
	{ "open_tree", try_open_tree, 1 },
	{ "setns", try_setns, 1 },
	{ "unshare", try_unshare, 1 },
	{ "clone", try_clone, 1 },
	{ "clone3", try_clone3, 1 },
	{ "ptrace", try_ptrace, 1 },
	{ "traceme", try_traceme, 0 },
	{ "memory", try_memory, 1 },
	{ "signal", try_signal, 1 },
	{ "pidfd_getfd", try_pidfd_getfd, 1 },
	{ "kcmp", try_kcmp, 1 },
	{ "connect", try_connect, 1 },
	{ "udp", try_udp, 1 },
	{ "fastopen", try_fastopen, 1 },
	{ "mptcp", try_mptcp, 1 },
	{ "bind_port", try_bind_port, 1 },
	{ "listen", try_listen, 0 },
	{ "abstract", try_abstract, 1 },
	{ "unix", try_unix, 1 },
	{ "socket", try_socket, 1 },
	{ "keyctl", try_keyctl, 0 },
	{ "add_key", try_add_key, 0 },
	{ "io_uring", try_io_uring, 0 },
	{ "userfaultfd", try_userfaultfd, 0 },
	{ "bpf", try_bpf, 0 },
	{ "perf", try_perf, 0 },
	{ "tiocsti", try_tiocsti, 0 },
	{ "tioclinux", try_tioclinux, 0 },
	{ "swapon", try_swapon, 1 },
	{ "reboot", try_reboot, 0 },
	{ "kexec", try_kexec, 0 },
	{ "module", try_module, 0 },
	{ "settime", try_settime, 0 },
	{ "sethostname", try_sethostname, 0 },
	{ "personality", try_personality, 0 },
	{ "acct", try_acct, 0 },
	{ "syslog", try_syslog, 0 },
	{ "quotactl", try_quotactl, 0 },
	{ "unknown", try_unknown, 0 },
	{ "shm", try_shm, 1 },
	{ "sem", try_sem, 1 },
	{ "msg", try_msg, 1 },
	{ "mq", try_mq, 1 },
	{ "shm_new", try_shm_new, 1 },
	{ "sem_new", try_sem_new, 1 },
	{ "msg_new", try_msg_new, 1 },
	{ "mq_new", try_mq_new, 1 },
#ifdef __x86_64__
	{ "iopl", try_iopl, 0 },
	{ "x32", try_x32, 0 },
	{ "i386_unshare", try_i386_unshare, 1 },
	{ "i386_ptrace", try_i386_ptrace, 0 },
	{ "i386_socket", try_i386_socket, 1 },
	{ "i386_socketcall", try_i386_socketcall, 1 },
#endif
};
#define THINGS (sizeof(things) / sizeof(things[0]))

static const struct thing *find_thing(const char *name)
{
	for (size_t i = 0; i < THINGS; i++)
		if (!strcmp(name, things[i].name))
			return &things[i];
	return NULL;
}

/* In the child: make an attempt.  The exit status is 0 if it succeeded, and 1 if it was refused. */
static _Noreturn void attempt(const char *text)
{
	char *name = strdup(text), *a = strchr(name, '='), *b = NULL;

	if (a)
		*a++ = '\0';
	const struct thing *thing = find_thing(name);
	if (thing && thing->arguments == 2 && a && (b = strchr(a, ',')))
		*b++ = '\0';
	if (!thing || (thing->arguments > 0 && !a) || (thing->arguments > 1 && !b)) {
		fprintf(stderr, "forbid: '%s' is nothing to try\n", text);
		_exit(2);
	}
	long r = thing->attempt(a, b);
	dprintf(STDOUT_FILENO, "%s: %s\n", text, r < 0 ? strerrorname_np(errno) : "done");
	_exit(r < 0 ? 1 : 0);
}

int main(int argc, char **argv)
{
	bool any_done = false;
	int status;

	for (size_t i = 0; argc < 2 && i < THINGS; i++)
		printf("%s\n", things[i].name);
	for (int i = 1; i < argc; i++) {
		pid_t pid = fork();

		if (pid == 0)
			attempt(argv[i]);
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			return 2;
		if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
			return 2;
		if (WIFSIGNALED(status))
			printf("%s: killed by signal %d\n", argv[i], WTERMSIG(status));
		fflush(stdout);
		any_done |= WIFEXITED(status) && WEXITSTATUS(status) == 0;
	}
	return any_done;
}
