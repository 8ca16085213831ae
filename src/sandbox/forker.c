#include "sandbox/forker.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/mem.h"
#include "core/thread.h"

struct forker {
	pthread_t thread;
	pthread_mutex_t mutex; /* protects the members below */
	pthread_cond_t changed;
	pid_t (*fork_one)(void *arg); /* function to call; NULL: there is no work */
	void *arg;
	pid_t pid;
	int error;
};

static void *forker_thread(void *arg)
{
	struct forker *forker = arg;

	pthread_mutex_lock(&forker->mutex);
	for (;;) {
		while (!forker->fork_one)
			pthread_cond_wait(&forker->changed, &forker->mutex);
		forker->pid = forker->fork_one(forker->arg);
		forker->error = errno;
		forker->fork_one = NULL;
		pthread_cond_broadcast(&forker->changed);
	}
	return NULL;
}

struct forker *forker_start(struct err *err)
{
	struct forker *forker = mem_zalloc(sizeof(*forker));

	pthread_mutex_init(&forker->mutex, NULL);
	pthread_cond_init(&forker->changed, NULL);
	if (thread_start(&forker->thread, forker_thread, forker, err) == 0)
		return forker;
	free(forker);
	return NULL;
}

pid_t forker_fork(struct forker *forker, pid_t (*fork_one)(void *arg), void *arg)
{
	pthread_mutex_lock(&forker->mutex);
	forker->fork_one = fork_one;
	forker->arg = arg;
	pthread_cond_broadcast(&forker->changed);
	while (forker->fork_one)
		pthread_cond_wait(&forker->changed, &forker->mutex);
	pid_t pid = forker->pid;
	errno = forker->error;
	pthread_mutex_unlock(&forker->mutex);
	return pid;
}
