/*
 * process - functions for processes on their way into a sandbox.
 *
 * A process that is inside but still runs our code has a copy of our memory.  It must be undumpable
 * before programs inside can see it.  Access to its memory, descriptors and working directory then
 * needs CAP_SYS_PTRACE in the user namespace that strata was executed in, which no program inside
 * has.
 */
#pragma once
#include <linux/sched.h>
#include <stdbool.h>
#include <sys/types.h>

#include "core/err.h"

/* Call clone3, with the return values of fork.  No other thread may be running. */
pid_t process_clone(struct clone_args *args);

/* Set default actions for all signals, and unblock them. */
void process_reset_signals(void);

/*
 * The part of our memory that /proc/self/cmdline shows.  In our children it is at the same
 * place.
 */
struct process_arguments {
	char *start, *end;
};

/* Find that part.  self is /proc/self. */
int process_find_arguments(int self, struct process_arguments *out, struct err *err);
/* Overwrite the arguments, so that /proc/self/cmdline shows the text shown. */
void process_hide_arguments(const struct process_arguments *arguments, const char *shown);

#define PROCESS_FIRST_KEPT 3
#define PROCESS_KEPT_MAX 8
/*
 * Close all descriptors but fds, which get the numbers 3, 4, ... in their order.  0, 1 and 2 become
 * /dev/null.
 */
int process_keep_only(const int *fds, int n, struct err *err);

/*
 * Close all descriptors but 0, 1, 2 and those in kept.  Negative elements of kept are ignored.
 * kept is sorted.
 */
int process_close_others(int *kept, int n, struct err *err);

/*
 * Die when our parent dies, or at once if it is dead already.  parent is a socket whose other end
 * the parent holds: if that is closed, the parent is dead.  getppid cannot tell: it is 0 both for a
 * living parent outside our PID namespace and for a process there that has adopted us.
 */
void process_die_with(int parent);

/* Undo process_die_with: live on when our parent dies. */
void process_outlive_parent(void);

#define PROCESS_NUMBER_MAX 16
/*
 * Find our number in a /proc that may be of a PID namespace above ours.  Returns -1 with ENOENT if
 * that /proc does not show us.
 */
int process_number(int proc, char number[PROCESS_NUMBER_MAX]);
/* Whether /proc shows processes by their numbers in our PID namespace. */
bool process_numbers_hold(void);

/* Whether an open namespace (user, pid, ...) is this process's own. */
bool process_is_in(int ns, const char *kind);
