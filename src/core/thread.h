/*
 * thread - start a thread that gets no signals.
 *
 * A signal that the main thread has blocked for a while, such as SIGTERM during a checkout, would
 * otherwise reach another thread and end the process.
 */
#pragma once
#include <pthread.h>

#include "core/err.h"

int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg, struct err *err);
