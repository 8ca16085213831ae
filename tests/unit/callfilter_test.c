/* callfilter: the calls that each variant refuses, and the events that a listener gets. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/at.h"
#include "core/own.h"
#include "sandbox/callfilter.h"
#include "sandbox/message.h"
#include "tempdir_fixture.h"
#include "userns_fixture.h"

#define PROTOCOL_MPTCP 262
#define UPPER_HALF (1UL << 32)
#define NOEXEC_SEAL 8
#define LOADED 77 /* exit status of the child if the filter could not be loaded */

static void skip_unless_possible(void)
{
	const char *preloaded = getenv("LD_PRELOAD");

	if (!preloaded || !strstr(preloaded, "vgpreload"))
		return;
	printf("# skip: valgrind\n");
	skip();
}

static int load(unsigned variant)
{
	struct err err = { 0 };
	int r = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);

	if (r == 0)
		r = callfilter_load(callfilter_bytes(variant), variant & CALLFILTER_EXPLAIN, &err);
	if (r < 0)
		fprintf(stderr, "%s\n", err.text);
	return r;
}

/* Run the checks under a variant of the filter, in a child. */
static void under(unsigned variant, int (*checks)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(load(variant) < 0 ? LOADED : checks());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* --------------------------------------------------------------------- numbers */

struct attempt {
	const char *what;
	long nr;
	unsigned long args[5];
	int error; /* expected error; 0: the call succeeds */
};

static int try_all(const struct attempt *attempts, size_t n)
{
	int failed = 0;

	for (size_t i = 0; i < n; i++) {
		const struct attempt *a = &attempts[i];
		long r = syscall(
			a->nr, a->args[0], a->args[1], a->args[2], a->args[3], a->args[4], 0);
		int error = r < 0 ? errno : 0;

		if (error == a->error)
			continue;
		fprintf(stderr, "%s: %s\n", a->what, error ? strerror(error) : "done");
		failed = 1;
	}
	return failed;
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct attempt always[] = {
	{ "ptrace", SYS_ptrace, { PTRACE_TRACEME }, EPERM },
	{ "process_vm_readv", SYS_process_vm_readv, { 1 }, EPERM },
	{ "process_vm_writev", SYS_process_vm_writev, { 1 }, EPERM },
	{ "pidfd_getfd", SYS_pidfd_getfd, { 0 }, EPERM },
	{ "kcmp", SYS_kcmp, { 1, 1 }, EPERM },
	{ "keyctl", SYS_keyctl, { 0 }, EPERM },
	{ "add_key", SYS_add_key, { 0 }, EPERM },
	{ "request_key", SYS_request_key, { 0 }, EPERM },
	{ "bpf", SYS_bpf, { 0 }, EPERM },
	{ "perf_event_open", SYS_perf_event_open, { 0 }, EPERM },
	{ "io_uring_setup", SYS_io_uring_setup, { 1 }, ENOSYS },
	{ "io_uring_enter", SYS_io_uring_enter, { 0 }, ENOSYS },
	{ "userfaultfd", SYS_userfaultfd, { 1 }, EPERM },
	{ "kexec_load", SYS_kexec_load, { 0 }, EPERM },
	{ "init_module", SYS_init_module, { 0 }, EPERM },
	{ "finit_module", SYS_finit_module, { 0 }, EPERM },
	{ "reboot", SYS_reboot, { 0 }, EPERM },
	{ "swapon", SYS_swapon, { 0 }, EPERM },
	{ "open_by_handle_at", SYS_open_by_handle_at, { 0 }, EPERM },
	{ "quotactl", SYS_quotactl, { 0 }, EPERM },
	{ "acct", SYS_acct, { 0 }, EPERM },
	{ "syslog", SYS_syslog, { 10 }, EPERM },
	{ "clock_settime", SYS_clock_settime, { 0 }, EPERM },
	{ "personality", SYS_personality, { READ_IMPLIES_EXEC }, EPERM },
	{ "personality, asked", SYS_personality, { 0xffffffff }, 0 },
	{ "TIOCSTI", SYS_ioctl, { 0, TIOCSTI }, EPERM },
	{ "TIOCSTI with more bits", SYS_ioctl, { 0, TIOCSTI | UPPER_HALF }, EPERM },
	{ "TIOCLINUX", SYS_ioctl, { 0, TIOCLINUX }, EPERM },
	{ "another ioctl", SYS_ioctl, { 99, TIOCGWINSZ }, EBADF },
	{ "AF_VSOCK", SYS_socket, { AF_VSOCK, SOCK_STREAM }, EPERM },
	{ "AF_ALG", SYS_socket, { AF_ALG, SOCK_SEQPACKET }, EPERM },
	{ "AF_PACKET", SYS_socket, { AF_PACKET, SOCK_RAW }, EPERM },
	{ "AF_UNIX", SYS_socket, { AF_UNIX, SOCK_STREAM }, 0 },
	{ "AF_INET", SYS_socket, { AF_INET, SOCK_STREAM }, 0 },
	{ "AF_INET with more bits", SYS_socket, { AF_INET | UPPER_HALF, SOCK_DGRAM }, 0 },
	{ "NETLINK_ROUTE", SYS_socket, { AF_NETLINK, SOCK_RAW, 0 }, 0 },
	{ "MPTCP", SYS_socket, { AF_INET, SOCK_STREAM, PROTOCOL_MPTCP }, EPROTONOSUPPORT },
	{ "fast open", SYS_sendto, { 99, 0, 0, MSG_FASTOPEN }, EOPNOTSUPP },
	{ "fast open by a message", SYS_sendmsg, { 99, 0, MSG_FASTOPEN }, EOPNOTSUPP },
	{ "fast open by messages", SYS_sendmmsg, { 99, 0, 0, MSG_FASTOPEN }, EOPNOTSUPP },
	{ "sendto", SYS_sendto, { 99 }, EBADF },
	{ "a call of the future", 1000, { 0 }, ENOSYS },
	{ "a call of tomorrow", 490, { 0 }, ENOSYS },
#ifdef __x86_64__
	{ "iopl", SYS_iopl, { 3 }, EPERM },
	{ "ioperm", SYS_ioperm, { 0, 1, 1 }, EPERM },
	{ "getpid of x32", 0x40000000 | SYS_getpid, { 0 }, ENOSYS },
	{ "ioctl of x32", 0x40000000 | 514, { 0, TIOCSTI }, ENOSYS },
#endif
};

static int check_always(void)
{
	return try_all(always, COUNT(always));
}

static const struct attempt not_nested[] = {
	{ "mount", SYS_mount, { 0 }, EPERM },
	{ "umount", SYS_umount2, { 0 }, EPERM },
	{ "pivot_root", SYS_pivot_root, { 0 }, EPERM },
	{ "chroot", SYS_chroot, { 0 }, EPERM },
	{ "setns", SYS_setns, { 99 }, EPERM },
	{ "fsopen", SYS_fsopen, { 0 }, EPERM },
	{ "open_tree", SYS_open_tree, { 99 }, EPERM },
	{ "move_mount", SYS_move_mount, { 99 }, EPERM },
	{ "a user namespace", SYS_unshare, { CLONE_NEWUSER }, EPERM },
	{ "a mount namespace", SYS_unshare, { CLONE_NEWNS }, EPERM },
	{ "a time namespace", SYS_unshare, { CLONE_NEWTIME }, EPERM },
	{ "unshare of files", SYS_unshare, { CLONE_FILES }, 0 },
	{ "clone with a namespace", SYS_clone, { CLONE_NEWUSER | SIGCHLD }, EPERM },
	{ "clone3", SYS_clone3, { 0 }, ENOSYS },
	{ "NETLINK_NETFILTER", SYS_socket, { AF_NETLINK, SOCK_RAW, 12 }, EPERM },
};

static int check_not_nested(void)
{
	return check_always() || try_all(not_nested, COUNT(not_nested));
}

static const struct attempt when_nested[] = {
	{ "setns", SYS_setns, { 99 }, EBADF },
	{ "unshare", SYS_unshare, { CLONE_NEWUSER }, 0 },
	{ "mount", SYS_mount, { 0 }, EFAULT },
	{ "clone3", SYS_clone3, { 0 }, EINVAL },
};

static int check_nested(void)
{
	return check_always() || try_all(when_nested, COUNT(when_nested));
}

static void denies_what_no_program_needs(void **state)
{
	skip_unless_possible();
	under(0, check_not_nested);
}

static void allows_sandboxes_below(void **state)
{
	char why[SANDBOX_USER_WHY_MAX];

	skip_unless_possible();
	if (!is_userns_possible(why)) {
		printf("# skip: %s\n", why);
		skip();
	}
	under(CALLFILTER_NESTED, check_nested);
}

#ifdef __x86_64__
/* Make a call of i386.  Its numbers are from another table. */
static long call_i386(long nr, long a, long b, long c)
{
	long r;

	__asm__ volatile("int $0x80" : "=a"(r) : "a"(nr), "b"(a), "c"(b), "d"(c) : "memory");
	return r;
}

static const struct {
	const char *what;
	long nr, a, b, c, result;
} of_i386[] = {
	{ "ptrace", 26, PTRACE_TRACEME, 0, 0, -EPERM },
	{ "mount", 21, 0, 0, 0, -EPERM },
	{ "socketcall", 102, 1, 0, 0, -EPERM },
	{ "AF_VSOCK", 359, AF_VSOCK, SOCK_STREAM, 0, -EPERM },
	{ "MPTCP", 359, AF_INET, SOCK_STREAM, PROTOCOL_MPTCP, -EPROTONOSUPPORT },
	{ "TIOCSTI", 54, 0, TIOCSTI, 0, -EPERM },
	{ "unshare", 310, CLONE_NEWUSER, 0, 0, -EPERM },
	{ "clone", 120, CLONE_NEWUSER | SIGCHLD, 0, 0, -EPERM },
	{ "io_uring_setup", 425, 1, 0, 0, -ENOSYS },
	{ "a call of the future", 1000, 0, 0, 0, -ENOSYS },
};

static int check_i386(void)
{
	int failed = 0;

	if (call_i386(20, 0, 0, 0) != getpid())
		return 0; /* the kernel does not have these calls */
	for (size_t i = 0; i < COUNT(of_i386); i++) {
		long r = call_i386(of_i386[i].nr, of_i386[i].a, of_i386[i].b, of_i386[i].c);

		if (r == of_i386[i].result)
			continue;
		fprintf(stderr, "%s: %ld\n", of_i386[i].what, r);
		failed = 1;
	}
	return failed;
}

static void denies_the_same_to_32_bit_programs(void **state)
{
	skip_unless_possible();
	under(0, check_i386);
}
#endif

static int check_memory_files(void)
{
	static const struct attempt attempts[] = {
		{ "memfd", SYS_memfd_create, { (unsigned long)"a", 0 }, EPERM },
		{ "memfd to execute", SYS_memfd_create, { (unsigned long)"a", 0x10 }, EPERM },
	};
	owned_fd int fd = memfd_create("a", NOEXEC_SEAL);

	/* EINVAL is the result before Linux 6.3. */
	return try_all(attempts, COUNT(attempts)) || (fd < 0 && errno != EINVAL);
}

static void seals_files_in_memory(void **state)
{
	skip_unless_possible();
	under(CALLFILTER_EXEC, check_memory_files);
}

static int check_listen(void)
{
	static const struct attempt attempts[] = {
		{ "listen", SYS_listen, { 99, 1 }, EPERM },
	};

	return check_always() || try_all(attempts, COUNT(attempts));
}

static void denies_to_listen(void **state)
{
	skip_unless_possible();
	under(CALLFILTER_NO_LISTEN, check_listen);
}

static int run_shell(void)
{
	static const char line[] =
		"set -e; cd /tmp; d=$(mktemp -d); cd $d; echo a | sed s/a/b/ >x; mkdir y; mv x y/;"
		" ln -s y/x z; test $(cat z) = b; chmod 700 y; touch y/x; (sleep 0 & wait);"
		" cd /; rm -r $d";

	execl("/bin/sh", "sh", "-c", line, NULL);
	return 1;
}

static void lets_a_shell_work(void **state)
{
	skip_unless_possible();
	under(0, run_shell);
	under(CALLFILTER_NO_LISTEN | CALLFILTER_EXEC, run_shell);
}

/* ----------------------------------------------------------------------- explain */

struct heard {
	char text[4096]; /* one line for each event */
	pid_t tid;
};

static void hear(void *arg, const struct callfilter_event *event)
{
	struct heard *heard = arg;
	size_t len = strlen(heard->text);

	snprintf(heard->text + len, sizeof(heard->text) - len, "%s%s %s %s\n", event->call,
		event->denied ? " denied" : "", event->path ? event->path : "-",
		event->path2 ? event->path2 : "-");
	assert_int_equal(event->tid, heard->tid);
	assert_int_equal(event->pid, heard->tid);
	assert_int_equal(event->inside, heard->tid);
}

/* Load a filter in a child, which then makes the calls.  Returns the filter's listener. */
static int start_explained(unsigned variant, int (*calls)(void), pid_t *pid)
{
	int ends[2], listener = -1;
	char c = 0;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	*pid = fork();
	if (*pid == 0) {
		int fd = load(variant);

		if (fd < 0 || message_send(ends[1], &c, 1, &fd, 1) < 0)
			_exit(LOADED);
		(void)close(fd);
		_exit(calls());
	}
	close(ends[1]);
	int r = message_receive(ends[0], &c, 1, &listener, 1, 10000);
	close(ends[0]);
	return r == 1 ? listener : -1;
}

static char dir[64];

static int make_calls(void)
{
	static const struct attempt last[] = {
		{ "ptrace", SYS_ptrace, { PTRACE_TRACEME }, EPERM },
		{ "TIOCSTI", SYS_ioctl, { 0, TIOCSTI }, EPERM },
		{ "io_uring_setup", SYS_io_uring_setup, { 1 }, ENOSYS },
		{ "AF_VSOCK", SYS_socket, { AF_VSOCK, SOCK_STREAM }, EPERM },
	};
	struct {
		uint64_t flags, mode, resolve;
	} how = { .flags = O_RDONLY };

	if (chdir(dir) < 0)
		return 1;
	int read_only = open("/dev/null", O_RDONLY);
	int file = open("././/file", O_WRONLY | O_CREAT, 0644);
	int top = open(".", O_RDONLY | O_DIRECTORY);
	int failed = read_only < 0 || file < 0 || top < 0;
	failed |= mkdirat(top, "made", 0755) < 0;
	failed |= rename("file", "made/..//made/new") < 0;
	failed |= mkdir("/proc/none/such", 0755) == 0 || errno != ENOENT;
	failed |= fchmod(file, 0600) < 0;
	failed |= syscall(SYS_openat2, top, "made", &how, sizeof(how)) < 0;
	how.flags = O_RDWR;
	failed |= syscall(SYS_openat2, top, "made/new", &how, sizeof(how)) < 0;
	return failed || try_all(last, COUNT(last));
}

static void hears_of_denials_and_changes(void **state)
{
	struct heard heard = { .text = "" };
	struct err err = { 0 };
	char expected[2048];
	int status;

	skip_unless_possible();
	snprintf(dir, sizeof(dir), "/tmp/strata-callfilter.XXXXXX");
	assert_non_null(mkdtemp(dir));
	int fd = start_explained(CALLFILTER_EXPLAIN, make_calls, &heard.tid);
	assert_true(fd >= 0);
	struct callfilter_listener *listener =
		callfilter_listener_take(fd, open("/proc", O_PATH | O_CLOEXEC), &err);
	assert_non_null(listener);
	struct pollfd ready = { .fd = callfilter_listener_fd(listener), .events = POLLIN };
	while (poll(&ready, 1, 10000) > 0 && !(ready.revents & POLLHUP))
		assert_true(callfilter_notified(listener, hear, &heard, &err) >= 0);
	callfilter_listener_free(listener);
	assert_int_equal(waitpid(heard.tid, &status, 0), heard.tid);
	assert_int_equal(status, 0);
	snprintf(expected, sizeof(expected),
		"openat %s/file -\nmkdirat %s/made -\nrename %s/file %s/made/new\n"
		"mkdir /proc/none/such -\nfchmod %s/made/new -\nopenat2 %s/made/new -\n"
		"ptrace denied - -\nioctl denied - -\nsocket denied - -\n",
		dir, dir, dir, dir, dir, dir);
#ifdef SYS_rename
	assert_string_equal(heard.text, expected);
#else
	assert_non_null(strstr(heard.text, "ptrace denied - -\n"));
#endif
	assert_int_equal(tempdir_remove(dir), 0);
}

static void takes_only_listeners(void **state)
{
	struct err err = { 0 };
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_null(callfilter_listener_take(fd, open("/proc", O_PATH | O_CLOEXEC), &err));
	assert_int_equal(err.code, ERR_INVALID);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static int load_again(void)
{
	struct err err = { 0 };

	return callfilter_load(callfilter_bytes(CALLFILTER_EXPLAIN), true, &err) != -ERR_BUSY;
}

static void says_that_another_listens(void **state)
{
	int status;

	skip_unless_possible();
	pid_t pid = fork();
	if (pid == 0) {
		int fd = load(CALLFILTER_EXPLAIN);

		_exit(fd < 0 ? LOADED : load_again());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(denies_what_no_program_needs),
		cmocka_unit_test(allows_sandboxes_below),
#ifdef __x86_64__
		cmocka_unit_test(denies_the_same_to_32_bit_programs),
#endif
		cmocka_unit_test(seals_files_in_memory),
		cmocka_unit_test(denies_to_listen),
		cmocka_unit_test(lets_a_shell_work),
		cmocka_unit_test(hears_of_denials_and_changes),
		cmocka_unit_test(takes_only_listeners),
		cmocka_unit_test(says_that_another_listens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
