/*
 * child - a process that works for this process, and ends when this process ends.
 *
 * The functions below avoid three problems of plain fork(2).  The child of a killed process goes on
 * although nobody needs it.  The parent may be killed before the child has asked for a signal at
 * the parent's end.  A signal interrupts the parent's wait for the child.
 *
 * A child in another PID namespace cannot see whether its parent has changed: see process.h.
 */
#pragma once
#include <signal.h>
#include <sys/types.h>

#include "core/err.h"

/* As fork(2); the kernel kills the child when the calling thread ends. */
pid_t child_fork(void);
/*
 * To be called by a child that plain fork(2) has made.  From then on, the kernel kills the child
 * when the parent's thread ends.  The kernel forgets this when the ids of the child change.  So a
 * child that enters a user namespace must call this function afterwards.
 */
void child_die_with(pid_t parent);
/*
 * Wait for the end of a child, and return its wait status.  Where SIGCHLD is ignored, the kernel
 * keeps no status, and the result is 0.
 */
int child_wait(pid_t pid);

/*
 * Call the function 'work' in a child process.  This is for work that a process cannot undo, such
 * as entering a namespace.  The result and the error are those of the function.  If the child was
 * killed, the result is ERR_SYSTEM.
 */
int child_do(int (*work)(void *arg, struct err *err), void *arg, struct err *err);
/*
 * As child_do, but the child shares the memory and the descriptors of this process, and this thread
 * waits for the child.  This takes a fraction of the time of child_do.  All descriptors that the
 * child opens are open in this process, too.  Use this function for short work in namespaces.  The
 * work must start no process.  The stack of the child has CHILD_VISITOR_STACK bytes.
 */
int child_visit(int (*work)(void *arg, struct err *err), void *arg, struct err *err);
#define CHILD_VISITOR_STACK 65536

/* The signals that ask a program to end.  A signal that this process ignores is left out. */
void child_end_signals(sigset_t *set);
