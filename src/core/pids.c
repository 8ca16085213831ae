#include "core/pids.h"

#include <fcntl.h>
#include <stdlib.h>

#include "core/at.h"
#include "core/own.h"

int pids_each(int proc, int (*visit)(void *arg, int proc, int pid, struct err *err), void *arg,
	struct err *err)
{
	owned(at_list_closep) DIR *list = at_list_take(fcntl(proc, F_DUPFD_CLOEXEC, 0));
	int r = 0;

	if (!list)
		return err_errno(err, "list /proc");
	rewinddir(list);
	for (const struct dirent *d; r >= 0 && (d = at_list_next(list));) {
		int pid = atoi(d->d_name);

		if (pid > 0)
			r = visit(arg, proc, pid, err);
	}
	return r < 0 ? r : 0;
}
