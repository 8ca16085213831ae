/*
 * lock - one process at a time, by flock on a file that also says who.
 *
 * The lock goes with the descriptor, so a killed holder leaves nothing behind.
 */
#pragma once
#include <stdbool.h>

#include "core/err.h"
#include "core/str.h"

#define LOCK_STEP_MS 10 /* who waits looks this often: what is free for less may not be seen */

enum lock_mode { LOCK_SHARED, LOCK_EXCLUSIVE };

/*
 * Take dirfd/name, waiting up to wait_ms.  Returns the descriptor that holds
 * it, or ERR_BUSY naming the holder.  what: for whom others have to wait ("commit").
 */
int lock_take(int dirfd, const char *name, enum lock_mode mode, int wait_ms, const char *what,
	struct err *err);

#define LOCK_NOTE_MAX 2048
/* What others may know of who holds it: one line, in the same file. */
void lock_note(int lock, struct str line);
/* Whether somebody holds dirfd/name for itself, and what it has noted, or "". */
bool lock_is_held(int dirfd, const char *name, char note[LOCK_NOTE_MAX]);
