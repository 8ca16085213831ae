/* destroy - the check before a user is asked whether to destroy an environment. */
#pragma once
#include "core/err.h"

/* ERR_NOT_FOUND unless there is an environment at root, or the rest of one. */
int destroy_check(const char *root, struct err *err);
