/*
 * par - a few threads and a bounded queue of jobs.
 *
 * One thread submits jobs and waits; the other threads only run jobs.  Until a job is done, only
 * the thread that runs it may touch its data.
 */
#pragma once
#include <stddef.h>

struct par;

unsigned par_cpus(void); /* processors this process may use: 1 to PAR_MAX */
#define PAR_MAX 8        /* threads; each may have a few MiB of buffers */

struct par *par_new(unsigned threads);
/* Add a job to the queue; waits while the queue is full. */
void par_submit(struct par *par, void (*job)(void *arg), void *arg);
/* Return when at least one job has ended since the last call. */
void par_wait_some(struct par *par);
void par_free(struct par *par); /* waits for all jobs; NULL is fine */

/*
 * Returns a buffer of at least size bytes that only the calling thread uses.  A thread has only one
 * such buffer, so the next call in this thread returns the same memory again.  The buffer is freed
 * when the thread ends.  The buffer of the submitting thread is freed by par_free.
 */
void *par_scratch(size_t size);
