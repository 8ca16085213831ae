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
	/* Called when the process has ended and is out of the list; status is that of waitpid. */
	void (*ended)(struct task *task, int status);
};

struct task_list {
	struct task *first;
};

enum task_flags {
	TASK_SESSION = 1 << 0, /* a session of its own, without signals from our terminal */
};

/* Fork.  Returns 0 in the child, with default signals, and 1 in the owner, with task in list. */
int task_start(struct task_list *list, struct task *task, unsigned flags, struct err *err);
/*
 * In the child: make std the standard descriptors (-1: /dev/null), keep n others and close the
 * rest.  The variables that kept points to get the new numbers.
 */
int task_set_fds(const int std[3], int *const kept[], int n, struct err *err);
/* In the child: block a signal, which a signalfd will take later. */
void task_block_signal(int sig);

/* Call ended for each task whose process has ended.  For SIGCHLD. */
void task_reap(struct task_list *list);
