#include "owner/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/at.h"
#include "core/lock.h"
#include "core/own.h"
#include "ops/switchuser.h"
#include "owner/loop.h"
#include "owner/owner_priv.h"

#define BACKLOG 128
/*
 * How long to wait for the lock before another owner is assumed to hold it.  A process that calls
 * lock_is_held also takes the lock, for a moment.
 */
#define PROBED_MS 200

/* ----------------------------------------------------------------- the socket */

/*
 * Make the address of the control socket.  The path in it begins in /proc/self/fd, because the path
 * of the environment may be too long for a socket address.
 */
static int address_of(int run, const char *workspace, struct sockaddr_un *address, struct err *err)
{
	size_t room = sizeof(address->sun_path);

	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if ((size_t)snprintf(address->sun_path, room, "/proc/self/fd/%d/%s" OWNER_SOCKET, run,
		    workspace) >= room)
		return err_set(err, ERR_LIMIT, "the name '%.40s...' is too long", workspace);
	return 0;
}

static int open_run(const char *root, struct err *err)
{
	owned_fd int dir = at_open_given(root, O_RDONLY | O_DIRECTORY, 0, err);

	return dir < 0 ? dir : at_open(dir, "run", O_RDONLY | O_DIRECTORY, err);
}

static int make_listener(int run, const char *workspace, struct err *err)
{
	owned_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address;
	char name[sizeof(address.sun_path)];

	if (fd < 0)
		return err_errno(err, "make the control socket");
	if (address_of(run, workspace, &address, err) < 0)
		return -(int)err->code;
	/*
	 * This process holds the lock.  So if the socket file exists, an owner that was killed has
	 * left it.
	 */
	snprintf(name, sizeof(name), "%s" OWNER_SOCKET, workspace);
	(void)unlinkat(run, name, 0);
	/* Set the mode before bind, because bind gives the socket file the mode of the socket. */
	if (fchmod(fd, 0600) < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
		listen(fd, BACKLOG) < 0)
		return err_errno(err, "make the control socket '%s'", name);
	return take_fd(&fd);
}

int owner_dial(const char *root, const char *workspace, struct err *err)
{
	owned_fd int run = open_run(root, err);
	owned_fd int fd = run < 0 ? -1 : socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un address;

	if (run < 0)
		return run;
	if (fd < 0)
		return err_errno(err, "make a socket");
	if (address_of(run, workspace, &address, err) < 0)
		return -(int)err->code;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return take_fd(&fd);
	if (errno == ENOENT || errno == ECONNREFUSED) {
		err_set(err, ERR_NOT_FOUND, "workspace '%s' has no owner", workspace);
		return err_hint(err, "start one with 'strata daemon' or 'strata supervise'");
	}
	return err_errno(err, "connect to the owner of workspace '%s'", workspace);
}

/* ---------------------------------------------------------------------- state */

bool owner_is_writing(const struct owner *owner)
{
	for (const struct call *call = owner->calls; call; call = call->next)
		if (call->writes && !call->answered && !call->done && !call->command &&
			!call->executes)
			return true;
	return false;
}

bool owner_is_executing(const struct owner *owner)
{
	for (const struct call *call = owner->calls; call; call = call->next)
		if (!call->answered && call->executes)
			return true;
	return false;
}

int owner_open_env(const struct owner *owner, struct env *env, struct err *err)
{
	return env_open(
		env, owner->options->root, owner->options->workspace, ENV_READ, "look", NULL, err);
}

void owner_say(const struct owner *owner, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/*
	 * The agent may be writing to the same terminal.  So the whole line is written by one call,
	 * and stderr is unbuffered.  If the agent has put the terminal into raw mode, the line
	 * needs a carriage return.
	 */
	fprintf(stderr, "strata: %s%s\n", text, isatty(STDERR_FILENO) ? "\r" : "");
}

void owner_stop(struct owner *owner, int status)
{
	if (owner->stopping)
		return;
	owner->stopping = true;
	owner->status = status;
	loop_event_free(&owner->listening);
	capturer_end(&owner->capturer);
}

/* -------------------------------------------------------------------- signals */

static void handle_signal(void *arg)
{
	struct owner_signal *got = arg;

	if (got->number == SIGCHLD)
		task_reap(&got->owner->tasks);
	else
		supervisor_signal(&got->owner->supervisor, got->number);
}

static void watch_signals(struct owner *owner)
{
	static const int numbers[OWNER_SIGNALS] = { SIGTERM, SIGINT, SIGHUP, SIGCHLD };

	for (size_t i = 0; i < OWNER_SIGNALS; i++) {
		struct owner_signal *watched = &owner->signals[i];

		*watched = (struct owner_signal){ .owner = owner, .number = numbers[i] };
		watched->event = loop_signal(owner->loop, numbers[i], handle_signal, watched);
	}
	(void)signal(SIGPIPE, SIG_IGN);
}

/* ------------------------------------------------------------------- lifetime */

static void release_owner(struct owner *owner)
{
	char name[WORKSPACE_NAME_MAX + sizeof(OWNER_SOCKET)];

	client_close_all(owner);
	call_end_all(owner);
	supervisor_stop(&owner->supervisor);
	capturer_stop(&owner->capturer);
	for (size_t i = 0; i < OWNER_SIGNALS; i++)
		loop_event_free(&owner->signals[i].event);
	loop_event_free(&owner->listening);
	loop_free(owner->loop);
	if (owner->listener >= 0) {
		snprintf(name, sizeof(name), "%s" OWNER_SOCKET, owner->options->workspace);
		(void)unlinkat(owner->run, name, 0);
	}
	close_fd(&owner->listener);
	close_fd(&owner->lock);
	close_fd(&owner->run);
}

/*
 * Read the row of the workspace.  If there is no environment, the function fails before any file is
 * made.
 */
static int read_workspace(struct owner *owner, struct err *err)
{
	struct env env;

	if (owner_open_env(owner, &env, err) < 0)
		return -(int)err->code;
	owner->mounted = env.kind && env.kind->mounted;
	memcpy(owner->head, env.row.head, sizeof(owner->head));
	env_close(&env);
	return 0;
}

static int act_as_owner(const char *root, struct err *err)
{
	owned_fd int rootfd = at_open_given(root, O_RDONLY | O_DIRECTORY, 0, err);

	return rootfd < 0 ? rootfd : switchuser_to_owner(rootfd, root, err);
}

static int set_up(struct owner *owner, struct err *err)
{
	const struct owner_options *options = owner->options;
	char name[WORKSPACE_NAME_MAX + sizeof(OWNER_LOCK)];

	if (read_workspace(owner, err) < 0 || act_as_owner(options->root, err) < 0)
		return -(int)err->code;
	owner->run = open_run(options->root, err);
	if (owner->run < 0)
		return owner->run;
	snprintf(name, sizeof(name), "%s" OWNER_LOCK, options->workspace);
	owner->lock = lock_take(owner->run, name, LOCK_EXCLUSIVE, PROBED_MS,
		options->request->argv.count ? "supervise" : "daemon", err);
	if (owner->lock < 0) {
		err_context(err, "workspace '%s'", options->workspace);
		return err_hint(err, "one owner at a time; 'strata ctl' talks to the running one");
	}
	owner->listener = make_listener(owner->run, options->workspace, err);
	if (owner->listener < 0)
		return owner->listener;
	owner->loop = loop_new(err);
	return owner->loop ? 0 : -(int)err->code;
}

int owner_run(const struct owner_options *options, int *status, struct err *err)
{
	struct owner owner = { .options = options, .run = -1, .lock = -1, .listener = -1 };
	int r = set_up(&owner, err);

	if (r >= 0) {
		watch_signals(&owner);
		if (options->tell)
			news_send(&owner);
		client_listen(&owner);
		retainer_start(&owner.retainer, &owner);
		capturer_start(&owner.capturer, &owner);
		supervisor_start(&owner.supervisor, &owner);
		r = loop_run(owner.loop, err);
	}
	*status = owner.status;
	release_owner(&owner);
	return r;
}
