/* userns_fixture - finds out whether user namespaces can be made here, for tests that need one. */
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>

#include "core/child.h"
#include "sandbox/sandbox_user.h"

/* Some security modules let a process make a user namespace, and then refuse every use of it. */
static int try_namespace(void *arg, struct err *err)
{
	struct mount_attr private = { .propagation = MS_PRIVATE };

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 ||
		mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &private, sizeof(private)) < 0)
		return sandbox_user_refused(errno, "make a user namespace", err);
	return 0;
}

/*
 * Try in a child.  If it fails, 'why' gets the reason.  Valgrind does not support the system calls.
 */
static bool is_userns_possible(char why[SANDBOX_USER_WHY_MAX])
{
	const char *preloaded = getenv("LD_PRELOAD");
	struct err err = { 0 };
	int r = child_do(try_namespace, NULL, &err);

	snprintf(why, SANDBOX_USER_WHY_MAX, "%.*s", SANDBOX_USER_WHY_MAX - 1,
		preloaded && strstr(preloaded, "vgpreload") ? "valgrind" : err.text);
	return r >= 0;
}
