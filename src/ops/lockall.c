#include "ops/lockall.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "core/at.h"
#include "core/lock.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/when.h"
#include "ops/env.h"
#include "sandbox/holder.h"

#define STEP_MS 10
#define END_MS 2000 /* time for an owner to end by itself before it is killed */
#define WHAT "destroy"

/*
 * If 'file' is a name followed by 'suffix', set 'name' to this name.  Returns false for any other
 * file.
 */
static bool parse_workspace(const char *file, const char *suffix, char name[WORKSPACE_NAME_MAX + 1])
{
	size_t len = strlen(file), tail = strlen(suffix);

	if (len <= tail || len - tail > WORKSPACE_NAME_MAX || strcmp(file + len - tail, suffix))
		return false;
	snprintf(name, WORKSPACE_NAME_MAX + 1, "%.*s", (int)(len - tail), file);
	return true;
}

static int refuse_running(const char *what, const char *name, struct err *err)
{
	err_set(err, ERR_BUSY, "%s workspace '%s'", what, name);
	return err_hint(err, "end it first, or use --kill");
}

/*
 * Returns a pidfd of the process that listens on the socket 'name' in the directory 'run'.  Returns
 * -1 if no process listens there.
 */
static int open_listener(int run, const char *name)
{
	owned_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t room = sizeof(address.sun_path);
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (fd < 0 ||
		(size_t)snprintf(address.sun_path, room, "/proc/self/fd/%d/%s", run, name) >=
			room ||
		connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
		getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return -1;
	owned_fd int pidfd = pidfd_open(peer.pid, 0);
	struct pollfd still = { .fd = fd, .events = POLLIN };
	/* While the connection is open, the listening process still has this pid. */
	if (pidfd < 0 || poll(&still, 1, 0) < 0 || still.revents & POLLHUP)
		return -1;
	return take_fd(&pidfd);
}

static int end_process(int pidfd, struct err *err)
{
	struct pollfd ended = { .fd = pidfd, .events = POLLIN };

	if (pidfd_send_signal(pidfd, SIGTERM, NULL, 0) < 0 && errno != ESRCH)
		return err_errno(err, "end the owner of the environment");
	if (poll(&ended, 1, END_MS) > 0)
		return 0;
	(void)pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
	(void)poll(&ended, 1, END_MS);
	return 0;
}

static int stop_owner(void *arg, int dirfd, const char *file, struct err *err)
{
	const struct lockall *all = arg;
	char name[WORKSPACE_NAME_MAX + 1];

	if (!parse_workspace(file, ".sock", name))
		return 0;
	owned_fd int pidfd = open_listener(dirfd, file);
	if (pidfd < 0)
		return 0;
	return all->kills ? end_process(pidfd, err) : refuse_running("an owner has", name, err);
}

static int stop_sandbox(void *arg, int dirfd, const char *file, struct err *err)
{
	const struct lockall *all = arg;
	char name[WORKSPACE_NAME_MAX + 1];
	struct err uncounted = { 0 };
	struct sandbox sandbox;

	if (!parse_workspace(file, HOLDER_SUFFIX, name))
		return 0;
	int r = sandbox_reach(dirfd, name, SANDBOX_LOOK_MS, &sandbox, err);
	if (r <= 0)
		return r;
	/* A sandbox that does not answer may run programs.  An empty sandbox is about to end. */
	bool runs = sandbox.mute.code || sandbox_count(&sandbox, &uncounted) != 0;
	if (!runs || all->kills)
		return sandbox_kill(&sandbox, WHAT, err);
	sandbox_detach(&sandbox);
	return refuse_running("programs run in", name, err);
}

/*
 * Stop the owners first, because an owner that still ran would start programs again.  An owner also
 * ends its programs when it ends.  Then stop the sandboxes.
 */
static int stop_everything(struct lockall *all, struct err *err)
{
	int r = at_each_name(all->run, ".", stop_owner, all, err);

	return r < 0 ? r : at_each_name(all->run, ".", stop_sandbox, all, err);
}

static int lock_file(void *arg, int dirfd, const char *file, struct err *err)
{
	struct lockall *all = arg;
	struct statx stx;

	if (at_name_stat(dirfd, file, &stx) < 0 || !S_ISREG(stx.stx_mode))
		return 0;
	int fd = lock_take(all->run, file, LOCK_EXCLUSIVE, 0, WHAT, err);
	if (fd < 0)
		return err_context(err, "'run/%s'", file);
	mem_grow(&all->locks, &all->cap, all->n);
	all->locks[all->n++] = fd;
	return 0;
}

void lockall_release(struct lockall *all)
{
	for (size_t i = 0; i < all->n; i++)
		close_fd(&all->locks[i]);
	free(all->locks);
	all->locks = NULL;
	all->n = all->cap = 0;
}

/*
 * Stop everything and take the locks.  Then stop everything again, because an owner or a sandbox
 * may have started before the last lock was taken.
 */
static int stop_and_lock(struct lockall *all, bool *waiting, struct err *err)
{
	int r = stop_everything(all, err);

	*waiting = false;
	if (r < 0)
		return r;
	r = at_each_name(all->run, ".", lock_file, all, err);
	*waiting = r == -ERR_BUSY;
	return r < 0 ? r : stop_everything(all, err);
}

int lockall_take(struct lockall *all, struct err *err)
{
	int64_t until = when_monotonic() + ENV_WAIT_MS * WHEN_MS;

	for (;;) {
		struct err why = { 0 };
		bool waiting;
		int r = stop_and_lock(all, &waiting, &why);

		if (r >= 0)
			return 0;
		lockall_release(all);
		if (!waiting || when_monotonic() >= until) {
			*err = why;
			return r;
		}
		when_pause(STEP_MS * WHEN_MS);
	}
}
