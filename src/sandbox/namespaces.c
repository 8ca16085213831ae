#include "sandbox/namespaces.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/at.h"
#include "core/buf.h"
#include "core/child.h"
#include "core/own.h"
#include "core/procfile.h"
#include "sandbox/ids.h"
#include "sandbox/process.h"
#include "sandbox/sandbox_user.h"

#define MAP_MAX 16384

static const char *const map_files[] = { "uid_map", "gid_map" };

/* The message that the child sends when it is in the namespaces. */
struct arrival {
	int error;
	char number[PROCESS_NUMBER_MAX]; /* the child's name in /proc */
};

static _Noreturn void child_main(const char *hostname, int proc, int leash)
{
	struct arrival arrival = { 0 };
	char c;

	if (hostname && sethostname(hostname, strlen(hostname)) < 0)
		arrival.error = errno;
	/*
	 * 'proc' may show another PID namespace, in which this process has another number than that
	 * of getpid.
	 */
	else if (process_number(proc, arrival.number) < 0)
		arrival.error = errno;
	(void)send(leash, &arrival, sizeof(arrival), MSG_NOSIGNAL);
	(void)recv(leash, &c, 1, 0);
	_exit(0);
}

static int await_arrival(struct namespaces *made, int proc, struct err *err)
{
	struct arrival arrival = { 0 };

	if (recv(made->leash, &arrival, sizeof(arrival), 0) != (ssize_t)sizeof(arrival))
		return err_set(err, ERR_SYSTEM, "the first process of the namespaces was killed");
	errno = arrival.error;
	if (errno)
		return err_errno(err, "set up the namespaces");
	arrival.number[sizeof(arrival.number) - 1] = '\0';
	made->process = at_open(proc, arrival.number, O_PATH | O_DIRECTORY, err);
	return made->process < 0 ? err_context(err, "find the process of the namespaces") : 0;
}

static pid_t clone_into(const struct clone_args *args, int cgroup)
{
	struct clone_args grouped = *args, plain = *args;

	grouped.flags |= CLONE_INTO_CGROUP;
	grouped.cgroup = (uint64_t)cgroup;
	pid_t pid = cgroup < 0 ? -1 : process_clone(&grouped);
	return pid < 0 ? process_clone(&plain) : pid;
}

int namespaces_make(unsigned long flags, const char *hostname, int proc, int cgroup,
	struct namespaces *out, struct err *err)
{
	struct clone_args args = { .flags = flags, .exit_signal = SIGCHLD };
	struct namespaces made = NAMESPACES_INIT;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_errno(err, "make a socket pair");
	made.leash = ends[0];
	made.pid = clone_into(&args, cgroup);
	if (made.pid == 0) {
		close_fd(&made.leash);
		child_main(flags & CLONE_NEWUTS ? hostname : NULL, proc, ends[1]);
	}
	int error = errno;
	close_fd(&ends[1]);
	if (made.pid < 0) {
		made.pid = 0;
		(void)sandbox_user_refused(error, "make the namespaces of the sandbox", err);
	}
	if (!made.pid || await_arrival(&made, proc, err) < 0) {
		namespaces_release(&made);
		return -(int)err->code;
	}
	*out = made;
	return 0;
}

/* Write a map that maps every id of this process's user namespace to itself. */
static int make_same_map(int self, const char *file, struct buf *out, struct err *err)
{
	owned(buf_release) struct buf own = BUF_INIT;
	unsigned first, above, count;
	int used;

	if (procfile_read_at(self, file, MAP_MAX, &own, err) < 0)
		return -(int)err->code;
	for (const char *p = own.data;
		p && sscanf(p, "%u %u %u%n", &first, &above, &count, &used) == 3; p += used)
		buf_addf(out, "%u %u %u\n", first, first, count);
	return out->len ? 0 : err_set(err, ERR_UNSUPPORTED, "no ids in our '%s'", file);
}

int namespaces_map_same(const struct namespaces *made, int self, struct err *err)
{
	for (size_t i = 0; i < 2; i++) {
		owned(buf_release) struct buf ids = BUF_INIT;

		if (make_same_map(self, map_files[i], &ids, err) < 0 ||
			procfile_write_at(made->process, map_files[i], ids.data, err) < 0)
			return err_context(err, "give the sandbox its ids");
	}
	return 0;
}

int namespaces_map_shifted(const struct namespaces *made, struct err *err)
{
	char map[64];

	snprintf(map, sizeof(map), "0 %u %u\n", IDS_FIRST, IDS_COUNT);
	for (size_t i = 0; i < 2; i++) {
		if (procfile_write_at(made->process, map_files[i], map, err) == 0)
			continue;
		return err->errno_value == EPERM
			       ? err_set(err, ERR_UNSUPPORTED,
					 "this user namespace has no ids to give away")
			       : err_context(err, "give the sandbox its ids");
	}
	return 0;
}

int namespaces_map_nobody(const struct namespaces *made, struct err *err)
{
	for (size_t i = 0; i < 2; i++)
		if (procfile_write_at(made->process, map_files[i], "1 0 1\n", err) < 0)
			return err_context(err, "make a user namespace for masks");
	return 0;
}

int namespaces_open(int process, const char *link, int flags, struct err *err)
{
	int fd = openat(process, link, flags | O_CLOEXEC); /* by-name: a magic link */

	return fd < 0 ? err_errno(err, "open '%s' of a process", link) : fd;
}

int namespaces_open_shifted(int proc, struct err *err)
{
	owned(namespaces_release) struct namespaces made = NAMESPACES_INIT;

	if (namespaces_make(CLONE_NEWUSER, NULL, proc, -1, &made, err) < 0 ||
		namespaces_map_shifted(&made, err) < 0)
		return -(int)err->code;
	return namespaces_open(made.process, "ns/user", O_RDONLY, err);
}

/* The input and the results of the process that copies the mounts. */
struct copier {
	int user, proc;
	int mnt, root;
};

static int copy_in_child(void *arg, struct err *err)
{
	struct copier *copier = arg;

	if (setns(copier->user, CLONE_NEWUSER) < 0 || unshare(CLONE_NEWNS) < 0)
		return err_errno(err, "copy the sandbox's mounts");
	copier->mnt = namespaces_open(copier->proc, "self/ns/mnt", O_RDONLY, err);
	if (copier->mnt < 0)
		return copier->mnt;
	copier->root = namespaces_open(copier->proc, "self/root", O_PATH | O_DIRECTORY, err);
	return copier->root < 0 ? copier->root : 0;
}

/* A child copies the mounts.  The child ends before any program runs in the sandbox. */
int namespaces_copy_mounts(int user, int proc, int *mnt, int *root, struct err *err)
{
	struct copier copier = { .user = user, .proc = proc, .mnt = -1, .root = -1 };
	int r = child_visit(copy_in_child, &copier, err);

	*mnt = copier.mnt;
	*root = copier.root;
	return r;
}

void namespaces_release(struct namespaces *made)
{
	close_fd(&made->process);
	close_fd(&made->leash);
	if (made->pid > 0)
		(void)child_wait(made->pid);
	made->pid = 0;
}
