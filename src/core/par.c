#include "core/par.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/mem.h"
#include "core/thread.h"
#include "core/zstd.h"

#define QUEUE_SIZE 64
/*
 * Waking a thread can take longer than a job.  So threads are woken when this many jobs are queued,
 * or when the submitting thread has to wait.
 */
#define WAKE_AT 8

struct job {
	void (*run)(void *arg);
	void *arg;
};

struct par {
	pthread_mutex_t lock;
	pthread_cond_t work;  /* a job was queued, or 'stop' was set */
	pthread_cond_t ended; /* a job ended */
	struct job queue[QUEUE_SIZE];
	unsigned head, count;
	unsigned long n_ended, n_seen;
	unsigned idle;  /* threads that wait for work */
	bool submitter; /* the submitting thread is waiting in wait_ended */
	bool stop;
	bool started;
	unsigned want, threads;
	pthread_t thread[PAR_MAX];
};

unsigned par_cpus(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

	return n < 1 ? 1 : n > PAR_MAX ? PAR_MAX : (unsigned)n;
}

static _Thread_local void *scratch;
static _Thread_local size_t scratch_size;

void *par_scratch(size_t size)
{
	if (size > scratch_size) {
		free(scratch);
		scratch = mem_alloc(size);
		scratch_size = size;
	}
	return scratch;
}

static void free_scratch(void)
{
	free(scratch);
	scratch = NULL;
	scratch_size = 0;
}

static void *worker(void *arg)
{
	struct par *par = arg;

	pthread_mutex_lock(&par->lock);
	for (;;) {
		while (!par->count && !par->stop) {
			par->idle++;
			pthread_cond_wait(&par->work, &par->lock);
			par->idle--;
		}
		if (!par->count)
			break;
		struct job job = par->queue[par->head];
		par->head = (par->head + 1) % QUEUE_SIZE;
		par->count--;
		pthread_mutex_unlock(&par->lock);
		job.run(job.arg);
		pthread_mutex_lock(&par->lock);
		par->n_ended++;
		if (par->submitter && par->count <= WAKE_AT)
			pthread_cond_signal(&par->ended);
	}
	pthread_mutex_unlock(&par->lock);
	zstd_thread_end();
	free_scratch();
	return NULL;
}

struct par *par_new(unsigned threads)
{
	struct par *par = mem_zalloc(sizeof(*par));

	pthread_mutex_init(&par->lock, NULL);
	pthread_cond_init(&par->work, NULL);
	pthread_cond_init(&par->ended, NULL);
	par->want = threads < PAR_MAX ? threads : PAR_MAX;
	return par;
}

/* Start the threads.  This is done with the first job, since often there is no job. */
static void start_threads(struct par *par)
{
	struct err ignored = { 0 };

	par->started = true;
	for (unsigned i = 0; i < par->want; i++)
		if (thread_start(&par->thread[par->threads], worker, par, &ignored) == 0)
			par->threads++;
}

/* Wait until a job has ended and the queue is so short that it should be filled again. */
static void wait_ended(struct par *par)
{
	if (par->idle && par->count)
		pthread_cond_broadcast(&par->work);
	par->submitter = true;
	pthread_cond_wait(&par->ended, &par->lock);
	par->submitter = false;
}

void par_submit(struct par *par, void (*job)(void *arg), void *arg)
{
	if (!par->started)
		start_threads(par);
	/*
	 * If no thread could be started, for example because of a process limit, this thread does
	 * the work.
	 */
	if (!par->threads) {
		job(arg);
		par->n_ended++;
		return;
	}
	pthread_mutex_lock(&par->lock);
	while (par->count == QUEUE_SIZE)
		wait_ended(par);
	par->queue[(par->head + par->count++) % QUEUE_SIZE] = (struct job){ job, arg };
	if (par->idle && par->count >= WAKE_AT)
		pthread_cond_signal(&par->work);
	pthread_mutex_unlock(&par->lock);
}

void par_wait_some(struct par *par)
{
	if (!par->threads)
		return;
	pthread_mutex_lock(&par->lock);
	while (par->n_ended == par->n_seen)
		wait_ended(par);
	par->n_seen = par->n_ended;
	pthread_mutex_unlock(&par->lock);
}

void par_free(struct par *par)
{
	if (!par)
		return;
	pthread_mutex_lock(&par->lock);
	par->stop = true;
	pthread_cond_broadcast(&par->work);
	pthread_mutex_unlock(&par->lock);
	for (unsigned i = 0; i < par->threads; i++)
		pthread_join(par->thread[i], NULL);
	pthread_mutex_destroy(&par->lock);
	pthread_cond_destroy(&par->work);
	pthread_cond_destroy(&par->ended);
	free_scratch();
	free(par);
}
