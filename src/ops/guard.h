/*
 * guard - clear up behind a process, also when it is killed.
 *
 * The process is split in two: a child does the work, the parent waits for it and
 * shares its fate.  Signals that end a program are passed on.
 */
#pragma once
#include "core/err.h"

/*
 * Returns in the child.  The parent ends as the child does; where that was by a
 * signal, it calls clear first.  The child dies with its parent.
 */
int guard_split(void (*clear)(void *arg), void *arg, struct err *err);
