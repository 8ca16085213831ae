/*
 * child - a process that works for this one and ends with it.
 *
 * With plain fork(2), the child of a killed process goes on uselessly, the parent may be killed
 * before the child can ask for a signal, and a wait is interrupted by signals.  A child in another
 * PID namespace cannot compare parents: see process.h.
 */
#pragma once
#include <signal.h>
#include <sys/types.h>

#include "core/err.h"

/* As fork(2); the kernel kills the child when the calling thread ends. */
pid_t child_fork(void);
/*
 * For the child of plain fork(2): the same from now on.  A change of ids ends it, so a child that
 * enters a user namespace calls this afterwards.
 */
void child_die_with(pid_t parent);
/* Wait for the end of a child; its status, or 0 where SIGCHLD is ignored and none is kept. */
int child_wait(pid_t pid);

/*
 * Let a child do work that a process cannot undo, such as entering a namespace.  The result and the
 * error are those of work; ERR_SYSTEM if the child was killed.
 */
int child_do(int (*work)(void *arg, struct err *err), void *arg, struct err *err);

/* The signals that ask a program to end.  A signal that this process ignores is left out. */
void child_end_signals(sigset_t *set);
