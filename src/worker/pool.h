/*
 * pool - keeps workers ready.  Each worker is a process that is already under the policy and waits
 * for its connection.
 *
 * The process of the pool listens, and passes each new connection to a worker as a descriptor.
 * This process reads nothing from peers.  A worker serves one connection and ends.  The pool starts
 * another worker in its place soon after the connection was passed on.
 */
#pragma once
#include "worker/workerrun.h"

#define POOL_MAX 64       /* maximum number of workers that wait */
#define POOL_BUSY_MAX 256 /* connections served at a time; others wait at the socket */

/* Serve until SIGTERM or SIGINT.  Returns the same values as workerrun_main. */
int pool_run(const struct workerrun *worker, const char *socket, unsigned size, struct err *err);
