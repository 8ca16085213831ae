/*
 * pool - keeps workers ready: each is a process that is under the policy already and waits for its
 * connection.
 *
 * The process of the pool listens and hands each new connection to a worker as a descriptor.  It
 * reads nothing from peers.  A worker serves one connection and ends; the pool starts another one
 * in its place as soon as the connection has been handed over.
 */
#pragma once
#include "worker/workerrun.h"

#define POOL_MAX 64       /* most workers that wait */
#define POOL_BUSY_MAX 256 /* connections; more wait in the queue of the socket */

/* Serve until SIGTERM or SIGINT.  Returns what workerrun_main returns. */
int pool_run(const struct workerrun *worker, const char *socket, unsigned size, struct err *err);
