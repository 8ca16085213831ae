/* thread - start a thread that gets no signals: the main thread acts on them. */
#pragma once
#include <pthread.h>

#include "core/err.h"

int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg, struct err *err);
