/*
 * The holder's set-up has these steps:
 *
 * 1. Start a session, make the socket, close inherited descriptors.
 * 2. Make the inner user namespace, below that of the holder, and the namespaces that belong to it
 *    (namespaces.c).  Make the mounts (mounts.c), and a copy of them, which belongs to the inner
 *    user namespace.  The mounts of the copy are locked.  The holder gives descriptors of the copy
 *    and of the namespaces to strata processes.  It enters neither the copy nor these namespaces.
 * 3. Set a boundary for abstract sockets (scope.c).  Every command inherits the boundary, except
 *    commands with a Landlock domain of their own (forker.c).
 * 4. Become undumpable.
 *
 * All programs of the sandbox see the holder in /proc as process 1.  But the holder belongs to the
 * outer user namespace, in which these programs have no rights, whatever their uid.  So they reach
 * neither the holder's memory nor its descriptors nor its program, which is the host's strata.
 * This is also true while the holder ends, when the kernel no longer checks whether a process is
 * dumpable.
 *
 * The holder is a fork that never executes a program.  It has to exist before the mounts are made,
 * and there is no strata program in these mounts that it could execute.
 */
#include "sandbox/holder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "core/at.h"
#include "core/own.h"
#include "core/when.h"
#include "sandbox/bindlist.h"
#include "sandbox/forker.h"
#include "sandbox/freezer.h"
#include "sandbox/guarded.h"
#include "sandbox/ids.h"
#include "sandbox/inside.h"
#include "sandbox/launcher.h"
#include "sandbox/message.h"
#include "sandbox/namespaces.h"
#include "sandbox/netspace.h"
#include "sandbox/process.h"
#include "sandbox/sandbox.h"
#include "sandbox/scope.h"

#define CLIENTS_MAX 256
/* the queue of a stopped holder also keeps connections that were closed */
#define BACKLOG 4096
#define END_MS 500   /* time for processes to end after SIGKILL */
#define GREET_MS 500 /* time for clients to receive descriptors that were sent to them */
#define ROOM_MIN 3
#define CLIENT_FDS 3
#define SPARE_FDS 6 /* descriptors that are open only while a request is handled */

struct client {
	int fd;
	/* pids of the client and of its parent on the host; 0: the client ran no command */
	pid_t self, parent;
	pid_t command; /* the client's running command; 0: none */
	int status;    /* pipe for the command's status; -1: no command */
	bool runs;     /* the client has started a command, now or earlier */
	bool froze;    /* the client has frozen the sandbox */
};

struct holder {
	int listener;
	/*
	 * run/NAME.over; the holder writes a byte to it if no process is left when the holder ends
	 */
	int over;
	int signals;
	int fds[SANDBOX_FDS];
	struct mounts mounts;
	struct inside_place place; /* the data that the process of a command needs */
	bool scoped;
	/* forks commands that must not be in the holder's domain; NULL: the holder has no domain */
	struct forker *forker;
	struct freezer freezer;
	struct guarded guarded; /* the commands that have wardens */
	struct client clients[CLIENTS_MAX];
	/* number of clients, and the largest number for which there are descriptors */
	int n_clients, room;
};

/* ------------------------------------------------------------------- set-up */

/*
 * Make a listening socket at run/NAME.holder.  An existing file belongs to a holder that has ended:
 * the process that starts this holder has locked the workspace, and has found no process that
 * listens there.
 */
static int make_listener(int run, const char *name, struct err *err)
{
	owned_fd int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t room = sizeof(address.sun_path);

	if ((size_t)snprintf(address.sun_path, room, "%s" HOLDER_SUFFIX, name) >= room)
		return err_set(err, ERR_LIMIT, "the name '%.40s...' is too long", name);
	/* The file of the socket gets the mode of the descriptor. */
	if (fd < 0 || fchmod(fd, 0600) < 0 || fchdir(run) < 0)
		return err_errno(err, "make the holder's socket");
	(void)unlinkat(run, address.sun_path, 0);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return err_errno(err, "make the holder's socket '%s'", address.sun_path);
	return take_fd(&fd);
}

/* Make run/NAME.over anew, because an earlier holder may still write to its own file. */
static int make_over_file(int run, const char *name, struct err *err)
{
	char file[NAME_MAX + 1];

	snprintf(file, sizeof(file), "%s" HOLDER_OVER_SUFFIX, name);
	(void)unlinkat(run, file, 0);
	return at_create(run, file, O_WRONLY | O_EXCL, 0600, err);
}

/*
 * Make a cgroup for freezing the processes, if possible.  The name of the cgroup contains the
 * device and inode numbers of the directory 'run', because cgroups of many environments lie in one
 * directory.
 */
static void make_cgroup(struct holder *holder, const struct sandbox_plan *plan)
{
	struct err ignored = { 0 };
	char name[CGROUP_NAME_MAX];
	struct stat st;

	if (fstat(plan->run, &st) < 0)
		return;
	snprintf(name, sizeof(name), "%llx-%llx-%s", (unsigned long long)st.st_dev,
		(unsigned long long)st.st_ino, plan->name);
	(void)cgroup_make(name, &holder->freezer.cgroup, &ignored);
}

/* Close all descriptors except those in 'fds', which get new numbers. */
static int keep_fds(int *const fds[], int n, struct err *err)
{
	int kept[PROCESS_KEPT_MAX], slots[PROCESS_KEPT_MAX], count = 0;

	for (int i = 0; i < n; i++) {
		if (*fds[i] < 0)
			continue;
		slots[count] = i;
		kept[count++] = *fds[i];
	}
	if (process_keep_only(kept, count, err) < 0)
		return -(int)err->code;
	for (int i = 0; i < count; i++)
		*fds[slots[i]] = PROCESS_FIRST_KEPT + i;
	return 0;
}

/* The host's /proc, and this process's directory in it. */
struct surroundings {
	int proc, self;
};

static void surroundings_release(struct surroundings *around)
{
	close_fd(&around->proc);
	close_fd(&around->self);
}

static int open_surroundings(struct surroundings *around, struct err *err)
{
	around->proc = at_open_given("/proc", O_PATH | O_DIRECTORY, 0, err);
	around->self =
		around->proc < 0 ? -1 : at_open_given("/proc/self", O_PATH | O_DIRECTORY, 0, err);
	if (around->self >= 0)
		return 0;
	err_context(err, "find this process in /proc");
	return err_hint(err, "is /proc that of another PID namespace? 'mount -t proc proc /proc' "
			     "mounts that of this one");
}

/* Do the part of the set-up that needs the host's files or the caller's descriptors. */
static int prepare_outside(struct holder *holder, const struct sandbox_plan *plan, int *boot,
	struct surroundings *around, struct err *err)
{
	int *const kept[] = { boot, &around->proc, &around->self, &holder->listener, &holder->over,
		&holder->freezer.cgroup.dir, &holder->freezer.cgroup.parent };

	holder->over = make_over_file(plan->run, plan->name, err);
	if (holder->over < 0)
		return holder->over;
	holder->listener = make_listener(plan->run, plan->name, err);
	if (holder->listener < 0 || (plan->no_net && netspace_loopback_up(err) < 0))
		return -(int)err->code;
	if (open_surroundings(around, err) < 0)
		return -(int)err->code;
	make_cgroup(holder, plan);
	if (fchdir(plan->root.dir) < 0)
		return err_errno(err, "go to the workspace");
	return keep_fds(kept, sizeof(kept) / sizeof(kept[0]), err);
}

/* Open the inner namespaces, except the mount namespace. */
static int open_namespaces(struct holder *holder, int process, bool net, struct err *err)
{
	static const struct {
		enum sandbox_fd slot;
		const char *link;
	} links[] = {
		{ SANDBOX_USER, "ns/user" },
		{ SANDBOX_PID, "ns/pid" },
		{ SANDBOX_IPC, "ns/ipc" },
		{ SANDBOX_UTS, "ns/uts" },
		{ SANDBOX_CGROUP, "ns/cgroup" },
		{ SANDBOX_NET, "ns/net" },
	};

	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]) - !net; i++) {
		int *fd = &holder->fds[links[i].slot];

		close_fd(fd);
		*fd = namespaces_open(process, links[i].link, O_RDONLY, err);
		if (*fd < 0)
			return *fd;
	}
	return 0;
}

/* Open the other descriptors that clients get, besides the inner namespaces. */
static int open_others(struct holder *holder, const struct surroundings *around, struct err *err)
{
	holder->fds[SANDBOX_JOBS] = holder->freezer.cgroup.dir;
	holder->fds[SANDBOX_OUTER] = namespaces_open(around->self, "ns/user", O_RDONLY, err);
	if (holder->fds[SANDBOX_OUTER] < 0)
		return holder->fds[SANDBOX_OUTER];
	holder->fds[SANDBOX_HOLDER] = pidfd_open(getpid(), 0);
	if (holder->fds[SANDBOX_HOLDER] < 0)
		return err_errno(err, "open our own process");
	holder->fds[SANDBOX_BINDS] = bindlist_new(err);
	return holder->fds[SANDBOX_BINDS] < 0 ? -(int)err->code : 0;
}

/* Make the inner user namespace, and the namespaces that belong to it. */
static int make_namespaces(struct holder *holder, const struct sandbox_plan *plan,
	const struct surroundings *around, bool shifted, struct err *err)
{
	const unsigned long flags = CLONE_NEWUSER | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
	owned(namespaces_release) struct namespaces made = NAMESPACES_INIT;

	if (namespaces_make(flags, plan->hostname ? plan->hostname : "strata", around->proc,
		    holder->freezer.cgroup.dir, &made, err) < 0 ||
		(shifted ? namespaces_map_shifted(&made, err)
			 : namespaces_map_same(&made, around->self, err)) < 0)
		return -(int)err->code;
	return open_namespaces(holder, made.process, plan->no_net, err);
}

/*
 * Make the namespaces and the mounts.  If the holder is root of the machine, the sandbox gets ids
 * of its own, if possible.
 */
static int make_inside(struct holder *holder, const struct sandbox_plan *plan,
	const struct surroundings *around, struct err *err)
{
	int *fds = holder->fds;
	struct err why = { 0 };
	bool shifted =
		holder->place.host_root && make_namespaces(holder, plan, around, true, &why) == 0;
	const struct mounts_ids ids = {
		.host_root = holder->place.host_root,
		.userns = shifted ? fds[SANDBOX_USER] : -1,
		.why = why.text,
	};

	if (mounts_build(plan, &ids, &holder->mounts, err) < 0)
		return -(int)err->code;
	holder->place.host_root &= !holder->mounts.shifted;
	holder->freezer.proc = holder->mounts.proc;
	if (!holder->mounts.shifted && make_namespaces(holder, plan, around, false, err) < 0)
		return -(int)err->code;
	return namespaces_copy_mounts(
		fds[SANDBOX_USER], around->proc, &fds[SANDBOX_MNT], &fds[SANDBOX_ROOT], err);
}

static int watch_signals(struct err *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? err_errno(err, "signalfd") : fd;
}

/*
 * Set the number of clients for which there are enough descriptors.  Each client needs three
 * descriptors: a connection, a pipe for the status, and the warden.  Further connections are not
 * accepted, so that descriptors are left for commands.
 */
static void set_room(struct holder *holder)
{
	const rlim_t used = (rlim_t)holder->signals + 1 + INSIDE_FDS + SPARE_FDS;
	const rlim_t most = used + CLIENT_FDS * CLIENTS_MAX;
	struct rlimit limit, wanted = { most, most };

	holder->room = CLIENTS_MAX;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= wanted.rlim_cur ||
		setrlimit(RLIMIT_NOFILE, &wanted) == 0)
		return;
	holder->room = limit.rlim_cur > used ? (int)(limit.rlim_cur - used) / CLIENT_FDS : 0;
	/*
	 * Even if descriptors are short, clients that stay attached must not keep other clients
	 * from ending the sandbox.
	 */
	if (holder->room < ROOM_MIN)
		holder->room = ROOM_MIN;
}

static int set_up(
	struct holder *holder, const struct sandbox_plan *plan, int *boot, struct err *err)
{
	owned(surroundings_release) struct surroundings around = { .proc = -1, .self = -1 };

	(void)setsid();
	(void)umask(022);
	process_reset_signals();
	/*
	 * The holder writes uid_map of its children.  If it were undumpable, this file would belong
	 * to the host's root.
	 */
	(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	(void)prctl(PR_SET_NAME, "strata-holder", 0, 0, 0);
	if (prepare_outside(holder, plan, boot, &around, err) < 0)
		return -(int)err->code;
	if (make_inside(holder, plan, &around, err) < 0 || open_others(holder, &around, err) < 0 ||
		process_find_arguments(around.self, &holder->place.arguments, err) < 0)
		return -(int)err->code;
	process_hide_arguments(&holder->place.arguments, "strata-holder");
	holder->place.launcher = launcher_open(err);
	holder->place.shifted = holder->mounts.shifted;
	if (holder->place.launcher < 0)
		return -(int)err->code;
	if (plan->scoped && (!(holder->forker = forker_start(err)) || scope_enter(err) < 0))
		return -(int)err->code;
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_errno(err, "protect the holder");
	holder->signals = watch_signals(err);
	if (holder->signals < 0)
		return holder->signals;
	set_room(holder);
	return listen(holder->listener, BACKLOG) < 0 ? err_errno(err, "listen") : 0;
}

/* ------------------------------------------------------------------- ending */

/* Write the status of a command to the pipe of the client that runs the command. */
static void send_status(struct holder *holder, pid_t pid, int status)
{
	for (int i = 0; i < holder->n_clients; i++) {
		struct client *client = &holder->clients[i];

		if (client->command != pid)
			continue;
		client->command = 0;
		(void)!write(client->status, &status, sizeof(status));
		close_fd(&client->status);
	}
}

/* Reap processes that have ended.  Returns whether any process is alive. */
static bool reap(struct holder *holder)
{
	int status = 0;
	pid_t pid;

	do {
		pid = waitpid(-1, &status, WNOHANG);
		if (pid > 0) {
			guarded_note_reaped(&holder->guarded, pid);
			send_status(holder, pid, status);
		}
	} while (pid > 0 || (pid < 0 && errno == EINTR));
	return pid == 0;
}

/*
 * End the holder, and thereby all processes of the PID namespace.  If there is a cgroup, kill these
 * processes first, since the cgroup can be removed only when they have ended.
 */
static _Noreturn void end_sandbox(struct holder *holder)
{
	(void)reap(holder);
	if (holder->freezer.cgroup.dir >= 0) {
		(void)kill(-1, SIGKILL);
		for (int ms = 0; ms < END_MS && !cgroup_remove(&holder->freezer.cgroup); ms++) {
			(void)reap(holder);
			when_pause(WHEN_MS);
		}
	}
	_exit(0);
}

/* No process is left in the sandbox: record this in run/NAME.over, and end the holder. */
static _Noreturn void end_empty_sandbox(struct holder *holder)
{
	(void)!write(holder->over, HOLDER_IS_OVER, strlen(HOLDER_IS_OVER));
	end_sandbox(holder);
}

/* ------------------------------------------------------------------ clients */

static void send_greeting(struct holder *holder, int fd)
{
	struct holder_reply hello = { .result = HOLDER_VERSION };
	int given[SANDBOX_FDS];
	size_t n;

	hello.slots = message_pack(holder->fds, SANDBOX_FDS, given, &n);
	memcpy(hello.degraded, holder->mounts.degraded, sizeof(hello.degraded));
	hello.host_root = holder->place.host_root;
	hello.shifted = holder->mounts.shifted;
	hello.scoped = holder->scoped;
	/*
	 * For an ordinary user, the kernel limits the number of descriptors that were sent but not
	 * yet received.
	 */
	for (int ms = 0;
		message_send(fd, &hello, sizeof(hello), given, n) == -ETOOMANYREFS && ms < GREET_MS;
		ms++)
		when_pause(WHEN_MS);
}

static void add_client(struct holder *holder, int fd)
{
	holder->clients[holder->n_clients++] = (struct client){ .fd = fd, .status = -1 };
}

/*
 * Send a refusal.  If the connection were closed without one, the client would assume that the
 * sandbox is ending.
 */
static void refuse_client(int fd)
{
	struct holder_reply full = { 0 };

	full.result = err_set(&full.err, ERR_BUSY, "%d commands are attached already", CLIENTS_MAX);
	(void)message_send(fd, &full, sizeof(full), NULL, 0);
}

/* Accept one connection.  Returns whether there was one. */
static bool accept_client(struct holder *holder)
{
	/* cppcheck-suppress nullPointer */
	owned_fd int fd = accept4(holder->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (fd < 0)
		return false;
	/*
	 * The socket's mode does not keep root out.  So a process of root is refused unless it has
	 * taken the id of the sandbox's owner.
	 */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || peer.uid != geteuid())
		return true;
	if (holder->n_clients == CLIENTS_MAX) {
		refuse_client(fd);
		return true;
	}
	send_greeting(holder, fd);
	add_client(holder, take_fd(&fd));
	return true;
}

static void thaw_sandbox(struct holder *holder)
{
	freezer_continue(&holder->freezer);
	for (int i = 0; i < holder->n_clients; i++)
		holder->clients[i].froze = false;
}

/*
 * Fork a process into the cgroup 'group', which belongs to the command alone.  If 'group' is
 * negative, fork the process into the sandbox's cgroup, if there is one.
 */
static pid_t fork_inside(struct holder *holder, int group)
{
	struct clone_args args = { .exit_signal = SIGCHLD };
	struct clone_args grouped = {
		.flags = CLONE_INTO_CGROUP,
		.exit_signal = SIGCHLD,
		.cgroup = (uint64_t)(group >= 0 ? group : holder->freezer.cgroup.dir),
	};
	pid_t pid = holder->freezer.cgroup.dir < 0 ? -1 : process_clone(&grouped);

	/*
	 * EAGAIN and ENOMEM mean that a limit of the cgroup is reached.  A fork outside of the
	 * cgroup would evade the limit.
	 */
	if (pid >= 0 || group >= 0 ||
		(holder->freezer.cgroup.dir >= 0 && (errno == EAGAIN || errno == ENOMEM)))
		return pid;
	pid = process_clone(&args);
	holder->freezer.strayed |= pid > 0;
	return pid;
}

struct forked {
	struct holder *holder;
	int *fds;
};

/* Fork the process of a command; the child becomes the command. */
static pid_t fork_command(void *arg)
{
	const struct forked *forked = arg;
	pid_t pid = fork_inside(forked->holder, forked->fds[INSIDE_GROUP]);

	if (pid == 0)
		inside_main(&forked->holder->place, forked->fds);
	return pid;
}

static int start_command(struct holder *holder, struct client *client,
	const struct holder_request *request, int fds[INSIDE_FDS], struct err *err)
{
	if (holder->freezer.frozen)
		return err_set(err, ERR_BUSY, "the sandbox is frozen");
	if (client->command)
		return err_set(err, ERR_INVALID, "a command of this strata runs already");
	for (int i = 0; i < INSIDE_MNT; i++)
		if (fds[i] < 0)
			return err_set(
				err, ERR_INVALID, "descriptor %d of the command is missing", i);
	if (fds[INSIDE_KEEPER] >= 0 && guarded_has_room(&holder->guarded, err) < 0)
		return -(int)err->code;
	struct forked forked = { holder, fds };
	pid_t pid = request->own_domain && holder->forker
			    ? forker_fork(holder->forker, fork_command, &forked)
			    : fork_command(&forked);
	if (pid < 0)
		return err_errno(err, "make a process in the sandbox");
	if (fds[INSIDE_KEEPER] >= 0)
		guarded_add_take(
			&holder->guarded, pid, take_fd(&fds[INSIDE_KEEPER]), fds[INSIDE_MNT]);
	client->command = pid;
	client->status = take_fd(&fds[INSIDE_STATUS]);
	client->runs = true;
	client->self = request->self;
	client->parent = request->parent;
	return pid;
}

static int command_of(const struct holder *holder, pid_t outside)
{
	for (int i = 0; i < holder->n_clients; i++) {
		const struct client *client = &holder->clients[i];

		if (client->command && (client->self == outside || client->parent == outside))
			return client->command;
	}
	return 0;
}

/* Signal the command's process group.  If there is no group yet, signal the command alone. */
static void signal_command(const struct client *client, int sig)
{
	if (client->command && sig > 0 && kill(-client->command, sig) < 0)
		(void)kill(client->command, sig);
}

static int freeze_sandbox(struct holder *holder, struct client *client, struct err *err)
{
	if (holder->freezer.frozen)
		return err_set(err, ERR_BUSY, "the sandbox is frozen already");
	int r = freezer_stop(&holder->freezer, err);
	client->froze = r == 0;
	return r;
}

/*
 * End the sandbox if no process runs in it and no other client is attached.  Without other clients,
 * no command can start between the count and the end.
 */
static int end_if_empty(struct holder *holder, struct err *err)
{
	if (holder->n_clients > 1)
		return err_set(err, ERR_BUSY, "other commands are attached");
	int r = freezer_count(&holder->freezer, err);
	if (r)
		return r < 0 ? r : err_set(err, ERR_BUSY, "%d processes are inside", r);
	end_empty_sandbox(holder);
}

static int handle_request(struct holder *holder, struct client *client,
	const struct holder_request *request, int fds[INSIDE_FDS], struct err *err)
{
	switch (request->type) {
	case HOLDER_RUN:
		return start_command(holder, client, request, fds, err);
	case HOLDER_FREEZE:
		return freeze_sandbox(holder, client, err);
	case HOLDER_THAW:
		thaw_sandbox(holder);
		return 0;
	case HOLDER_DISMISS:
		return end_if_empty(holder, err);
	case HOLDER_WHOSE:
		return command_of(holder, request->number);
	case HOLDER_COUNT:
		return freezer_count(&holder->freezer, err);
	case HOLDER_END_SESSION:
		return freezer_kill_session(&holder->freezer, request->number, err);
	default:
		return err_set(err, ERR_INVALID, "no request %u", request->type);
	}
}

static void remove_client(struct holder *holder, struct client *client)
{
	if (client->froze)
		thaw_sandbox(holder);
	close_fd(&client->fd);
	close_fd(&client->status);
	*client = holder->clients[--holder->n_clients];
}

/*
 * Send the reason for the end to all clients, and end the sandbox.  'asked' is the request to end
 * the sandbox, or NULL if a client was killed.
 */
static _Noreturn void end_with_reason(struct holder *holder, const struct holder_request *asked)
{
	struct holder_reply last = { 0 };

	if (asked)
		last.result = err_set(&last.err, ERR_NOT_FOUND,
			"the sandbox has ended: 'strata %.*s' ended all that ran in it",
			HOLDER_BY_MAX, asked->by);
	else
		last.result = err_set(&last.err, ERR_NOT_FOUND,
			"the sandbox has ended: a strata that ran a command in it was killed");
	for (int i = 0; i < holder->n_clients; i++)
		(void)message_send(holder->clients[i].fd, &last, sizeof(last), NULL, 0);
	end_sandbox(holder);
}

/*
 * Handle one request of a client.  If the connection closes without HOLDER_BYE, the client was
 * killed.
 */
static void serve_client(struct holder *holder, struct client *client)
{
	struct holder_request request;
	struct holder_reply reply = { 0 };
	int came[INSIDE_FDS], fds[INSIDE_FDS];
	int r = message_receive(client->fd, &request, sizeof(request), came, INSIDE_FDS, -1);

	if (r == -EAGAIN)
		return;
	/* The holder has too many open descriptors to receive all those of the message. */
	if (r == -EPROTO) {
		reply.result = err_set(&reply.err, ERR_LIMIT,
			"the sandbox's holder has no descriptors left for a command");
		(void)err_hint(&reply.err,
			"wait until other commands have ended, or raise 'ulimit -n' "
			"for the first");
		(void)message_send(client->fd, &reply, sizeof(reply), NULL, 0);
		return;
	}
	/* If a client that has never run a command is killed, the sandbox goes on. */
	if (r != 1 && !client->runs) {
		remove_client(holder, client);
		return;
	}
	if (r != 1 || request.type == HOLDER_END)
		end_with_reason(holder, r == 1 ? &request : NULL);
	message_unpack(came, request.slots, fds, INSIDE_FDS);
	if (request.type == HOLDER_SIGNAL) {
		signal_command(client, request.number);
	} else if (request.type == HOLDER_BYE) {
		remove_client(holder, client);
	} else {
		reply.result = handle_request(holder, client, &request, fds, &reply.err);
		/* If sending fails, the client has closed its end.  poll will report this. */
		(void)message_send(client->fd, &reply, sizeof(reply), NULL, 0);
	}
	for (int i = 0; i < INSIDE_FDS; i++)
		close_fd(&fds[i]);
}

/* --------------------------------------------------------------------- loop */

static void pass_signals_on(struct holder *holder)
{
	struct signalfd_siginfo info;

	while (read(holder->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		if (info.ssi_signo != SIGCHLD)
			(void)kill(-1, (int)info.ssi_signo);
}

/* The elements of a poll.  The clients are followed by the wardens. */
enum {
	READY_SIGNALS,
	READY_LISTENER,
	READY_CLIENTS,
	READY_MAX = READY_CLIENTS + CLIENTS_MAX + GUARDED_MAX,
};

/*
 * Wait for events.  Returns the number of clients that were waited for, or -1 after a signal.  poll
 * fails if the number of elements exceeds the limit on open descriptors, so unused elements are
 * left out.
 */
static int wait_for_events(struct holder *holder, struct pollfd ready[READY_MAX], size_t *guarded)
{
	const int n = holder->n_clients;
	bool is_full = n >= holder->room && n < CLIENTS_MAX;

	ready[READY_SIGNALS] = (struct pollfd){ .fd = holder->signals, .events = POLLIN };
	ready[READY_LISTENER] = (struct pollfd){ is_full ? -1 : holder->listener, POLLIN, 0 };
	for (int i = 0; i < n; i++)
		ready[READY_CLIENTS + i] = (struct pollfd){ holder->clients[i].fd, POLLIN, 0 };
	*guarded = guarded_poll(&holder->guarded, ready + READY_CLIENTS + n);
	return poll(ready, READY_CLIENTS + (nfds_t)n + (nfds_t)*guarded, -1) < 0 ? -1 : n;
}

struct guarding {
	struct holder *holder;
	const struct pollfd *ready;
	size_t n;
};

static pid_t handle_guarded(void *arg)
{
	const struct guarding *guarding = arg;

	guarded_handle(&guarding->holder->guarded, guarding->ready, guarding->n,
		guarding->holder->freezer.proc);
	return 0;
}

/*
 * Handle wardens that have ended.  A thread in a Landlock domain cannot find out the namespaces of
 * processes outside that domain.  So the thread without a domain (forker.h) does this work.
 */
static void watch_wardens(struct holder *holder, const struct pollfd *ready, size_t n)
{
	struct guarding guarding = { holder, ready, n };

	if (!guarded_any_ended(ready, n))
		return;
	if (holder->forker)
		(void)forker_fork(holder->forker, handle_guarded, &guarding);
	else
		(void)handle_guarded(&guarding);
}

static void serve_clients(struct holder *holder)
{
	struct pollfd ready[READY_MAX];
	size_t guarded;

	while (reap(holder) || holder->n_clients || accept_client(holder)) {
		int n = wait_for_events(holder, ready, &guarded);

		if (n < 0)
			continue;
		if (ready[READY_SIGNALS].revents)
			pass_signals_on(holder);
		watch_wardens(holder, ready + READY_CLIENTS + n, guarded);
		/*
		 * Go backwards: remove_client moves the last client to the free place, and that
		 * client was served already.
		 */
		for (int i = n - 1; i >= 0; i--)
			if (ready[READY_CLIENTS + i].revents)
				serve_client(holder, &holder->clients[i]);
		if (ready[READY_LISTENER].revents)
			(void)accept_client(holder);
	}
}

_Noreturn void holder_main(const struct sandbox_plan *plan, int boot)
{
	struct holder holder = {
		.listener = -1,
		.over = -1,
		.signals = -1,
		.fds = { [0 ... SANDBOX_FDS - 1] = -1 },
		.freezer = { .proc = -1, .cgroup = CGROUP_INIT },
		.place = {
			.launcher = -1,
			.host_root = ids_are_the_machines(),
			.no_net = plan->no_net,
			.wrapper = plan->wrapper,
		},
		.scoped = plan->scoped,
	};
	struct holder_reply failure = { 0 };

	holder.place.namespaces = holder.fds;
	failure.result = set_up(&holder, plan, &boot, &failure.err);
	if (failure.result < 0) {
		(void)message_send(boot, &failure, sizeof(failure), NULL, 0);
		end_sandbox(&holder);
	}
	(void)fcntl(boot, F_SETFL, O_NONBLOCK);
	send_greeting(&holder, boot);
	add_client(&holder, boot);
	serve_clients(&holder);
	end_empty_sandbox(&holder);
}
