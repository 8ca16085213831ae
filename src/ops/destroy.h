/*
 * destroy - what a face asks before it destroys an environment.
 */
#pragma once
#include "core/err.h"

/* Whether there is an environment at root, or what is left of one; else ERR_NOT_FOUND. */
int destroy_check(const char *root, struct err *err);
