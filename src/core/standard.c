#include "core/standard.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "core/at.h"

int standard_occupy(struct err *err)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
			continue;
		/*
		 * Open /dev/null for the wrong direction, so that reading or writing fails.
		 * at_open_given returns fd, because fd is the lowest free number.
		 */
		int got = at_open_given(
			"/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY, 0, err);
		if (got < 0)
			return err_context(err, "a standard descriptor is closed");
		/*
		 * Let the programs that strata runs inherit this descriptor, like any other
		 * standard descriptor.
		 */
		(void)fcntl(got, F_SETFD, 0);
	}
	return 0;
}
