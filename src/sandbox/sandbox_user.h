/*
 * sandbox_user - whose ids the inside of a sandbox has.
 *
 * Every sandbox lies in a user namespace of its own whose ids are those of the
 * namespace strata itself works in.  Where strata works depends on who called
 * it: real root stays where it is; an ordinary user becomes root of a new user
 * namespace first, with one id or with the subordinate ids given to it.  Work
 * on the files of an environment is done from there, so that it sees the ids
 * the inside sees.
 */
#pragma once
#include <stdbool.h>

#include "core/err.h"

#define SANDBOX_USER_WHY_MAX 200

enum sandbox_user {
	SANDBOX_USER_SINGLE, /* the caller is 0 inside, there is no other id */
	SANDBOX_USER_SUBIDS, /* the caller is 0, its subordinate ids follow from 1 */
	SANDBOX_USER_ROOT,   /* root with its capabilities: every id is itself */
};

/*
 * What this caller gets on this machine, by looking only.  Where that is
 * SANDBOX_USER_SINGLE, why says what is missing for more; else it is empty.
 */
enum sandbox_user sandbox_user_choose(char why[SANDBOX_USER_WHY_MAX]);

/* Whether there is no other id here: root of a user namespace with just itself in it. */
bool sandbox_user_alone(void);

/* Whether a user namespace can be made and used here, proved by a child; why not. */
bool sandbox_user_possible(char why[SANDBOX_USER_WHY_MAX]);

/* Say that the kernel refused a namespace with errno error: why, and what helps. */
int sandbox_user_refused(int error, const char *what, struct err *err);

/*
 * Move this process, which must have one thread, into a new user namespace with
 * the ids of mode.  Nothing to do for SANDBOX_USER_ROOT.  ERR_UNSUPPORTED, with
 * a hint, where the machine does not allow it; the process is of no use then.
 */
int sandbox_user_enter(enum sandbox_user mode, struct err *err);
