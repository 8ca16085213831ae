/*
 * process - functions for processes on their way into a sandbox.
 *
 * A process that is in the sandbox but still runs strata's code has a copy of strata's memory.  It
 * must be undumpable before programs of the sandbox can see it.  Then access to its memory,
 * descriptors and working directory needs CAP_SYS_PTRACE in the user namespace that strata was
 * executed in.  No program of the sandbox has this right.
 */
#pragma once
#include <linux/sched.h>
#include <stdbool.h>
#include <sys/types.h>

#include "core/err.h"

/* Call clone3, with the return values of fork.  This process must have no other running thread. */
pid_t process_clone(struct clone_args *args);

/* Set default actions for all signals, and unblock them. */
void process_reset_signals(void);

/*
 * The part of this process's memory that /proc/self/cmdline shows.  It has the same address in
 * children of this process.
 */
struct process_arguments {
	char *start, *end;
};

/* Find the memory of the arguments.  'self' is /proc/self. */
int process_find_arguments(int self, struct process_arguments *out, struct err *err);
/* Overwrite the arguments, so that /proc/self/cmdline shows the text 'shown'. */
void process_hide_arguments(const struct process_arguments *arguments, const char *shown);

#define PROCESS_FIRST_KEPT 3
#define PROCESS_KEPT_MAX 8
/*
 * Close all descriptors but those in fds, which get the numbers 3, 4, ... in this order.
 * Descriptors 0, 1 and 2 become /dev/null.
 */
int process_keep_only(const int *fds, int n, struct err *err);

/*
 * Close all descriptors but 0, 1, 2 and those in 'kept'.  The function sorts the array 'kept', and
 * ignores its negative elements.
 */
int process_close_others(int *kept, int n, struct err *err);

/*
 * Make this process die when its parent dies.  'parent' must be a socket whose other end is open in
 * the parent, or in the process that the parent works for.  If that end is closed already, this
 * process dies at once.  getppid does not show whether the parent is dead: it returns 0 for a
 * living parent outside this PID namespace, and also for an outside process that has adopted this
 * one.
 */
void process_die_with(int parent);

/* Undo process_die_with: this process lives on when its parent dies. */
void process_outlive_parent(void);

#define PROCESS_NUMBER_MAX 16
/*
 * Find the number of this process in a /proc that may belong to a PID namespace above.  Returns -1
 * with ENOENT if that /proc does not show this process.
 */
int process_number(int proc, char number[PROCESS_NUMBER_MAX]);
/* Whether /proc shows processes by their numbers in the PID namespace of this process. */
bool process_numbers_hold(void);

/* Whether an open namespace (user, pid, ...) is this process's own. */
bool process_is_in(int ns, const char *kind);
