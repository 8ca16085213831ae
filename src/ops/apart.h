/*
 * apart - do something in a child, and wait for what comes of it.
 *
 * For what this process must not do itself, such as entering a user
 * namespace in which its own files would have other owners.  The child dies with
 * this process; signals sent to this one alone are passed on to it.
 */
#pragma once
#include <stddef.h>

#include "core/err.h"

struct apart;

struct apart_work {
	/*
	 * In the child: result (size bytes) is sent back.  It calls apart_ready once
	 * what has to be done first is done.
	 */
	int (*run)(void *arg, struct apart *apart, void *result, struct err *err);
	/* In this process, when the child is ready or has ended. */
	void (*ready)(void *arg);
	void *arg;
	size_t size;
};

void apart_ready(struct apart *apart);
/* What run returned, with its result and error. */
int apart_run(const struct apart_work *work, void *result, struct err *err);
