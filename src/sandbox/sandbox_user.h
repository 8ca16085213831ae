/*
 * sandbox_user - the user namespace that strata works in, and its ids.
 *
 * Strata works on the files of an environment in a user namespace that depends on the caller, so
 * that it sees the same ids as programs inside.  Real root stays in its namespace.  An ordinary
 * user first becomes root of a new user namespace, with one id or with the user's subordinate ids.
 * Every sandbox has a user namespace below that one, with the same ids or those of ids.h.
 */
#pragma once
#include <stdbool.h>

#include "core/err.h"

#define SANDBOX_USER_WHY_MAX 200

enum sandbox_user {
	SANDBOX_USER_SINGLE, /* the caller is 0, and there is no other id */
	SANDBOX_USER_SUBIDS, /* the caller is 0, and its subordinate ids follow from 1 */
	SANDBOX_USER_ROOT,   /* the caller is root with its capabilities: all ids stay the same */
};

/*
 * The ids that this caller gets on this machine, without trying.  For SANDBOX_USER_SINGLE, why
 * names the reason that there are no more; else why is empty.
 */
enum sandbox_user sandbox_user_choose(char why[SANDBOX_USER_WHY_MAX]);

/* Whether this process's user namespace has a single id. */
bool sandbox_user_alone(void);

/* Set err for a namespace that the kernel refused with errno error: the reason and a hint. */
int sandbox_user_refused(int error, const char *what, struct err *err);

/*
 * Move this process, which must have one thread, into a new user namespace with the ids of mode.
 * Does nothing for SANDBOX_USER_ROOT.  Returns ERR_UNSUPPORTED, with a hint, if the machine does
 * not allow it; the process can do nothing useful after that.
 */
int sandbox_user_enter(enum sandbox_user mode, struct err *err);
