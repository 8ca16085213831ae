#include "core/thread.h"

#include <errno.h>
#include <signal.h>

int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg, struct err *err)
{
	sigset_t all, before;

	/* A thread inherits the signal mask, so all signals are blocked in it from the start. */
	sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	errno = pthread_create(thread, NULL, run, arg);
	int r = errno ? err_errno(err, "start a thread") : 0;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}
