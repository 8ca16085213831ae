/* limits - raise resource limits for strata, and restore them for the programs that strata runs. */
#pragma once

/*
 * Raise the limits for stack and open files as far as allowed, since a deep tree needs a descriptor
 * and a stack frame for each level.  Also ignore SIGXFSZ, so that a write past the file size limit
 * fails like a write to a full disk.
 */
void limits_raise(void);
struct rlimit;
/* Set *out to the value that a limit had before limits_raise. */
void limits_original(int resource, struct rlimit *out);
/* Restore the limits.  To be called in a child before the child executes a program. */
void limits_restore(void);
