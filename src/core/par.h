/*
 * par - a few threads and a bounded queue of jobs.
 *
 * One thread submits and waits; the workers only run jobs.  A job touches data
 * nobody else touches until it is done.
 */
#pragma once

struct par;

unsigned par_cpus(void); /* processors we may use, at least 1, at most PAR_MAX */
#define PAR_MAX 16

struct par *par_new(unsigned threads);
/* Blocks while the queue is full. */
void par_submit(struct par *par, void (*job)(void *arg), void *arg);
/* Lets a full queue run down a little: returns once some job has ended since the last call. */
void par_wait_some(struct par *par);
void par_free(struct par *par); /* waits for all jobs; NULL is fine */
