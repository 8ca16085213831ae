/* destroy - the check before a user is asked whether to destroy an environment. */
#pragma once
#include "core/err.h"

/*
 * Returns 0 if 'root' has an environment or the remains of an environment, and otherwise
 * -ERR_NOT_FOUND.
 */
int destroy_check(const char *root, struct err *err);
