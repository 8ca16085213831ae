/*
 * standard - the descriptors 0, 1 and 2.
 */
#pragma once
#include "core/err.h"

/*
 * Occupy the standard descriptors that are closed, before anything else is opened.  Otherwise a
 * file that is opened later would get such a number, and programs would use it as their input or
 * output.  Reading and writing fail as if the descriptors were closed.
 */
int standard_occupy(struct err *err);
