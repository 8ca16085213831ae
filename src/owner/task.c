#include "owner/task.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/child.h"
#include "core/own.h"
#include "sandbox/process.h"

/*
 * Start a task.  All signals are blocked until the child has no signal handlers any more.  The
 * handlers of the event loop write to a pipe, which the child shares with the owner.  So a signal
 * to the child would look like a signal to the owner.
 */
int task_start(struct task_list *list, struct task *task, unsigned flags, struct err *err)
{
	sigset_t all, before;

	sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &before);
	task->pid = child_fork();
	if (task->pid == 0) {
		process_reset_signals();
		if (flags & TASK_SESSION)
			(void)setsid();
		return 0;
	}
	int error = errno;
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	errno = error;
	if (task->pid < 0)
		return err_errno(err, "start a process");
	task->next = list->first;
	list->first = task;
	return 1;
}

int task_set_fds(const int std[3], int *const kept[], int n, struct err *err)
{
	int fds[PROCESS_KEPT_MAX], where[3] = { -1, -1, -1 }, count = 0;

	for (int i = 0; i < 3; i++) {
		if (std[i] < 0)
			continue;
		where[i] = PROCESS_FIRST_KEPT + count;
		/*
		 * Copy the descriptor to a higher number, because the descriptors 0, 1 and 2 are
		 * about to be replaced.
		 */
		fds[count] = fcntl(std[i], F_DUPFD_CLOEXEC, PROCESS_FIRST_KEPT);
		if (fds[count++] < 0)
			return err_errno(err, "standard descriptor %d", i);
	}
	for (int i = 0; i < n; i++) {
		int now = PROCESS_FIRST_KEPT + count;

		fds[count++] = *kept[i];
		*kept[i] = now;
	}
	if (process_keep_only(fds, count, err) < 0)
		return -(int)err->code;
	for (int i = 0; i < 3; i++) {
		if (where[i] < 0)
			continue;
		if (dup2(where[i], i) < 0)
			return err_errno(err, "standard descriptor %d", i);
		(void)close(where[i]);
	}
	return 0;
}

void task_block_signal(int sig)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
}

void task_reap(struct task_list *list)
{
	int status;

	/*
	 * Wait only for tasks.  waitpid(-1) would also reap the holders of sandboxes, for which
	 * other code waits.
	 */
	for (struct task **slot = &list->first; *slot;) {
		struct task *task = *slot;
		pid_t pid = waitpid(task->pid, &status, WNOHANG);

		if (pid == 0 || (pid < 0 && errno == EINTR)) {
			slot = &task->next;
			continue;
		}
		*slot = task->next;
		task->ended(task, pid < 0 ? 0 : status);
		/*
		 * Start over.  The callback may have started another task, and so changed the list.
		 */
		slot = &list->first;
	}
}
