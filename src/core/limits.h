/* limits - raise resource limits for strata, and restore them for the programs it runs. */
#pragma once

/*
 * Deep trees need a descriptor and a stack frame per level, so the limits are raised as far as
 * allowed.  A file size limit becomes an error like a full disk.
 */
void limits_raise(void);
struct rlimit;
/* The value of a limit before it was raised. */
void limits_original(int resource, struct rlimit *out);
/* Restore the limits, in a child before it executes a program. */
void limits_restore(void);
