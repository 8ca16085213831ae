#include "core/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "core/at.h"
#include "core/child.h"
#include "core/limits.h"
#include "core/own.h"

/* In the child: execute the program.  If this fails, send the errno to the parent. */
static void __attribute__((noreturn))
become(const char *path, const char *const *argv, const int streams[3], int failed)
{
	sigset_t none;
	int why;

	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGPIPE, SIG_DFL);
	limits_restore();
	if (setpgid(0, 0) == 0 && dup2(streams[0], 0) == 0 && dup2(streams[1], 1) == 1 &&
		dup2(streams[2], 2) == 2)
		(void)execve(path, (char *const *)argv, environ);
	why = errno;
	(void)at_write_all(failed, &why, sizeof(why));
	_exit(127);
}

/* Wait until the child executes the program.  Returns 0, or the errno of the failure. */
static int await_exec(int failed)
{
	int why = 0;
	ssize_t n;

	/* a message of so few bytes arrives in one piece */
	do
		n = read(failed, &why, sizeof(why));
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(why) ? why : 0;
}

int spawn_start(const char *path, const char *const *argv, const int streams[3],
	struct spawned *spawned, struct err *err)
{
	int failed[2];

	if (pipe2(failed, O_CLOEXEC) < 0)
		return err_errno(err, "make a pipe");
	owned_fd int failed_seen = failed[0], failed_end = failed[1];
	pid_t pid = child_fork();
	if (pid == 0)
		become(path, argv, streams, failed_end);
	if (pid < 0)
		return err_errno(err, "start '%s'", path);
	close_fd(&failed_end);
	int end = -1, why = await_exec(failed_seen);
	if (!why && (end = pidfd_open(pid, 0)) < 0)
		why = errno;
	if (why) {
		(void)kill(pid, SIGKILL);
		(void)child_wait(pid);
		return err_number(err, why, "execute '%s'", path);
	}
	*spawned = (struct spawned){ pid, end };
	return 0;
}
