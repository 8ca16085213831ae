#include "ops/quiet.h"

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
#include <time.h>

#include "core/at.h"
#include "core/lock.h"
#include "core/mem.h"
#include "core/own.h"
#include "core/when.h"
#include "ops/env.h"
#include "sandbox/holder.h"

#define STEP_MS 10
#define END_MS 2000 /* for an owner to end in order before it is killed */
#define WHAT "destroy"

/* "NAMEsuffix" gives NAME; false for anything else. */
static bool workspace_of(const char *file, const char *suffix, char name[WORKSPACE_NAME_MAX + 1])
{
	size_t len = strlen(file), tail = strlen(suffix);

	if (len <= tail || len - tail > WORKSPACE_NAME_MAX || strcmp(file + len - tail, suffix))
		return false;
	snprintf(name, WORKSPACE_NAME_MAX + 1, "%.*s", (int)(len - tail), file);
	return true;
}

static int say_running(const char *what, const char *name, struct err *err)
{
	err_set(err, ERR_BUSY, "%s workspace '%s'", what, name);
	return err_hint(err, "end it first, or use --kill");
}

/* ------------------------------------------------------------------ owners */

/* The process that listens on a socket of run, as a pidfd: -1 where there is none. */
static int listener_of(int run, const char *name)
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
	/* A connection that still stands says that the number is still that process's. */
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

static int quiet_owner(void *arg, int dirfd, const char *file, struct err *err)
{
	const struct quiet *quiet = arg;
	char name[WORKSPACE_NAME_MAX + 1];

	if (!workspace_of(file, ".sock", name))
		return 0;
	owned_fd int pidfd = listener_of(dirfd, file);
	if (pidfd < 0)
		return 0;
	return quiet->kills ? end_process(pidfd, err) : say_running("an owner has", name, err);
}

/* --------------------------------------------------------------- sandboxes */

static int quiet_sandbox(void *arg, int dirfd, const char *file, struct err *err)
{
	const struct quiet *quiet = arg;
	char name[WORKSPACE_NAME_MAX + 1];
	struct err uncounted = { 0 };
	struct sandbox sandbox;

	if (!workspace_of(file, HOLDER_SUFFIX, name))
		return 0;
	int r = sandbox_reach(dirfd, name, SANDBOX_LOOK_MS, &sandbox, err);
	if (r <= 0)
		return r;
	/* One that does not answer is there for something; an empty one is about to go. */
	bool runs = sandbox.mute.code || sandbox_count(&sandbox, &uncounted) != 0;
	if (!runs || quiet->kills)
		return sandbox_kill(&sandbox, WHAT, err);
	sandbox_detach(&sandbox);
	return say_running("programs run in", name, err);
}

/* Owners first: one that ends takes its programs along, and would start them again. */
static int quiet_all(struct quiet *quiet, struct err *err)
{
	int r = at_each_name(quiet->run, ".", quiet_owner, quiet, err);

	return r < 0 ? r : at_each_name(quiet->run, ".", quiet_sandbox, quiet, err);
}

/* ------------------------------------------------------------------- locks */

static int lock_file(void *arg, int dirfd, const char *file, struct err *err)
{
	struct quiet *quiet = arg;
	struct statx stx;

	if (at_name_stat(dirfd, file, &stx) < 0 || !S_ISREG(stx.stx_mode))
		return 0;
	int fd = lock_take(quiet->run, file, LOCK_EXCLUSIVE, 0, WHAT, err);
	if (fd < 0)
		return err_context(err, "'run/%s'", file);
	mem_grow(&quiet->locks, &quiet->cap, quiet->n);
	quiet->locks[quiet->n++] = fd;
	return 0;
}

void quiet_release(struct quiet *quiet)
{
	for (size_t i = 0; i < quiet->n; i++)
		close_fd(&quiet->locks[i]);
	free(quiet->locks);
	quiet->locks = NULL;
	quiet->n = quiet->cap = 0;
}

/* What came up before the last lock was ours is found under all of them. */
static int try_all(struct quiet *quiet, bool *waiting, struct err *err)
{
	int r = quiet_all(quiet, err);

	*waiting = false;
	if (r < 0)
		return r;
	r = at_each_name(quiet->run, ".", lock_file, quiet, err);
	*waiting = r == -ERR_BUSY;
	return r < 0 ? r : quiet_all(quiet, err);
}

int quiet_take(struct quiet *quiet, struct err *err)
{
	const struct timespec step = { .tv_nsec = STEP_MS * 1000000L };
	int64_t until = when_monotonic() + ENV_WAIT_MS * WHEN_MS;

	for (;;) {
		struct err why = { 0 };
		bool waiting;
		int r = try_all(quiet, &waiting, &why);

		if (r >= 0)
			return 0;
		quiet_release(quiet);
		if (!waiting || when_monotonic() >= until) {
			*err = why;
			return r;
		}
		nanosleep(&step, NULL);
	}
}
