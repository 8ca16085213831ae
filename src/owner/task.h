/*
 * task - a child process of the owner that does one thing.
 *
 * The owner itself never touches a live tree, a user namespace or a long operation: what can
 * wait, fail or be cancelled is done by a task.  A task dies with its owner.
 */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "core/err.h"

struct task {
	struct task *next;
	pid_t pid;
	/* It has ended, with a status as of waitpid; it is no longer in the list. */
	void (*ended)(struct task *task, int status);
};

struct task_list {
	struct task *first;
};

enum task_flags {
	TASK_SESSION = 1 << 0, /* in a session of its own: no signals from our terminal */
};

/*
 * Fork.  0 in the child, where signals are at their defaults; else the task is in the list, or
 * negative.
 */
int task_start(struct task_list *list, struct task *task, unsigned flags, struct err *err);
/*
 * In the child: keep n descriptors besides the standard ones, which become std (-1: /dev/null).
 * They get new numbers.
 */
int task_settle(const int std[3], int *const kept[], int n, struct err *err);

/* In the child: keep a signal for who takes it with signalfd. */
void task_hold(int sig);

/* See who has ended; with SIGCHLD. */
void task_reap(struct task_list *list);
