#include "core/pids.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>

#include "core/own.h"

int pids_each(int proc, int (*visit)(void *arg, int proc, int pid, struct err *err), void *arg,
	struct err *err)
{
	int again = fcntl(proc, F_DUPFD_CLOEXEC, 0);
	DIR *dir = again < 0 ? NULL : fdopendir(again);
	int r = 0;

	if (!dir) {
		close_fd(&again);
		return err_errno(err, "list /proc");
	}
	rewinddir(dir);
	for (struct dirent *d; r >= 0 && (d = readdir(dir));) {
		int pid = atoi(d->d_name);

		if (pid > 0)
			r = visit(arg, proc, pid, err);
	}
	closedir(dir);
	return r < 0 ? r : 0;
}
