/*
 * lock - one process at a time, by flock on a file that also names the holder.
 *
 * The lock goes with the descriptor, so a killed holder leaves nothing behind.
 */
#pragma once
#include <stdbool.h>

#include "core/err.h"
#include "core/str.h"

#define LOCK_STEP_MS 10 /* how often a waiter tries; a shorter free moment may be missed */

enum lock_mode { LOCK_SHARED, LOCK_EXCLUSIVE };

/*
 * Take dirfd/name, waiting up to wait_ms.  Returns the descriptor that holds the lock, or ERR_BUSY
 * naming the holder.  what: the name of our work ("commit"), for those who wait.
 */
int lock_take(int dirfd, const char *name, enum lock_mode mode, int wait_ms, const char *what,
	struct err *err);

#define LOCK_NOTE_MAX 2048
/* Write a line about the holder into the lock file, for other processes. */
void lock_note(int lock, struct str line);
/* Whether a process holds dirfd/name exclusively, and its note, or "". */
bool lock_is_held(int dirfd, const char *name, char note[LOCK_NOTE_MAX]);
