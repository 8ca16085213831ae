/*
 * process - what the processes of a sandbox do on the way to being inside it.
 *
 * A process that is inside but still runs our code has our memory.  It must be
 * undumpable before anybody inside can see it: access to its memory,
 * descriptors and working directory then takes CAP_SYS_PTRACE in the namespace
 * strata was executed in, which nobody inside has.
 */
#pragma once
#include <linux/sched.h>
#include <stdbool.h>
#include <sys/types.h>

#include "core/err.h"

/* clone3 that returns as fork does.  The caller has one thread. */
pid_t process_clone(struct clone_args *args);

/* Default actions for all signals, none blocked. */
void process_reset_signals(void);

/* Where what /proc/self/cmdline shows lies in our memory, and in that of our children. */
struct process_arguments {
	char *start, *end;
};

/* self is /proc/self. */
int process_find_arguments(int self, struct process_arguments *out, struct err *err);
/* Overwrite them. */
void process_hide_arguments(const struct process_arguments *arguments, const char *shown);

#define PROCESS_FIRST_KEPT 3
#define PROCESS_KEPT_MAX 8
/*
 * Keep only these descriptors, which become 3, 4, ... in their order, and
 * /dev/null as 0, 1 and 2.
 */
int process_keep_only(const int *fds, int n, struct err *err);

/* Close all descriptors but 0, 1, 2 and these, in any order; negative ones are none. */
int process_close_others(int *kept, int n, struct err *err);

/*
 * Die when our parent does; at once if it is dead already, which its end of a
 * socket between us tells.  (Who adopts us cannot be told from a parent outside
 * our PID namespace: both are 0.)
 */
void process_die_with(int parent);

#define PROCESS_NUMBER_MAX 16
/*
 * What a /proc, which may be that of a PID namespace above ours, has us under.  -1 and ENOENT
 * when that /proc does not show us at all.
 */
int process_number(int proc, char number[PROCESS_NUMBER_MAX]);
/* Whether the numbers of processes in /proc are those that we use. */
bool process_numbers_hold(void);

/* Whether an open namespace (user, pid, ...) is this process's own. */
bool process_is_in(int ns, const char *kind);
