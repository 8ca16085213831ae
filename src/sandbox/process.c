#include "sandbox/process.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "core/at.h"
#include "core/own.h"
#include "core/procfile.h"

#define STAT_MAX 4096
#define STAT_ARG_START 48 /* fields of /proc/PID/stat, counted from 1 */

pid_t process_clone(struct clone_args *args)
{
	long pid = syscall(SYS_clone3, args, sizeof(*args));

	/*
	 * Container runtimes refuse clone3, since filters cannot read its flags.  valgrind refuses
	 * it, too.
	 */
	if (pid < 0 && errno == ENOSYS && !(args->flags & CLONE_INTO_CGROUP))
		pid = syscall(SYS_clone, args->flags | args->exit_signal, NULL, NULL, NULL, 0);
	return (pid_t)pid;
}

void process_reset_signals(void)
{
	/* Zeros for the kernel's struct sigaction (SIG_DFL) and sigset_t (no signal is blocked). */
	static const char zero[64];

	/*
	 * Make system calls directly, because the C library refuses to change two signals that it
	 * uses itself.
	 */
	for (int sig = 1; sig < _NSIG; sig++)
		(void)syscall(SYS_rt_sigaction, sig, zero, NULL, (_NSIG - 1) / 8);
	(void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, zero, NULL, (_NSIG - 1) / 8);
}

int process_find_arguments(int self, struct process_arguments *out, struct err *err)
{
	owned(buf_release) struct buf stat = BUF_INIT;
	unsigned long long start, end;

	if (procfile_read_at(self, "stat", STAT_MAX, &stat, err) < 0)
		return err_context(err, "hide the arguments");
	/* The name in parentheses may contain spaces.  The field after it is the third field. */
	const char *field = strrchr(stat.data, ')');
	for (int i = 2; field && i < STAT_ARG_START; i++)
		field = strchr(field + 1, ' ');
	if (!field || sscanf(field, "%llu %llu", &start, &end) != 2 || end <= start)
		return err_set(
			err, ERR_UNSUPPORTED, "hide the arguments: no place in /proc/self/stat");
	out->start = (char *)(uintptr_t)start;
	out->end = (char *)(uintptr_t)end;
	return 0;
}

void process_hide_arguments(const struct process_arguments *arguments, const char *shown)
{
	size_t room = (size_t)(arguments->end - arguments->start);

	memset(arguments->start, 0, room);
	snprintf(arguments->start, room, "%s", shown);
}

/*
 * Give the descriptors in fds the numbers from PROCESS_FIRST_KEPT on.  First copy them above these
 * numbers, so that none is overwritten.
 */
static int renumber(const int *fds, int n)
{
	int above[PROCESS_KEPT_MAX];

	assert(n <= PROCESS_KEPT_MAX);
	for (int i = 0; i < n; i++) {
		above[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, PROCESS_FIRST_KEPT + n);
		if (above[i] < 0)
			return -1;
	}
	for (int i = 0; i < n; i++)
		if (dup3(above[i], PROCESS_FIRST_KEPT + i, O_CLOEXEC) < 0)
			return -1;
	return 0;
}

int process_keep_only(const int *fds, int n, struct err *err)
{
	owned_fd int null = at_open_given("/dev/null", O_RDWR, 0, err);

	if (null < 0)
		return null;
	for (int fd = 0; fd < PROCESS_FIRST_KEPT; fd++)
		if (dup2(null, fd) < 0)
			return err_errno(err, "open /dev/null");
	if (renumber(fds, n) < 0)
		return err_errno(err, "keep a descriptor");
	(void)take_fd(&null); /* the descriptor is 0, 1 or 2, or was replaced, or is closed below */
	if (close_range((unsigned)(PROCESS_FIRST_KEPT + n), ~0U, 0) < 0)
		return err_errno(err, "close inherited descriptors");
	return 0;
}

static int compare_ints(const void *a, const void *b)
{
	const int *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

int process_close_others(int *kept, int n, struct err *err)
{
	unsigned next = STDERR_FILENO + 1;

	qsort(kept, (size_t)n, sizeof(*kept), compare_ints);
	for (int i = 0; i <= n; i++) {
		unsigned end = i < n ? (unsigned)kept[i] : ~0U;

		if (i < n && kept[i] < (int)next)
			continue;
		if (end > next && close_range(next, i < n ? end - 1 : end, 0) < 0)
			return err_errno(err, "close inherited descriptors");
		next = end + 1;
	}
	return 0;
}

void process_die_with(int parent)
{
	char c;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (recv(parent, &c, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
		_exit(1);
}

void process_outlive_parent(void)
{
	(void)prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
}

int process_number(int proc, char number[PROCESS_NUMBER_MAX])
{
	ssize_t n = readlinkat(proc, "self", number, PROCESS_NUMBER_MAX - 1);

	number[n > 0 ? n : 0] = '\0';
	return n > 0 ? 0 : -1;
}

bool process_numbers_hold(void)
{
	char number[PROCESS_NUMBER_MAX];
	struct err ignored = { 0 };
	owned_fd int proc = at_open_given("/proc", O_PATH | O_DIRECTORY, 0, &ignored);

	return proc >= 0 && process_number(proc, number) == 0 && atoi(number) == (int)getpid();
}

bool process_is_in(int ns, const char *kind)
{
	struct err ignored = { 0 };
	struct stat its, ours;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/ns/%s", kind);
	owned_fd int own = at_open_given(path, O_RDONLY, 0, &ignored);
	return own >= 0 && fstat(ns, &its) == 0 && fstat(own, &ours) == 0 &&
	       its.st_dev == ours.st_dev && its.st_ino == ours.st_ino;
}
