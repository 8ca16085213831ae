#include "core/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>

#include "core/at.h"
#include "core/own.h"
#include "core/when.h"

#define HOLDER_MAX 128

static void describe_holder(int fd, char out[HOLDER_MAX])
{
	ssize_t n = at_pread_full(fd, out, HOLDER_MAX - 1, 0);

	out[n > 0 ? n : 0] = '\0';
	out[strcspn(out, "\n")] = '\0';
}

static void name_holder(int fd, const char *what)
{
	char text[HOLDER_MAX];
	int n = snprintf(text, sizeof(text), "process %d (strata %.64s)\n", (int)getpid(), what);

	/* The text always has the same length, so that it overwrites an older text wholly. */
	memset(text + n, ' ', sizeof(text) - (size_t)n);
	/* The text is only for messages, so a failed write does not matter. */
	(void)at_pwrite_all(fd, text, sizeof(text), 0);
}

/*
 * Wait for the lock.  Returns 1 when this process has the lock, 0 if another process still has it
 * at the time 'until', or a negative error.
 */
static int wait_for(int fd, const char *name, enum lock_mode mode, int64_t until, struct err *err)
{
	int operation = (mode == LOCK_SHARED ? LOCK_SH : LOCK_EX) | LOCK_NB;

	while (flock(fd, operation) < 0) {
		struct timespec step = { .tv_nsec = LOCK_STEP_MS * 1000000L };

		if (errno != EWOULDBLOCK && errno != EINTR)
			return err_errno(err, "lock '%s'", name);
		if (when_monotonic() >= until)
			return 0;
		nanosleep(&step, NULL);
	}
	return 1;
}

/*
 * Whether the locked file still has its name.  If the previous holder has removed the file, the
 * lock on that file has no effect, since other processes lock a new file.
 */
static bool is_current(int dirfd, const char *name, int fd)
{
	struct statx ours, there;

	return at_fd_stat(fd, &ours) == 0 && at_name_stat(dirfd, name, &there) == 0 &&
	       ours.stx_ino == there.stx_ino;
}

int lock_take(int dirfd, const char *name, enum lock_mode mode, int wait_ms, const char *what,
	struct err *err)
{
	owned_fd int fd = -1;
	int64_t until = when_monotonic() + wait_ms * WHEN_MS;
	char holder[HOLDER_MAX];

	do {
		close_fd(&fd);
		fd = at_create(dirfd, name, O_RDWR, 0600, err);
		int r = fd < 0 ? fd : wait_for(fd, name, mode, until, err);
		if (r < 0)
			return fd < 0 ? err_context(err, "lock") : r;
		if (r == 0) {
			describe_holder(fd, holder);
			err_set(err, ERR_BUSY, "in use by %s",
				*holder ? holder : "another process");
			return err_hint(err, "try again when it has ended");
		}
	} while (!is_current(dirfd, name, fd));
	if (mode == LOCK_EXCLUSIVE)
		name_holder(fd, what);
	else if (lseek(fd, 0, SEEK_END) > 0)
		(void)!ftruncate(fd, 0); /* the process named in the file has ended its work */
	return take_fd(&fd);
}

void lock_note(int lock, struct str line)
{
	/*
	 * The line is only for messages, so a failed write does not matter, and a line that is too
	 * long is left out.
	 */
	if (line.len < LOCK_NOTE_MAX)
		(void)at_pwrite_all(lock, line.ptr, line.len, HOLDER_MAX);
}

bool lock_is_held(int dirfd, const char *name, char note[LOCK_NOTE_MAX])
{
	struct err ignored = { 0 };
	owned_fd int fd = at_open(dirfd, name, O_RDONLY, &ignored);

	if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK)
		return false;
	ssize_t n = at_pread_full(fd, note, LOCK_NOTE_MAX - 1, HOLDER_MAX);
	note[n > 0 ? n : 0] = '\0';
	note[strcspn(note, "\n")] = '\0';
	return true;
}
