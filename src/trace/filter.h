/*
 * filter - the seccomp filter that picks the calls of syscalls.c out, for all
 * engines.
 *
 * io_uring is refused with ENOSYS: what goes through its rings is no call, and
 * programs do without it.  Calls of another architecture are all picked out.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/*
 * Install it in this process.  action is SECCOMP_RET_USER_NOTIF or _TRACE; with the first
 * the listener is returned, else 0; -errno.  Without privilege the process then can gain none
 * (PR_SET_NO_NEW_PRIVS).  listings: the listing of directories too; without it a
 * directory is taken to be listed when it is opened.  passing: calls that change nothing are let
 * through as far as somebody sees them pass (passing.h).  Async-signal-safe.
 */
int filter_install(uint32_t action, bool listings, bool passing);

/*
 * Whether this process could have such a filter: one that lets everything through is installed, so
 * call it in a process made for it.  0 or -errno.
 */
int filter_try(uint32_t action);
