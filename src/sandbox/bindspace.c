/*
 * A child does the work, since a process that has joined the sandbox's mounts cannot return.  The
 * child is not in the sandbox's PID namespace, so no program inside can reach it.
 */
#include "sandbox/bindspace.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/at.h"
#include "core/child.h"
#include "core/own.h"
#include "sandbox/bindlist.h"
#include "sandbox/bindmounts.h"
#include "sandbox/message.h"
#include "sandbox/namespaces.h"
#include "sandbox/process.h"

struct made {
	int32_t points; /* negative: err says why */
	struct err err;
};

static int join_user(const struct sandbox *sandbox, enum sandbox_fd which, struct err *err)
{
	/* EINVAL: we are in that namespace already. */
	if (setns(sandbox->fds[which], CLONE_NEWUSER) < 0 &&
		(which != SANDBOX_OUTER || errno != EINVAL))
		return err_errno(err, "join the sandbox");
	return 0;
}

/* Returns the mount namespace. */
static int build_mounts(
	const struct sandbox *sandbox, const struct bindspecs *binds, int *points, struct err *err)
{
	owned_fd int self = at_open_given("/proc/self", O_PATH | O_DIRECTORY, 0, err);

	if (self < 0 || join_user(sandbox, SANDBOX_OUTER, err) < 0)
		return -(int)err->code;
	/* Mounted in the user namespace above the inside, so that the kernel locks the binds. */
	*points = bindmounts_enter(binds, sandbox->fds[SANDBOX_MNT],
		sandbox->shifted ? sandbox->fds[SANDBOX_USER] : -1, err);
	if (*points < 0 || join_user(sandbox, SANDBOX_USER, err) < 0)
		return -(int)err->code;
	if (unshare(CLONE_NEWNS) < 0)
		return err_errno(err, "copy the sandbox's mounts");
	if (bindlist_add(sandbox->fds[SANDBOX_BINDS], self, binds, err) < 0)
		return -(int)err->code;
	return namespaces_open(self, "ns/mnt", O_RDONLY, err);
}

static _Noreturn void builder_main(
	const struct sandbox *sandbox, const struct bindspecs *binds, int socket)
{
	struct made made = { 0 };

	process_die_with(socket);
	int mnt = build_mounts(sandbox, binds, &made.points, &made.err);
	if (mnt < 0)
		made.points = mnt;
	(void)message_send(socket, &made, sizeof(made), &mnt, mnt >= 0);
	_exit(0);
}

int bindspace_make(
	const struct sandbox *sandbox, const struct bindspecs *binds, int *points, struct err *err)
{
	struct clone_args args = { .exit_signal = SIGCHLD };
	struct made made = { 0 };
	owned_fd int mnt = -1;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_errno(err, "make a socket pair");
	pid_t pid = process_clone(&args);
	if (pid == 0)
		builder_main(sandbox, binds, ends[1]);
	close_fd(&ends[1]);
	int r = pid < 0 ? -errno : message_receive(ends[0], &made, sizeof(made), &mnt, 1, -1);
	close_fd(&ends[0]);
	if (pid > 0)
		(void)child_wait(pid);
	if (r != 1)
		return err_set(err, ERR_SYSTEM, "make the mounts of the binds: the process %s",
			pid < 0 ? "could not be started" : "was killed");
	*points = made.points;
	if (made.points < 0) {
		*err = made.err;
		return -(int)err->code;
	}
	return take_fd(&mnt);
}
