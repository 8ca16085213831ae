/*
 * limits - what strata takes of the resources it may have, and gives back to the programs it runs.
 */
#pragma once

/*
 * Deep trees hold a descriptor and a frame per level; take what the system
 * allows.  A file size limit becomes an error like a full disk.
 */
void limits_raise(void);
struct rlimit;
/* What a limit was before it was raised. */
void limits_original(int resource, struct rlimit *out);
/* In a child, before a program is executed: as they were. */
void limits_restore(void);
