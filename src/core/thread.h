/* thread - a thread that gets no signals: they are for the first one, which acts on them. */
#pragma once
#include <pthread.h>

#include "core/err.h"

int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg, struct err *err);
