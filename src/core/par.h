/*
 * par - a few threads and a bounded queue of jobs.
 *
 * One thread submits and waits; the workers only run jobs.  Until a job is done, no other thread
 * touches its data.
 */
#pragma once
#include <stddef.h>

struct par;

unsigned par_cpus(void); /* processors we may use, at least 1, at most PAR_MAX */
#define PAR_MAX 8        /* each may hold a few MiB of buffers */

struct par *par_new(unsigned threads);
/* Blocks while the queue is full. */
void par_submit(struct par *par, void (*job)(void *arg), void *arg);
/* Wait until some job has ended since the last call. */
void par_wait_some(struct par *par);
void par_free(struct par *par); /* waits for all jobs; NULL is fine */

/*
 * A buffer of at least size bytes that belongs to the calling thread and lives until the thread
 * ends (on the submitting thread: until par_free).  One at a time.
 */
void *par_scratch(size_t size);
