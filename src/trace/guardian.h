/*
 * guardian - answers the traced processes when strata is killed.
 *
 * Whose listener is gone finds that every call of the table is unknown to the kernel (ENOSYS).
 * So a process of its own holds the listener too, and when we are gone answers "go on" to
 * all, those first whose calls we had taken, until nobody is left.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/err.h"

/* Calls taken from the kernel and not answered; their numbers follow each other. */
struct guardian_taken {
	_Atomic uint64_t oldest, newest;
};

struct guardian {
	pid_t pid;
	int pipe; /* ends when we do */
	struct guardian_taken *taken;
};

#define GUARDIAN_INIT                                                                              \
	{                                                                                          \
		.pipe = -1                                                                         \
	}

/* The sizes are the kernel's, of a notification and of an answer. */
int guardian_start(struct guardian *guardian, int listener, size_t request_size,
	size_t response_size, struct err *err);
/* Processes that we leave behind are its business from now on. */
void guardian_end(struct guardian *guardian, bool leave);
