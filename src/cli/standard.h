/*
 * standard - the descriptors 0, 1 and 2.
 */
#pragma once
#include "core/err.h"

/*
 * Occupy those that are closed, before anything else is opened: what is opened later would get
 * their numbers, and be handed to programs as theirs.  Reading and writing fail as if they were
 * closed.
 */
int standard_occupy(struct err *err);
