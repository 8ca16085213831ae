#include "ops/wardens.h"

#include <fcntl.h>
#include <stdio.h>

#include "core/at.h"
#include "core/lock.h"
#include "core/own.h"

#define LOCK_FILE ".wardens"
#define JOIN_MS 5000
#define WAIT_MS 5000 /* a warden ends within milliseconds of its sandbox */

#define NAME_SIZE (WORKSPACE_NAME_MAX + sizeof(LOCK_FILE))

static int open_run(const struct env *env, char name[NAME_SIZE], struct err *err)
{
	snprintf(name, NAME_SIZE, "%s" LOCK_FILE, env->row.name);
	return at_open(env->rootfd, "run", O_RDONLY | O_DIRECTORY, err);
}

int wardens_join(struct env *env, struct err *err)
{
	char name[NAME_SIZE];
	owned_fd int run = open_run(env, name, err);

	return run < 0 ? run : lock_take(run, name, LOCK_SHARED, JOIN_MS, "policy", err);
}

bool wardens_wait(struct env *env)
{
	char name[NAME_SIZE];
	struct err ignored = { 0 };
	owned_fd int run = open_run(env, name, &ignored);

	if (run < 0 || !at_exists(run, name))
		return true;
	owned_fd int lock = lock_take(run, name, LOCK_EXCLUSIVE, WAIT_MS, "policy", &ignored);
	return lock >= 0;
}
