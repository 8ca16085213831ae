/* standard - makes sure that the standard descriptors 0, 1 and 2 are open. */
#pragma once
#include "core/err.h"

/*
 * Open the standard descriptors that are closed.  To be called before any other file is opened.
 * Otherwise a file that is opened later would get one of these numbers, and programs would use that
 * file as their input or output.  Reading from the new descriptors and writing to them fails, as if
 * they were closed.
 */
int standard_occupy(struct err *err);
