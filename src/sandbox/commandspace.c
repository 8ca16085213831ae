#include "sandbox/commandspace.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/at.h"
#include "core/child.h"
#include "core/own.h"
#include "sandbox/bindlist.h"
#include "sandbox/bindmounts.h"
#include "sandbox/ids.h"
#include "sandbox/message.h"
#include "sandbox/mountcall.h"
#include "sandbox/namespaces.h"
#include "sandbox/process.h"

enum { SENT_MNT, SENT_NET, SENT_FDS };

struct answer {
	int32_t points; /* number of mount points that were made; negative: the error is in err */
	uint32_t sent;  /* one bit for each of SENT_FDS */
	struct err err;
};

/* The state of the child that makes the namespaces. */
struct building {
	const struct sandbox *sandbox;
	const struct commandspace_plan *plan;
	int proc, self; /* the host's /proc, and this process's directory in it */
	int net;        /* borrowed; -1: none */
	int mnt;
	struct mountplan_made mounts;
};

/* ------------------------------------------------------------------- network */

static int make_net(struct building *building, struct err *err)
{
	const struct commandspace_plan *plan = building->plan;

	building->net = plan->make_net ? plan->make_net(plan->net_arg, err) : -1;
	return plan->make_net && building->net < 0 ? building->net : 0;
}

/* Mount a new /sys, which shows the devices of the command's network instead of the sandbox's. */
static int mount_sys(struct err *err)
{
	struct err no_sys = { 0 };
	owned_fd int root = at_open_given("/", O_PATH | O_DIRECTORY, 0, err);
	owned_fd int sys = root < 0 ? root : at_open(root, "sys", O_PATH | O_DIRECTORY, &no_sys);

	if (sys < 0)
		return root < 0 ? root : 0;
	owned_fd int tree =
		mountcall_new("sysfs", NULL, MOUNT_ATTR_RDONLY | MOUNTCALL_DATA, &no_sys);
	/*
	 * The kernel allows a new /sys only where an existing one is visible and nothing is mounted
	 * over parts of it.
	 */
	if (tree < 0)
		return 0;
	return mountcall_attach(tree, root, "sys") < 0 ? err_errno(err, "mount /sys") : 0;
}

/*
 * Join the command's network and mount /sys, since a sysfs shows the network of the process that
 * makes it.
 */
static int mount_sys_in_net(void *arg, struct err *err)
{
	const struct building *building = arg;

	if (setns(building->net, CLONE_NEWNET) < 0)
		return err_errno(err, "join the command's network");
	return mount_sys(err);
}

/* -------------------------------------------------------------------- mounts */

static int join_outer(const struct sandbox *sandbox, struct err *err)
{
	/* EINVAL means that this process is already in that namespace. */
	if (setns(sandbox->fds[SANDBOX_OUTER], CLONE_NEWUSER) < 0 && errno != EINVAL)
		return err_errno(err, "join the sandbox");
	return 0;
}

/*
 * Open a new user namespace that maps id 0 of this process to another id.  Masks that no process
 * serves need such a namespace.
 */
static int open_nobody(int proc)
{
	owned(namespaces_release) struct namespaces made = NAMESPACES_INIT;
	struct err ignored = { 0 };

	if (namespaces_make(CLONE_NEWUSER, NULL, proc, -1, &made, &ignored) < 0 ||
		namespaces_map_nobody(&made, &ignored) < 0)
		return -1;
	return namespaces_open(made.process, "ns/user", O_RDONLY, &ignored);
}

static int open_proc(struct building *building, struct err *err)
{
	building->proc = at_open_given("/proc", O_PATH | O_DIRECTORY, 0, err);
	if (building->proc < 0)
		return building->proc;
	building->self = at_open_given("/proc/self", O_PATH | O_DIRECTORY, 0, err);
	return building->self < 0 ? building->self : 0;
}

static int apply_plan(
	struct building *building, struct mountplan *plan, const struct err *why, struct err *err)
{
	int self = building->plan->keep ? building->self : -1;

	if (mountplan_apply(plan, self, &building->mounts, err) < 0)
		return -(int)err->code;
	if (!building->mounts.masks && !building->mounts.unexplained.code)
		building->mounts.unexplained = *why;
	return 0;
}

/* Make the mounts shared, so that later changes reach the copy that the command uses. */
static int share_mounts(struct err *err)
{
	struct mount_attr shared = { .propagation = MS_SHARED };

	return mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &shared, sizeof(shared)) < 0
		       ? err_errno(err, "share the command's mounts")
		       : 0;
}

static int copy_mounts(struct building *building, struct err *err)
{
	const struct sandbox *sandbox = building->sandbox;
	owned_fd int root = -1;

	if (building->plan->keep && share_mounts(err) < 0)
		return -(int)err->code;
	if (namespaces_copy_mounts(
		    sandbox->fds[SANDBOX_USER], building->proc, &building->mnt, &root, err) < 0)
		return -(int)err->code;
	return bindlist_add(
		sandbox->fds[SANDBOX_BINDS], building->mnt, &building->plan->binds, err);
}

/* Build the mounts of the command.  Returns the number of mount points that were made. */
static int build_mounts(struct building *building, struct err *err)
{
	const struct commandspace_plan *plan = building->plan;
	const struct sandbox *sandbox = building->sandbox;
	int ids = sandbox->shifted ? sandbox->fds[SANDBOX_USER] : -1;
	struct mountplan mounts = { .device = -1, .nobody = -1, .stub_locks = -1 };
	struct err why = { 0 };

	if (open_proc(building, err) < 0 || join_outer(sandbox, err) < 0 ||
		make_net(building, err) < 0)
		return -(int)err->code;
	if (plan->mounts) {
		mounts = *plan->mounts;
		mounts.owner = sandbox->shifted ? IDS_FIRST : 0;
		/* Only a warden can serve the file system of the masks. */
		mounts.device = plan->keep ? maskfs_open(&why) : -1;
		mounts.nobody =
			mounts.device < 0 || mounts.changes ? open_nobody(building->proc) : -1;
	}
	int points = bindmounts_enter(&plan->binds, sandbox->fds[SANDBOX_MNT], ids, err);
	if (points < 0 ||
		(building->net >= 0 && child_visit(mount_sys_in_net, building, err) < 0) ||
		(plan->look && plan->look(plan->look_arg, &mounts, err) < 0) ||
		(plan->mounts && apply_plan(building, &mounts, &why, err) < 0) ||
		copy_mounts(building, err) < 0)
		return -(int)err->code;
	return points;
}

/* --------------------------------------------------------------------- child */

static void send_answer(const struct building *building, struct answer *answer, int socket)
{
	const int fds[SENT_FDS] = { [SENT_MNT] = building->mnt, [SENT_NET] = building->net };
	int sent[SENT_FDS];
	size_t n = 0;

	if (answer->points >= 0)
		answer->sent = message_pack(fds, SENT_FDS, sent, &n);
	(void)message_send(socket, answer, sizeof(*answer), sent, n);
}

static int leave_standard_files(struct err *err)
{
	owned_fd int null = at_open_given("/dev/null", O_RDWR, 0, err);

	for (int fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++)
		if (dup2(null, fd) < 0)
			return err_errno(err, "open /dev/null");
	return null < 0 ? null : 0;
}

/*
 * Start a session, and close all descriptors that the warden does not need.  The warden must not
 * keep the connection to the holder: when the connection is closed, the holder knows that the
 * strata process which runs the command has ended.  The warden must not keep a pipe of the caller
 * either, since the reader of a pipe waits until all writers have closed it.
 */
static int become_keeper(const struct sandbox *sandbox, const struct commandspace_plan *plan,
	const int sockets[2], struct err *err)
{
	int kept[SANDBOX_FDS + 2 + COMMANDSPACE_FDS_MAX];
	int n = 0;

	for (int i = 0; i < SANDBOX_FDS; i++)
		kept[n++] = sandbox->fds[i];
	for (int i = 0; i < 2; i++)
		kept[n++] = sockets[i];
	for (size_t i = 0; i < plan->n_fds; i++)
		kept[n++] = plan->fds[i];
	(void)setsid();
	process_reset_signals();
	return leave_standard_files(err) < 0 ? -(int)err->code : process_close_others(kept, n, err);
}

static int do_work(struct building *building, int socket, int warden_socket, struct err *err)
{
	const int sockets[] = { socket, warden_socket };

	if (building->plan->keep &&
		become_keeper(building->sandbox, building->plan, sockets, err) < 0)
		return -(int)err->code;
	return build_mounts(building, err);
}

static _Noreturn void child_main(const struct sandbox *sandbox,
	const struct commandspace_plan *plan, int socket, int warden_socket)
{
	struct building building = {
		.sandbox = sandbox,
		.plan = plan,
		.proc = -1,
		.self = -1,
		.net = -1,
		.mnt = -1,
		.mounts = MOUNTPLAN_MADE_INIT,
	};
	struct answer answer = { 0 };

	process_die_with(socket);
	answer.points = do_work(&building, socket, warden_socket, &answer.err);
	if (answer.points < 0)
		mountplan_remove_stubs(&building.mounts);
	send_answer(&building, &answer, socket);
	if (answer.points < 0 || !plan->keep)
		_exit(0);
	process_outlive_parent();
	struct stat st = { 0 };
	(void)fstat(building.mnt, &st);
	const struct commandspace_warden warden = {
		.mounts = plan->mounts ? &building.mounts : NULL,
		.proc = building.proc,
		.mnt = st.st_ino,
		.net = building.net,
		.socket = warden_socket,
	};
	close_fd(&building.mnt);
	close_fd(&socket);
	_exit(plan->keep(plan->keep_arg, &warden));
}

/* -------------------------------------------------------------------- parent */

static int take_answer(
	struct commandspace *out, const struct answer *answer, const int *fds, struct err *err)
{
	int unpacked[SENT_FDS];

	message_unpack(fds, answer->sent, unpacked, SENT_FDS);
	out->mnt = unpacked[SENT_MNT];
	out->net = unpacked[SENT_NET];
	out->points = answer->points;
	if (answer->points >= 0)
		return 0;
	*err = answer->err;
	return -(int)err->code;
}

/* Make the child and receive its answer. */
static int run_child(const struct sandbox *sandbox, const struct commandspace_plan *plan,
	int warden_socket, struct commandspace *out, struct err *err)
{
	struct clone_args args = { .exit_signal = SIGCHLD };
	struct answer answer = { 0 };
	int ends[2], fds[SENT_FDS];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_errno(err, "make a socket pair");
	out->pid = process_clone(&args);
	if (out->pid == 0) {
		close_fd(&ends[0]);
		close_fd(&out->warden);
		child_main(sandbox, plan, ends[1], warden_socket);
	}
	close_fd(&ends[1]);
	int r = out->pid < 0 ? -errno
			     : message_receive(ends[0], &answer, sizeof(answer), fds, SENT_FDS, -1);
	close_fd(&ends[0]);
	if (r == 1)
		return take_answer(out, &answer, fds, err);
	return err_set(err, ERR_SYSTEM, "make the command's namespaces: the process %s",
		out->pid < 0 ? "could not be started" : "was killed");
}

int commandspace_make(const struct sandbox *sandbox, const struct commandspace_plan *plan,
	struct commandspace *out, struct err *err)
{
	int warden[2] = { -1, -1 };

	*out = COMMANDSPACE_INIT;
	if (plan->keep && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, warden) < 0)
		return err_errno(err, "make a socket pair");
	out->warden = warden[0];
	int r = run_child(sandbox, plan, warden[1], out, err);
	close_fd(&warden[1]);
	if (r >= 0 && plan->keep) {
		out->keeper = pidfd_open(out->pid, 0);
		r = out->keeper < 0 ? err_errno(err, "open the process of the warden") : r;
	}
	if (r < 0)
		close_fd(&out->warden); /* this ends the warden, if there is one */
	if ((r < 0 || !plan->keep) && out->pid > 0)
		(void)child_wait(out->pid);
	if (r < 0 || !plan->keep)
		out->pid = 0;
	if (r < 0)
		commandspace_release(out);
	return r;
}

void commandspace_release(struct commandspace *space)
{
	close_fd(&space->mnt);
	close_fd(&space->net);
	close_fd(&space->warden);
	close_fd(&space->keeper);
}
