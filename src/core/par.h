/*
 * par - a few threads and a bounded queue of jobs.
 *
 * One thread submits and waits; the workers only run jobs.  Until a job is done, no other thread
 * touches its data.
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
 * Returns a buffer of at least size bytes for the calling thread alone.  It lives until the thread
 * ends; in the thread that submits, until par_free.  A thread has only one such buffer, which the
 * next call returns again.
 */
void *par_scratch(size_t size);
