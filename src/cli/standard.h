/* standard - occupies the standard descriptors 0, 1 and 2. */
#pragma once
#include "core/err.h"

/*
 * Occupy the standard descriptors that are closed, before any file is opened.  Otherwise a file
 * that is opened later would get such a number, and programs would use it as their input or
 * output.  Reading from the descriptors and writing to them fails, as if they were closed.
 */
int standard_occupy(struct err *err);
