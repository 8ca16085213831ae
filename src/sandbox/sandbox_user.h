/*
 * sandbox_user - the user namespace that strata works in, and its ids.
 *
 * Strata works on the files of an environment in a user namespace in which it sees the same ids as
 * programs of the sandbox.  The namespace depends on the caller.  Real root stays in its own
 * namespace.  An ordinary user first becomes root of a new user namespace, with one id or with the
 * user's subordinate ids.  Every sandbox has a child of strata's user namespace, with the same ids
 * or with the ids of ids.h.
 */
#pragma once
#include <stdbool.h>

#include "core/err.h"

#define SANDBOX_USER_WHY_MAX 200

enum sandbox_user {
	SANDBOX_USER_SINGLE, /* the caller has id 0, and there is no other id */
	SANDBOX_USER_SUBIDS, /* the caller has id 0, and its subordinate ids are 1 and up */
	SANDBOX_USER_ROOT, /* the caller is root with root's capabilities: all ids stay the same */
};

/*
 * Find out which ids this caller gets on this machine, without entering a namespace.  With the
 * result SANDBOX_USER_SINGLE, 'why' is set to the reason why there are no more ids; else 'why' is
 * empty.
 */
enum sandbox_user sandbox_user_choose(char why[SANDBOX_USER_WHY_MAX]);

/* Whether the user namespace of this process has only a single id. */
bool sandbox_user_alone(void);

/*
 * Set err to the reason why the kernel has refused a namespace, with a hint.  'error' is the errno.
 * 'what' describes the step that failed.
 */
int sandbox_user_refused(int error, const char *what, struct err *err);

/*
 * Move this process, which must have one thread, into a new user namespace with the ids that 'mode'
 * stands for.  For SANDBOX_USER_ROOT, nothing is done.  Returns ERR_UNSUPPORTED, with a hint, if
 * the machine does not allow this.  After a failure, the process can do nothing useful.
 */
int sandbox_user_enter(enum sandbox_user mode, struct err *err);
