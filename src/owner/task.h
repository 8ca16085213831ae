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
	 * Called when the process has ended and the task is no longer in the list.  status is the
	 * result of waitpid.
	 */
	void (*ended)(struct task *task, int status);
};

struct task_list {
	struct task *first;
};

enum task_flags {
	/*
	 * put the task into a session of its own, which gets no signals from the owner's terminal
	 */
	TASK_SESSION = 1 << 0,
};

/*
 * Fork.  Returns 0 in the child, which has no signal handlers, and 1 in the owner, whose list now
 * has the task.
 */
int task_start(struct task_list *list, struct task *task, unsigned flags, struct err *err);
/*
 * Called in the child.  Make the descriptors in std the standard ones (-1: /dev/null), keep the n
 * descriptors that kept points to, and close all others.  The kept descriptors get new numbers,
 * which are stored in the variables that kept points to.
 */
int task_set_fds(const int std[3], int *const kept[], int n, struct err *err);
/* Called in the child: block a signal that a signalfd will receive later. */
void task_block_signal(int sig);

/* Call the 'ended' function of each task whose process has ended.  Called on SIGCHLD. */
void task_reap(struct task_list *list);
