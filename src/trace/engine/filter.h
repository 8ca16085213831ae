/*
 * filter - the seccomp filter, by which all engines stop the calls in the table of syscalls.c.
 *
 * The filter refuses io_uring with ENOSYS, because a program could open files by io_uring without a
 * system call.  Programs can do without io_uring.  All calls of another architecture stop.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/*
 * Install the filter in this process.  The parameter action is SECCOMP_RET_USER_NOTIF or
 * SECCOMP_RET_TRACE.  Returns the listener for SECCOMP_RET_USER_NOTIF, 0 for SECCOMP_RET_TRACE, or
 * -errno.  An unprivileged process cannot gain privileges afterwards (PR_SET_NO_NEW_PRIVS).
 *
 * If 'listings' is set, calls that list a directory stop.  Otherwise a directory counts as listed
 * when it is opened.
 *
 * If 'passing' is set, a call that changes nothing stops only if its path begins at a descriptor.
 * The eBPF programs of passing.h report the calls that do not stop.
 *
 * The function is async-signal-safe.
 */
int filter_install(uint32_t action, bool listings, bool passing);

/*
 * Check that this process can install a filter with this action.  Returns 0 or -errno.  The check
 * leaves a filter behind, which allows every call.  So the caller should be a process that was
 * forked for this check.
 */
int filter_try(uint32_t action);
