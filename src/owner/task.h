/*
 * task - a child process of the owner that does one thing.
 *
 * The owner itself never touches a live tree, enters a user namespace or runs a long operation.
 * Work that can block, fail or be cancelled is done by a task.  A task dies with its owner.
 */
#pragma once
#include <sys/types.h>

#include "core/err.h"

struct task {
	struct task *next;
	pid_t pid;
	/*
	 * Called when the process has ended and the task has been removed from the list.  status is
	 * the result of waitpid.
	 */
	void (*ended)(struct task *task, int status);
};

struct task_list {
	struct task *first;
};

enum task_flags {
	/* the task gets a session of its own, which gets no signals from the owner's terminal */
	TASK_SESSION = 1 << 0,
};

/*
 * Fork.  Returns 0 in the child, which has no signal handlers.  Returns 1 in the owner, and adds
 * the task to its list.
 */
int task_start(struct task_list *list, struct task *task, unsigned flags, struct err *err);
/*
 * Set the descriptors of the child.  The descriptors in 'std' become the standard descriptors (-1:
 * /dev/null).  'kept' has n pointers to the numbers of descriptors that stay open.  These
 * descriptors get new numbers, which are stored through the pointers.  All other descriptors are
 * closed.
 */
int task_set_fds(const int std[3], int *const kept[], int n, struct err *err);
/* Block a signal in the child.  A signalfd will receive it later. */
void task_block_signal(int sig);

/* Call the 'ended' function of each task whose process has ended.  To be called on SIGCHLD. */
void task_reap(struct task_list *list);
