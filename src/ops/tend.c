#include "ops/tend.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/at.h"
#include "core/child.h"
#include "ops/env.h"
#include "sandbox/process.h"

#define NICENESS 10

/*
 * Maintain the layers and end.  Only rootfd is kept open.  With a pipe still open, the reader of
 * the pipe would wait for the end of this process.
 */
static _Noreturn void run_tend(int rootfd)
{
	struct err ignored = { 0 };

	(void)setsid();
	(void)prctl(PR_SET_NAME, "strata-tend", 0, 0, 0);
	(void)setpriority(PRIO_PROCESS, 0, NICENESS);
	process_reset_signals();
	/* Another command may be destroying the environment by now (destroy.c). */
	if (process_keep_only(&rootfd, 1, &ignored) >= 0 &&
		at_exists(PROCESS_FIRST_KEPT, ENV_DATABASE) &&
		chdir("/") == 0) /* by-name: keeps no directory in use */
		(void)workspace_tend(PROCESS_FIRST_KEPT, &ignored);
	_exit(0);
}

/* Fork twice, so that the new process is no child of this process and leaves no zombie. */
void tend_beside(int rootfd)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (fork() == 0)
			run_tend(rootfd);
		_exit(0);
	}
	if (pid > 0)
		(void)child_wait(pid);
}
