/*
 * lock - keeps processes from working at the same time, unless all of them hold a shared lock.  The
 * lock is a flock(2) on a file that also names the holder.
 *
 * The kernel releases the lock when its descriptor is closed, so a killed holder leaves nothing
 * behind.
 */
#pragma once
#include <stdbool.h>

#include "core/err.h"
#include "core/str.h"

/*
 * Time between two tries to take a lock.  A waiting process may miss a lock that is free for a
 * shorter time than this.
 */
#define LOCK_STEP_MS 10

enum lock_mode { LOCK_SHARED, LOCK_EXCLUSIVE };

/*
 * Take the lock of the file dirfd/name.  If another process has it, wait for it up to wait_ms.  The
 * file is made if it is missing.  Returns the descriptor that holds the lock, or ERR_BUSY with a
 * message that names the holder.  The holder of an exclusive lock stores the text in 'what', such
 * as "commit", in the file.  Waiting processes show this text as the work of the holder.
 */
int lock_take(int dirfd, const char *name, enum lock_mode mode, int wait_ms, const char *what,
	struct err *err);

#define LOCK_NOTE_MAX 2048
/* Write a line about the holder into the lock file, for other processes. */
void lock_note(int lock, struct str line);
/*
 * Whether a process holds the lock of dirfd/name exclusively.  If so, 'note' becomes the line that
 * the holder wrote with lock_note, or "".
 */
bool lock_is_held(int dirfd, const char *name, char note[LOCK_NOTE_MAX]);
