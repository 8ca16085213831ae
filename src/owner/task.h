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

/*
 * Fork.  Returns 0 in the child, which has no signal handlers, and 1 in the owner, which has task
 * in list.
 */
int task_start(struct task_list *list, struct task *task, unsigned flags, struct err *err);
/*
 * In the child: make std the standard descriptors (-1: /dev/null), keep the n descriptors that kept
 * points to, and close the rest.  The descriptors that are kept get new numbers, which are stored
 * where kept points.
 */
int task_set_fds(const int std[3], int *const kept[], int n, struct err *err);
/* In the child: block a signal, which a signalfd will take later. */
void task_block_signal(int sig);

/* Call ended for each task whose process has ended.  For SIGCHLD. */
void task_reap(struct task_list *list);
